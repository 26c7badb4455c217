//! Folders in which the program keeps its state.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Depth of subfolders that are examined. Links to folders are allowed, for example to another disk, so folders may have
/// no end.
const DEPTH: u32 = 4;

/// Checks that `folder` and its subfolders contain only regular files and links to folders. Reading a FIFO would wait for
/// ever, a device may have no end, and a link may lead to a file of another program.
///
/// # Errors
/// Returns an error that names the first other file, or a folder that cannot be read.
pub fn refuse_special_files(folder: &Path) -> Result<()> {
    refuse(folder, DEPTH)
}

fn refuse(folder: &Path, depth: u32) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // The state is new, or the folder belongs to another user, such as the lost+found of a disk.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            return Ok(());
        }
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot read the folder {}", folder.display()));
        }
    };
    for entry in entries {
        let entry =
            entry.with_context(|| format!("cannot read the folder {}", folder.display()))?;
        let path = entry.path();
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            // Another thread removed the file.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot examine {}", path.display()));
            }
        };
        let name = match kind {
            kind if kind.is_file() => continue,
            kind if kind.is_dir() || kind.is_symlink() && path.is_dir() => {
                if depth > 0 {
                    refuse(&path, depth - 1)?;
                }
                continue;
            }
            kind if kind.is_symlink() => "a link",
            kind if kind.is_fifo() => "a FIFO",
            kind if kind.is_socket() => "a socket",
            _ => "a device",
        };
        bail!(
            "cannot use the folder {}: {} is {name}; remove it, because the folder may only contain regular files and folders",
            folder.display(),
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn links_and_sockets_are_refused_by_name_in_all_subfolders() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("fan-in");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("checkpoint"), "").unwrap();
        symlink(folder.path(), folder.path().join("other-disk")).unwrap();
        refuse_special_files(folder.path()).unwrap();
        refuse_special_files(&folder.path().join("missing")).unwrap();
        let refused = |path: PathBuf| {
            let error = refuse_special_files(folder.path()).unwrap_err();
            fs::remove_file(path).unwrap();
            error.to_string().replace(folder.path().to_str().unwrap(), "FOLDER")
        };
        let link = inner.join("link");
        symlink("checkpoint", &link).unwrap();
        let texts = [refused(link)];
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        insta::assert_snapshot!([texts, [refused(socket)]].concat().join("\n"));
    }
}
