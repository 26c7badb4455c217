//! Functions that read certificates and passwords from files, for connections to brokers.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::credentials::{read_secret, system_authorities};
use crate::error::InputError;

/// Returns a TLS configuration that trusts the certificates in the file `ca`, or the system's certificates if `ca` is
/// `None`.
pub(crate) fn tls(ca: Option<&Path>) -> Result<Arc<ClientConfig>, InputError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            let fail = |cause: String| InputError::BrokerFile { path: path.to_owned(), cause };
            let certificates = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| fail(error.to_string()))?;
            for certificate in certificates {
                roots.add(certificate).map_err(|error| fail(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(fail("it contains no certificate".to_owned()));
            }
        }
        None => {
            roots.add_parsable_certificates(system_authorities()?);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports the versions of TLS that rustls considers safe");
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// Reads a password from the first line of a file. Returns an error if other users can access the file.
pub(crate) fn password(path: &Path) -> Result<String, InputError> {
    match read_secret(path)?.lines().next() {
        Some(password) if !password.is_empty() => Ok(password.to_owned()),
        _ => Err(InputError::BrokerFile {
            path: path.to_owned(),
            cause: "its first line contains no password".to_owned(),
        }),
    }
}
