//! What a probe has measured and nobody else has on disk yet: a file per slice.
//!
//! Shape: a folder that one probe locks; in it one of the version of the network, with `NUMBER.delta` for each slice (`file`
//! has its bytes). What was measured by another version is of no use to anybody, and is removed.
//! Invariants: a file with the name of a slice is whole, because it is written under another name and brought to disk
//! before it is renamed. The newest file stays, so that its number, the [mark](Spool::mark), says how
//! far this probe has come, whatever ended it.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use srlg_input::contact::Sampling;
use tracing::warn;

mod file;

const WHOLE: &str = "delta";
const TORN: &str = "tmp";
const DAMAGED: &str = "damaged";

/// Deltas on disk, by slice.
#[derive(Debug)]
pub(super) struct Spool {
    /// Of all versions.
    root: PathBuf,
    /// Of the version that is measured by, and its number.
    folder: PathBuf,
    version: u32,
    /// Locked until it is closed, by whatever ends the process.
    _lock: File,
    slices: BTreeSet<u64>,
}

/// A slice in the spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpoolEntry {
    /// The parts of its delta.
    pub parts: Vec<Bytes>,
    /// How the contacts were sampled that it measured.
    pub sampling: Sampling,
}

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]

pub(super) enum SpoolError {
    #[error("another probe spools to {folder}: give each probe a folder of its own")]
    InUse { folder: PathBuf },
    #[error("the spool cannot {doing} {path}: {cause}")]
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
    #[error(
        "slice {slice} is damaged in the spool ({why}); the file is kept as {path}, and not sent"
    )]
    Damaged { slice: u64, why: &'static str, path: PathBuf },
}

impl Spool {
    /// Takes `root`, makes it where there is none, and removes what was never finished and what is of other versions than
    /// `version`. Files that are damaged are put aside and told.
    pub(super) fn open(root: &Path, version: u32) -> Result<(Self, Vec<SpoolError>), SpoolError> {
        fs::create_dir_all(root).map_err(cannot("make", root))?;
        let (lock, slices) = (lock(root)?, BTreeSet::new());
        let (root, folder) = (root.to_owned(), root.to_owned());
        let mut spool = Self { root, folder, version, _lock: lock, slices };
        spool.begin(version)?;
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

    /// Begins with `version` of the network: slices of others are removed.
    pub(super) fn begin(&mut self, version: u32) -> Result<(), SpoolError> {
        self.version = version;
        self.folder = self.root.join(version.to_string());
        fs::create_dir_all(&self.folder).map_err(cannot("make", &self.folder))?;
        self.slices.clear();
        for entry in fs::read_dir(&self.root).map_err(cannot("read", &self.root))? {
            let path = entry.map_err(cannot("read", &self.root))?.path();
            let other = path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
            if let Some(other) = other.filter(|other| *other != version) {
                let slices = fs::read_dir(&path).map_err(cannot("read", &path))?.count();
                warn!(
                    "{slices} files of slices of version {other} of the network are removed from the spool: it has version \
                     {version} now"
                );
                fs::remove_dir_all(&path).map_err(cannot("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Puts the `parts` of the delta of `slice` on disk, and how its contacts were sampled; when this returns they are there.
    /// After an error the slice is not in the spool.
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
            // What cannot be removed now is overwritten, or removed by the next `open`.
            let _left = fs::remove_file(&torn);
            return Err(SpoolError::Io { doing: "write", path, cause });
        }
        fs::rename(&torn, &path).map_err(cannot("rename", &torn))?;
        self.sync()?;
        self.slices.insert(slice);
        Ok(())
    }

    /// Returns what there is of `slice`, without a part where the slice is not in the spool.
    /// A slice that is damaged is removed from the spool.
    pub(super) fn read(&mut self, slice: u64) -> Result<SpoolEntry, SpoolError> {
        if !self.slices.contains(&slice) {
            return Ok(SpoolEntry::default());
        }
        let path = self.path(slice);
        let bytes = fs::read(&path).map_err(cannot("read", &path))?;
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

    /// Removes all slices up to this one, but never the newest.
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

    /// The newest slice that has ever been put here.
    pub(super) fn mark(&self) -> Option<u64> {
        self.slices.last().copied()
    }

    /// The version of the network that it is of.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// The slices in it.
    pub(super) fn slices(&self) -> &BTreeSet<u64> {
        &self.slices
    }

    fn path(&self, slice: u64) -> PathBuf {
        self.folder.join(name_of(slice))
    }

    /// A free name for a damaged file: the same slice may be damaged again.
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

    /// Brings the names of files to disk.
    fn sync(&self) -> Result<(), SpoolError> {
        let synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
        synced.map_err(cannot("bring to disk", &self.folder))
    }
}

fn name_of(slice: u64) -> String {
    format!("{slice:020}.{WHOLE}")
}

fn slice_of(path: &Path) -> Option<u64> {
    let slice = path.file_stem()?.to_str()?.parse().ok()?;
    (path.file_name()?.to_str()? == name_of(slice)).then_some(slice)
}

fn lock(folder: &Path) -> Result<File, SpoolError> {
    let path = folder.join("lock");
    let lock = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = lock.map_err(cannot("open", &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(SpoolError::InUse { folder: folder.to_owned() }),
        Err(TryLockError::Error(error)) => Err(cannot("lock", &path)(error)),
    }
}

fn cannot(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |cause| SpoolError::Io { doing, path, cause }
}

#[cfg(test)]
mod tests;
