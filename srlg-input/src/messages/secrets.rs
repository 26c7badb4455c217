//! Functions that read certificates and passwords from files, for connections to brokers.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

use crate::credentials::{authorities, read_secret};
use crate::error::InputError;

/// Returns a TLS configuration that trusts the certificates in the file `ca`, or the system's certificates if `ca` is
/// `None`.
///
/// # Errors
/// Returns [`InputError`] if the file cannot be used, or if the system has no certificate that can be used.
#[expect(clippy::missing_panics_doc, reason = "the provider supports the versions")]
pub fn tls(ca: Option<&Path>) -> Result<Arc<ClientConfig>, InputError> {
    let mut roots = RootCertStore::empty();
    for certificate in authorities(ca)? {
        roots.add(certificate).map_err(|error| InputError::BrokerFile {
            path: ca.map(Path::to_owned).unwrap_or_default(),
            cause: error.to_string(),
        })?;
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
