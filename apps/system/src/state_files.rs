//! Files in which the program keeps its state.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Checks that the file at `path`, if it exists, is a regular file. Reading a FIFO would wait for ever, a device may have
/// no end, and a link may lead to a file of another program.
///
/// # Errors
/// Returns an error that says what else the file is, or that it cannot be examined.
pub fn check_state_file(path: &Path) -> Result<()> {
    let kind = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let text = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "it is a link; move it away",
        kind if kind.is_dir() => "it is a folder; move it away",
        _ => "it is a FIFO, a socket or a device; move it away",
    };
    Err(Error::new(ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_hold_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        check_state_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        check_state_file(&path).unwrap();
        let [link, socket] = ["link", "socket"].map(|name| folder.path().join(name));
        symlink(&path, &link).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        let texts = [link.as_path(), socket.as_path(), folder.path()]
            .map(|path| check_state_file(path).unwrap_err().to_string());
        insta::assert_snapshot!(texts.join("\n"));
    }
}
