//! Files and folders, down to the disk; each error says what could not be done, and to what.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Makes `folder` where there is none, and brings its name to disk, and those of all folders on the
/// way that were not there either.
pub(super) fn make(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    make(parent)?;
    match fs::create_dir(folder) {
        // Another process was faster.
        Err(_) if folder.is_dir() => {}
        made => made.map_err(cannot("make the folder", folder))?,
    }
    sync_folder(parent)
}

/// The lock of `folder`.
pub(super) fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    let mut options = File::options();
    let lock = options.create(true).truncate(false).write(true).open(&path);
    let lock = lock.map_err(cannot("open", &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::CheckpointsInUse { path: folder.into() }),
        Err(TryLockError::Error(error)) => Err(cannot("lock", &path)(error)),
    }
}

pub(super) fn paths(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(cannot("read the folder", folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<_>>().map_err(cannot("read the folder", folder))
}

/// Writes a file, down to the disk.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut file = File::create(path).map_err(cannot("make", path))?;
    file.write_all(bytes).map_err(cannot("write", path))?;
    file.sync_all().map_err(cannot("bring to disk", path))
}

/// Brings the names of files to disk.
pub(super) fn sync_folder(folder: &Path) -> Result<(), Error> {
    // Elsewhere a folder is no file that can be opened, and a rename is its own.
    if cfg!(unix) {
        let opened = File::open(folder).and_then(|folder| folder.sync_all());
        opened.map_err(cannot("bring to disk", folder))?;
    }
    Ok(())
}

pub(super) fn cannot(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |cause| Error::Checkpoint { doing, path, cause }
}
