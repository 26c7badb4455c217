//! Spool of a probe: one file for each slice that the collector has not stored yet.
//!
//! A probe locks the folder of its spool. The folder contains the lock file, the network description, the input
//! position (if known) and a subfolder for the network version. The subfolder contains a file `NUMBER.slice` for each
//! slice. Module `file` defines the file format. Slices of former network versions are removed, because the collector
//! rejects them.
//!
//! Invariants:
//! - A file with the name of a slice is complete, because it is written under a temporary name and flushed to disk
//!   before it is renamed.
//! - The newest file of the network version is not removed. Its number, the [mark](Spool::mark), shows where a
//!   restarted probe must continue, even after a kill.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use srlg_input::Position;
use srlg_input::contact::Sampling;
use srlg_system::state_files::check_state_file;

use crate::network::{NetworkError, VersionId};

mod file;

const WHOLE: &str = "slice";
const TORN: &str = "tmp";
const DAMAGED: &str = "damaged";
const POSITION: &str = "position";

#[derive(Debug)]
pub(super) struct Spool {
    lock: SpoolLock,
    version: VersionId,
    /// Folder of the network version.
    folder: PathBuf,
    slices: BTreeSet<u64>,
    /// Input position. All contacts before it belong to slices that are or were in the spool.
    position: Option<Position>,
}

/// Locked folder of a spool, which no other probe can use.
#[derive(Debug)]
pub(super) struct SpoolLock {
    root: PathBuf,
    /// The lock file. The lock is released when the file is closed.
    _file: File,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpoolEntry {
    /// Parts of the slice.
    pub parts: Vec<Bytes>,
    /// Sampling of the slice's contacts.
    pub sampling: Sampling,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SpoolError {
    #[error("cannot use the spool {folder}: another probe uses it; give each probe its own folder")]
    InUse { folder: PathBuf },
    #[error("cannot {doing} {path} of the spool: {cause}")]
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
    #[error(
        "slice {slice} in the spool is damaged and is not sent: {why}; its file is kept as {path}"
    )]
    Damaged { slice: u64, why: &'static str, path: PathBuf },
    #[error(
        "cannot read the position in {path}: {cause}; remove the file to continue without a stored position"
    )]
    Position { path: PathBuf, cause: serde_json::Error },
    #[error(transparent)]
    Folder(#[from] NetworkError),
}

impl SpoolLock {
    /// Locks the folder `root`, which is created if it does not exist.
    pub(super) fn acquire(root: &Path) -> Result<Self, SpoolError> {
        fs::create_dir_all(root).map_err(cannot("create", root))?;
        let path = root.join("lock");
        let open = || File::options().create(true).truncate(false).write(true).open(&path);
        let file = check_state_file(&path).and_then(|()| open());
        let file = file.map_err(cannot("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { root: root.to_owned(), _file: file }),
            Err(TryLockError::WouldBlock) => Err(SpoolError::InUse { folder: root.to_owned() }),
            Err(TryLockError::Error(error)) => Err(cannot("lock", &path)(error)),
        }
    }
}

impl Spool {
    /// Opens the spool for `version`, and removes unfinished files and slices of former versions. Renames damaged
    /// files, and returns an error for each of them.
    pub(super) fn open(
        lock: SpoolLock,
        version: VersionId,
    ) -> Result<(Self, Vec<SpoolError>), SpoolError> {
        let folder = version.make_only_folder(&lock.root)?;
        let position = read_position(&lock.root.join(POSITION))?;
        let mut spool = Self { lock, version, folder, slices: BTreeSet::new(), position };
        for entry in fs::read_dir(&spool.folder).map_err(cannot("read", &spool.folder))? {
            let path = entry.map_err(cannot("read", &spool.folder))?.path();
            if path.extension().is_some_and(|extension| extension == TORN) {
                fs::remove_file(&path).map_err(cannot("remove", &path))?;
            }
            spool.slices.extend(slice_of(&path));
        }
        let mut damaged = Vec::new();
        for slice in spool.slices.clone() {
            match spool.read(slice) {
                Err(error @ SpoolError::Damaged { .. }) => damaged.push(error),
                other => drop(other?),
            }
        }
        Ok((spool, damaged))
    }

    /// Switches to network `version` and removes slices of former versions. After an error, the spool is empty.
    pub(super) fn begin(&mut self, version: VersionId) -> Result<(), SpoolError> {
        self.slices.clear();
        self.folder = version.make_only_folder(&self.lock.root)?;
        self.version = version;
        Ok(())
    }

