//! TLS of sinks: the files that both sides know each other by, and the causes of failures.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use async_nats::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use async_nats::rustls::{
    self, AlertDescription, CertificateError, ClientConfig, ClientConnection, ProtocolVersion,
    RootCertStore, StreamOwned,
};
use serde::Deserialize;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

use super::stream::Connection;
use crate::network::read_secret;

/// The files by which a server and this client know each other.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsFiles {
    /// A PEM file of the authorities that sign the certificate of the server, in place of those that browsers know.
    pub ca: Option<PathBuf>,
    /// A PEM file of the certificate of this client, and of those between it and its authority.
    pub certificate: Option<PathBuf>,
    /// A PEM file of the key of this certificate.
    pub key: Option<PathBuf>,
}

/// The certificate of this client, with those between it and its authority, and its key as PEM.
type Identity = (Vec<CertificateDer<'static>>, String);

impl TlsFiles {
    /// Returns what is wrong with the choice of files.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.certificate.is_some() == self.key.is_some(),
            "give both certificate and key, or neither"
        );
        Ok(())
    }

    /// Reads the files for a client of HTTP.
    pub(super) fn http(&self) -> Result<TlsConfig> {
        // The client of HTTP would panic at its first request if the files did not fit.
        self.client()?;
        let certificate = |der: &CertificateDer<'_>| Certificate::from_der(der).to_owned();
        let mut tls = TlsConfig::builder();
        if let Some(authorities) = self.authorities()? {
            let authorities: Vec<_> = authorities.iter().map(certificate).collect();
            tls = tls.root_certs(RootCerts::new_with_certs(&authorities));
        }
        if let Some((chain, key)) = self.identity()? {
            let chain: Vec<_> = chain.iter().map(certificate).collect();
            let key = PrivateKey::from_pem(key.as_bytes())?;
            tls = tls.client_cert(Some(ClientCert::new_with_certs(&chain, key)));
        }
        Ok(tls.build())
    }

    /// Reads the files for a client of TLS, which trusts the authorities in `ca`, or those that browsers know.
    fn client(&self) -> Result<ClientConfig> {
        let mut roots = RootCertStore::empty();
        match self.authorities()? {
            Some(authorities) => {
                for authority in authorities {
                    roots.add(authority).context("cannot use an authority of ca")?;
                }
            }
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots);
        let Some((chain, key)) = self.identity()? else { return Ok(builder.with_no_client_auth()) };
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
        let place = || self.key.as_deref().map(|key| key.display().to_string()).unwrap_or_default();
        let key = key.with_context(|| format!("cannot read a private key from {}", place()))?;
        let config = builder.with_client_auth_cert(chain, key);
        config.with_context(|| format!("cannot use the key {} with the certificate", place()))
    }

    /// Reads the authorities of servers.
    fn authorities(&self) -> Result<Option<Vec<CertificateDer<'static>>>> {
        self.ca.as_deref().map(certificates).transpose()
    }

    fn identity(&self) -> Result<Option<Identity>> {
        self.check()?;
        let (Some(certificate), Some(key)) = (&self.certificate, &self.key) else {
            return Ok(None);
        };
        Ok(Some((certificates(certificate)?, read_secret(key)?)))
    }
}

/// Reads the certificates in a PEM file, of which there is one at least.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let place = || path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", place()))?;
    let certificates = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.with_context(place)?;
    ensure!(!certificates.is_empty(), "{}: there is no certificate", place());
    Ok(certificates)
}

/// A client of one server that speaks TLS alone.
pub(super) struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsClient {
    /// Makes a client of the server at `host`, which is `HOST:PORT`.
    pub(super) fn new(host: &str, files: &TlsFiles) -> Result<Self> {
        let (name, _) = host.rsplit_once(':').with_context(|| format!("{host} has no port"))?;
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).with_context(|| format!("{host} has no name"))?;
        Ok(Self { config: Arc::new(files.client()?), name })
    }

    /// Shakes hands over `stream`, within `timeout`.
    pub(super) fn connect(
        &self,
        mut stream: TcpStream,
        timeout: Duration,
    ) -> Result<Box<dyn Connection>> {
        let until = Instant::now() + timeout;
        let mut connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone())?;
        while connection.is_handshaking() {
            // A server that sends a byte now and then would go on for ever.
            ensure!(Instant::now() < until, "there is no end of the TLS handshake");
            connection.complete_io(&mut stream).map_err(|error| anyhow!(io_cause(&error)))?;
        }
        let mut stream = StreamOwned::new(connection, stream);
        if stream.conn.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
            wait_for_verdict(&mut stream)?;
        }
        Ok(Box::new(stream))
    }
}

/// The longest that a server of TLS 1.3 is waited for which accepts the certificate of the client and sends nothing.
const VERDICT: Duration = Duration::from_secs(1);

/// Waits until the server has said what it thinks of the certificate of this client. In TLS 1.3 the client has shaken hands before
/// that, and what it sends meanwhile is lost.
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
    // A server of TLS 1.3 may refuse the certificate of a client after the client has shaken hands, and says so in what it sends.
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

/// The reason of a failure of input or output that an operator can act on.
pub(super) fn io_cause(error: &io::Error) -> String {
    if is_timeout(error) {
        return "timeout: there is no answer".to_owned();
    }
    let inner = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    inner.map_or_else(|| error.to_string(), cause)
}

/// The reason of a failure of TLS that an operator can act on.
pub(super) fn cause(error: &rustls::Error) -> String {
    let text = match error {
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => "the certificate of the server is of an unknown authority: give its authority as ca",
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the certificate of the server is for another name",
        rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "the certificate of the server has expired",
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server asks for a certificate of this client: give certificate and key"
        }
        error => return error.to_string(),
    };
    text.to_owned()
}
