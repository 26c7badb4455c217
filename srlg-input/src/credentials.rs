//! Credentials for connections: secrets and PEM certificates in files, and the certificate authorities that the system
//! trusts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

/// The reason why a file with a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// Users other than the owner and the group have permissions for the file.
    #[error(
        "cannot use the secret in {}: other users have permissions for the file; run chmod o= {}",
        path.display(),
        path.display()
    )]
    Open {
        /// Path of the file.
        path: PathBuf,
    },
}

/// The reason why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificatesError {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The contents of the file are not valid.
    #[error("cannot read certificates from {}: {cause}", path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        cause: pem::Error,
    },
    /// The file contains no certificate.
    #[error("cannot read certificates from {}: no certificate found", path.display())]
    Empty {
        /// Path of the file.
        path: PathBuf,
    },
    /// The system has no authority that can be used.
    #[error("{0}, or set ca")]
    System(#[from] NoAuthorities),
}

/// The reason why the certificate authorities that the system trusts cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the system's certificates: {cause}; install the package ca-certificates")]
pub struct NoAuthorities {
    /// The cause.
    pub cause: String,
}

/// Reads a file that contains a secret.
///
/// # Errors
/// Returns [`SecretError`] if the file cannot be read, or if users other than its owner and its group have permissions
/// for it.
pub fn read_secret(path: &Path) -> Result<String, SecretError> {
    let fail = |cause| SecretError::Read { path: path.to_owned(), cause };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).map_err(fail)?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(SecretError::Open { path: path.to_owned() });
        }
    }
    fs::read_to_string(path).map_err(fail)
}

/// Reads the certificates in a PEM file, which must contain at least one certificate.
///
/// # Errors
/// Returns [`CertificatesError`] if the file cannot be read, is not valid or contains no certificate.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificatesError> {
    let fail = |error| match error {
        pem::Error::Io(cause) => CertificatesError::Read { path: path.to_owned(), cause },
        cause => CertificatesError::Invalid { path: path.to_owned(), cause },
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(fail)?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(fail)?;
    if certificates.is_empty() {
        return Err(CertificatesError::Empty { path: path.to_owned() });
    }
    Ok(certificates)
}

/// Returns the certificates of the authorities in the file that the option `ca` names. Without a file, returns those
/// of the authorities that the system trusts, without the ones that cannot be used. The environment variables
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` override the places of the system's certificates.
///
/// # Errors
/// Returns [`CertificatesError`] if the file cannot be used, or if the system has no certificate that can be used.
pub fn authorities(ca: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, CertificatesError> {
    match ca {
        Some(path) => read_certificates(path),
        None => Ok(system_authorities()?),
    }
}

/// Returns the certificates of the authorities that the system trusts. Those that cannot be used are left out. The
/// environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR` override the places of the system's certificates.
///
/// # Errors
/// Returns [`NoAuthorities`] if the system has no certificate that can be used.
pub(crate) fn system_authorities() -> Result<Vec<CertificateDer<'static>>, NoAuthorities> {
    let mut system = rustls_native_certs::load_native_certs();
    let found = system.certs.len();
    system.certs.retain(|certificate| RootCertStore::empty().add(certificate.clone()).is_ok());
    if system.certs.is_empty() {
        let cause = system.errors.first().map(ToString::to_string);
        let cause = cause.unwrap_or_else(|| format!("none of {found} can be used"));
        return Err(NoAuthorities { cause });
    }
    Ok(system.certs)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn secrets_are_for_owner_and_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.nk");
        let missing = read_secret(&path).unwrap_err();
        let SecretError::Read { cause, .. } = missing else { panic!("{missing}") };
        assert_eq!(cause.kind(), io::ErrorKind::NotFound);
        fs::write(&path, "seed").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(read_secret(&path), Err(SecretError::Open { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(read_secret(&path).unwrap(), "seed", "a group may read what its service needs");
    }

    #[test]
    fn only_connections_with_the_option_ca_name_it() {
        let error = || NoAuthorities { cause: "none of 0 can be used".to_owned() };
        let text = "cannot read the system's certificates: none of 0 can be used; install the package ca-certificates";
        assert_eq!(error().to_string(), text);
        assert_eq!(CertificatesError::from(error()).to_string(), format!("{text}, or set ca"));
    }
}