    /// Stores `slice`: its `parts` and the `sampling` of its contacts. The slice is on disk when this
    /// function returns. After an error, the slice is not in the spool.
    pub(super) fn put(
        &mut self,
        slice: u64,
        parts: &[Vec<u8>],
        sampling: Sampling,
    ) -> Result<(), SpoolError> {
        let path = self.path(slice);
        let torn = path.with_extension(TORN);
        let write = || {
            let mut file = File::create(&torn)?;
            file.write_all(&file::encode(slice, sampling, parts))?;
            file.sync_all()
        };
        if let Err(cause) = write() {
            // A file that cannot be removed now is overwritten later, or removed by the next `open`.
            let _left = fs::remove_file(&torn);
            return Err(SpoolError::Io { doing: "write", path, cause });
        }
        fs::rename(&torn, &path).map_err(cannot("rename", &torn))?;
        self.sync()?;
        self.slices.insert(slice);
        Ok(())
    }

    /// Stores the input position. All contacts before it must belong to slices that are or were in the spool.
    pub(super) fn put_position(&mut self, position: &Position) -> Result<(), SpoolError> {
        if self.position.as_ref() == Some(position) {
            return Ok(());
        }
        let path = self.lock.root.join(POSITION);
        let torn = path.with_extension(TORN);
        let write = || {
            let mut file = File::create(&torn)?;
            serde_json::to_writer(&mut file, position)?;
            file.sync_all()?;
            fs::rename(&torn, &path)?;
            File::open(&self.lock.root)?.sync_all()
        };
        write().map_err(cannot("write", &path))?;
        self.position = Some(position.clone());
        Ok(())
    }

    pub(super) fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// Returns the content of `slice`. If the slice is not in the spool, the content has no parts. If the slice is
    /// damaged, its file is renamed and an error is returned.
    pub(super) fn read(&mut self, slice: u64) -> Result<SpoolEntry, SpoolError> {
        if !self.slices.contains(&slice) {
            return Ok(SpoolEntry::default());
        }
        let path = self.path(slice);
        let bytes = check_state_file(&path).and_then(|()| fs::read(&path));
        let bytes = bytes.map_err(cannot("read", &path))?;
        match file::decode(slice, bytes.into()) {
            Ok(stored) => Ok(stored),
            Err(why) => {
                let aside = Self::aside(&path)?;
                fs::rename(&path, &aside).map_err(cannot("rename", &path))?;
                self.sync()?;
                self.slices.remove(&slice);
                Err(SpoolError::Damaged { slice, why, path: aside })
            }
        }
    }

    /// Removes all slices up to `slice`, except the newest slice of the spool.
    pub(super) fn remove_up_to(&mut self, slice: u64) -> Result<(), SpoolError> {
        let Some(newest) = self.mark() else { return Ok(()) };
        while let Some(&oldest) =
            self.slices.first().filter(|&&oldest| oldest <= slice && oldest < newest)
        {
            let path = self.path(oldest);
            fs::remove_file(&path).map_err(cannot("remove", &path))?;
            self.slices.remove(&oldest);
        }
        Ok(())
    }

    /// Returns the newest slice in the spool, which [`remove_up_to`](Self::remove_up_to) keeps.
    pub(super) fn mark(&self) -> Option<u64> {
        self.slices.last().copied()
    }

    pub(super) fn version(&self) -> VersionId {
        self.version
    }

    pub(super) fn slices(&self) -> &BTreeSet<u64> {
        &self.slices
    }

    fn path(&self, slice: u64) -> PathBuf {
        self.folder.join(name_of(slice))
    }

    /// Returns an unused name for a damaged file, because the same slice may be damaged more than once.
    fn aside(path: &Path) -> Result<PathBuf, SpoolError> {
        let mut aside = path.with_extension(DAMAGED);
        for again in 2.. {
            if !aside.try_exists().map_err(cannot("look for", &aside))? {
                break;
            }
            aside = path.with_extension(format!("{DAMAGED}-{again}"));
        }
        Ok(aside)
    }

    /// Flushes the folder to disk, so that new and renamed files survive a power failure.
    fn sync(&self) -> Result<(), SpoolError> {
        let synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
        synced.map_err(cannot("flush", &self.folder))
    }
}

fn read_position(path: &Path) -> Result<Option<Position>, SpoolError> {
    match check_state_file(path).and_then(|()| fs::read(path)) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|cause| SpoolError::Position { path: path.to_owned(), cause }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", path)(error)),
    }
}

fn name_of(slice: u64) -> String {
    format!("{slice:020}.{WHOLE}")
}

fn slice_of(path: &Path) -> Option<u64> {
    let slice = path.file_stem()?.to_str()?.parse().ok()?;
    (path.file_name()?.to_str()? == name_of(slice)).then_some(slice)
}

fn cannot(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |cause| SpoolError::Io { doing, path, cause }
}

#[cfg(test)]
mod tests;
