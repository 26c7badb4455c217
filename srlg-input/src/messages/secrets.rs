//! Functions that read certificates, passwords and keys from files, for connections to brokers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

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
            let system = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(system.certs);
            if roots.is_empty() {
                let cause = system.errors.first().map(ToString::to_string);
                let cause = cause.unwrap_or_else(|| "none found".to_owned());
                return Err(InputError::Certificates(cause));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| InputError::Certificates(error.to_string()))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// Reads a password from the first line of a file. Returns an error if other users can access the file.
pub(crate) fn password(path: &Path) -> Result<String, InputError> {
    match secret(path)?.lines().next() {
        Some(password) if !password.is_empty() => Ok(password.to_owned()),
        _ => Err(InputError::BrokerFile {
            path: path.to_owned(),
            cause: "its first line contains no password".to_owned(),
        }),
    }
}

/// Reads a file that contains a secret. Returns an error if other users can access the file.
pub(crate) fn secret(path: &Path) -> Result<String, InputError> {
    let fail = |cause: String| InputError::BrokerFile { path: path.to_owned(), cause };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            fs::metadata(path).map_err(|error| fail(error.to_string()))?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(fail(
                "other users can access it; remove their permissions (chmod o-rwx)".to_owned(),
            ));
        }
    }
    fs::read_to_string(path).map_err(|error| fail(error.to_string()))
}
