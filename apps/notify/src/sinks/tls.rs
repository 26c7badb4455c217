//! TLS for sinks: the certificate and key files, the handshake, and the causes of failures.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use rustls::{
    self, AlertDescription, CertificateError, ClientConfig, ClientConnection, ProtocolVersion,
    RootCertStore, StreamOwned, crypto,
};
use serde::Deserialize;
use srlg_input::credentials::{self, read_certificates, read_secret};
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

use super::connection::Connection;

/// The files that a client needs to verify a server and to authenticate itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsFiles {
    /// PEM file of the authorities that sign the server certificate. Required for syslog over TLS. [default: the
    /// authorities that the system trusts]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub ca: Option<PathBuf>,
    /// PEM file of the client certificate and its intermediate certificates. Requires `key`.
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub certificate: Option<PathBuf>,
    /// PEM file of the private key of `certificate`.
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub key: Option<PathBuf>,
}

/// Certificate chain of the client, starting with its own certificate, and the private key as PEM.
type Identity = (Vec<CertificateDer<'static>>, String);

impl TlsFiles {
    /// Checks that `certificate` and `key` are both set or both missing.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.certificate.is_some() == self.key.is_some(),
            "tls: set both certificate and key, or neither"
        );
        Ok(())
    }

    /// Returns the TLS configuration of an HTTP client that sends to `url`. Reads the system's authorities only if the
    /// client needs them.
    pub(super) fn http(&self, url: &str) -> Result<TlsConfig> {
        let is_https = url.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:"));
        let mut authorities = Vec::new();
        if is_https || self.ca.is_some() || self.certificate.is_some() {
            authorities = credentials::authorities(self.ca.as_deref())?;
            // The HTTP client would panic at its first request if the files were not valid.
            self.client(&authorities)?;
        }
        let certificate = |der: &CertificateDer<'_>| Certificate::from_der(der).to_owned();
        let authorities: Vec<_> = authorities.iter().map(certificate).collect();
        let mut tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&authorities))
            .unversioned_rustls_crypto_provider(Arc::new(crypto::ring::default_provider()));
        if let Some((chain, key)) = self.identity()? {
            let chain: Vec<_> = chain.iter().map(certificate).collect();
            let key = PrivateKey::from_pem(key.as_bytes())?;
            tls = tls.client_cert(Some(ClientCert::new_with_certs(&chain, key)));
        }
        Ok(tls.build())
    }

    /// Reads the identity and returns the configuration of a TLS client that trusts `authorities`.
    fn client(&self, authorities: &[CertificateDer<'static>]) -> Result<ClientConfig> {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority.clone()).context("cannot use a certificate in ca")?;
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots);
        let Some((chain, key)) = self.identity()? else { return Ok(builder.with_no_client_auth()) };
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
        let place = || self.key.as_deref().map(|key| key.display().to_string()).unwrap_or_default();
        let key = key.with_context(|| format!("cannot read a private key from {}", place()))?;
        let config = builder.with_client_auth_cert(chain, key);
        config.with_context(|| format!("cannot use the key {} with the certificate", place()))
    }

    fn identity(&self) -> Result<Option<Identity>> {
        self.check()?;
        let (Some(certificate), Some(key)) = (&self.certificate, &self.key) else {
            return Ok(None);
        };
        Ok(Some((read_certificates(certificate)?, read_secret(key)?)))
    }
}

pub(super) struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsClient {
    /// Creates a client of the server at `host`, which is `HOST:PORT`.
    pub(super) fn new(host: &str, files: &TlsFiles) -> Result<Self> {
        let (name, _) =
            host.rsplit_once(':').with_context(|| format!("{host}: the port is missing"))?;
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name =
            ServerName::try_from(name).with_context(|| format!("{host}: not a valid host name"))?;
        let config = files.client(&credentials::authorities(files.ca.as_deref())?)?;
        Ok(Self { config: Arc::new(config), name })
    }

    pub(super) fn connect(
        &self,
        mut stream: TcpStream,
        timeout: Duration,
    ) -> Result<Box<dyn Connection>> {
        let until = Instant::now() + timeout;
        let mut connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone())?;
        while connection.is_handshaking() {
            // Without this check, a server that sends a byte now and then could block the sink forever.
            ensure!(Instant::now() < until, "timeout during the TLS handshake");
            connection.complete_io(&mut stream).map_err(|error| anyhow!(io_cause(&error)))?;
        }
        let mut stream = StreamOwned::new(connection, stream);
        if stream.conn.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
            wait_for_verdict(&mut stream)?;
        }
        Ok(Box::new(stream))
    }
}

/// Time to wait for a TLS 1.3 server to reject the client certificate. A server that accepts the certificate may send
/// nothing.
const VERDICT: Duration = Duration::from_secs(1);

/// Waits up to [`VERDICT`] for the server to reject the client certificate. In TLS 1.3, the client finishes its
/// handshake before the server checks the certificate, and data that was sent before a rejection is lost.
fn wait_for_verdict(
    StreamOwned { conn, sock }: &mut StreamOwned<ClientConnection, TcpStream>,
) -> Result<()> {
    let timeout = sock.read_timeout()?;
    sock.set_read_timeout(Some(VERDICT))?;
    let read = conn.read_tls(sock);
    sock.set_read_timeout(timeout)?;
    match read {
        Ok(0) => bail!("the server closed the connection after the TLS handshake"),
        Ok(_) => conn.process_new_packets().map(drop).map_err(|error| anyhow!(cause(&error))),
        Err(error) if is_timeout(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Connection for StreamOwned<ClientConnection, TcpStream> {
    // A TLS 1.3 server may reject the client certificate after the client has finished its handshake. Reading returns
    // that error.
    fn is_open(&mut self) -> Result<bool> {
        self.sock.set_nonblocking(true)?;
        let read = self.read(&mut [0]);
        self.sock.set_nonblocking(false)?;
        match read {
            Ok(bytes) => Ok(bytes > 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(true),
            Err(error) if error.kind() == ErrorKind::InvalidData => Err(anyhow!(io_cause(&error))),
            Err(_) => Ok(false),
        }
    }
}

pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Returns the cause of an I/O error in terms that an operator can act on.
pub(super) fn io_cause(error: &io::Error) -> String {
    if is_timeout(error) {
        return "timeout: no response".to_owned();
    }
    let inner = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    inner.map_or_else(|| error.to_string(), cause)
}

pub(super) fn cause(error: &rustls::Error) -> String {
    let text = match error {
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => "the server certificate is signed by an unknown authority; add that authority to ca",
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the server certificate is not valid for this host name",
        rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "the server certificate has expired",
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server requires a client certificate; set certificate and key"
        }
        error => return error.to_string(),
    };
    text.to_owned()
}
