//! Files with keys and passwords, which other users must not be able to read.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A secret file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {cause}", path.display())]
pub struct UnwrittenSecret {
    /// Path of the file.
    pub path: PathBuf,
    /// The cause.
    pub cause: io::Error,
}

/// Creates a secret file that only its owner may read and write. The file must not exist yet.
pub fn write_secret(path: &Path, text: &str) -> Result<(), UnwrittenSecret> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|cause| UnwrittenSecret { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_for_its_owner_alone_and_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.nk");
        write_secret(&path, "seed").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = write_secret(&path, "other").unwrap_err();
        assert_eq!(again.cause.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "seed");
    }
}
