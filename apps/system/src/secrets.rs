//! Files with keys and passwords, which other users must not be able to read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The reason why a secret file cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum SecretError {
    #[error("cannot read {path}: {cause}")]
    Read { path: PathBuf, cause: io::Error },
    #[error("cannot write {path}: {cause}")]
    Write { path: PathBuf, cause: io::Error },
    #[error(
        "cannot use the secret in {path}: other users have permissions for the file; run chmod o= {path}"
    )]
    Open { path: PathBuf },
}

/// Reads a secret file. Only its owner and its group may have permissions for the file.
pub fn read_secret(path: &Path) -> Result<String, SecretError> {
    let path = || path.to_owned();
    let fail = |cause| SecretError::Read { path: path(), cause };
    let mode = fs::metadata(path()).map_err(fail)?.permissions().mode();
    if mode & 0o007 != 0 {
        return Err(SecretError::Open { path: path() });
    }
    fs::read_to_string(path()).map_err(fail)
}

/// Creates a secret file that only its owner may read and write. The file must not exist yet.
pub fn write_secret(path: &Path, text: &str) -> Result<(), SecretError> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|cause| SecretError::Write { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_for_its_owner_alone_and_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.nk");
        write_secret(&path, "seed").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = write_secret(&path, "other").unwrap_err();
        let SecretError::Write { cause, .. } = again else { panic!("{again}") };
        assert_eq!(cause.kind(), io::ErrorKind::AlreadyExists);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(read_secret(&path), Err(SecretError::Open { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(read_secret(&path).unwrap(), "seed", "a group may read what its service needs");
    }
}
