//! [`Checkpoints`]: snapshots in a folder.
//!
//! The last complete snapshot survives a crash of the process or the machine.
//!
//! A checkpoint is written under a temporary name, synced and renamed, so a file with the name of a checkpoint is
//! always complete. The newest two checkpoints are kept, in case one is later damaged on disk. Checkpoint numbers
//! ascend and are never reused. Files whose names do not start with `checkpoint-` are not touched.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use srlg_core::Params;

use crate::error::Error;
use crate::state::Snapshot;

const KEPT: usize = 2;

const PREFIX: &str = "checkpoint-";
const WHOLE: &str = "srlg";
const TORN: &str = "tmp";
const DAMAGED: &str = "damaged";

/// A folder of checkpoints. While this value exists, the folder cannot be opened again, even in the same process.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, SlidingDetector};
/// use srlg::state::Checkpoints;
///
/// let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// # let folder = std::env::temp_dir().join(format!("srlg-{}-example", std::process::id()));
/// let mut checkpoints = Checkpoints::open(&folder)?;
/// let latest = checkpoints.latest(detector.params())?;
/// for damaged in latest.damaged {
///     eprintln!("{} is damaged: {}", damaged.path.display(), damaged.why);
/// }
/// if let Some(snapshot) = latest.snapshot {
///     detector.restore(&snapshot)?;
/// }
/// checkpoints.save(&detector.snapshot()?)?; // at regular intervals
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    /// Lock file, which is unlocked when this value is dropped or the process ends.
    lock: File,
    next: u64,
}

/// The newest undamaged checkpoint in a folder, and any damaged checkpoints that are newer.
#[derive(Debug)]
#[non_exhaustive]
pub struct LatestCheckpoint {
    /// Snapshot in the newest undamaged checkpoint, if there is one.
    pub snapshot: Option<Snapshot>,
    /// Damaged checkpoints that are newer than `snapshot`.
    pub damaged: Vec<DamagedCheckpoint>,
}

/// A checkpoint that is damaged.
#[derive(Debug)]
#[non_exhaustive]
pub struct DamagedCheckpoint {
    /// Path of the damaged file after it was renamed.
    pub path: PathBuf,
    /// Error that occurred when the file was read.
    pub why: Error,
}

impl Checkpoints {
    /// Opens `folder` for checkpoints and creates it if necessary. Unfinished checkpoints are removed.
    ///
    /// # Errors
    /// Returns [`Error::CheckpointsInUse`] if this or another process already uses the folder, or
    /// [`Error::Checkpoint`] if an operation on the folder fails.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        make(&folder)?;
        let lock = lock(&folder)?;
        let mut next = 1;
        for path in paths(&folder)? {
            let Some(number) = number(&path) else { continue };
            next = next.max(number + 1);
            if has_extension(&path, TORN) {
                fs::remove_file(&path).map_err(cannot("remove", &path))?;
            }
        }
        Ok(Self { folder, lock, next })
    }

    /// Saves `snapshot` as a checkpoint and keeps only the newest two checkpoints.
    ///
    /// The checkpoint is durable when the call returns.
    ///
    /// # Errors
    /// Returns [`Error::Checkpoint`] if the checkpoint cannot be written. Older checkpoints are then unchanged.
    /// [`Error::Checkpoint`] is also returned if the folder cannot be synced or read, or if an old checkpoint cannot be
    /// removed. The new checkpoint is then stored, but if the sync failed, it may not be durable. Also returns the
    /// errors of [`Snapshot::to_bytes`].
    pub fn save(&mut self, snapshot: &Snapshot) -> Result<PathBuf, Error> {
        let bytes = snapshot.to_bytes()?;
        let path = self.folder.join(format!("{PREFIX}{:020}.{WHOLE}", self.next));
        let torn = path.with_extension(TORN);
        let renamed = || fs::rename(&torn, &path).map_err(cannot("rename", &torn));
        if let Err(error) = write(&torn, &bytes).and_then(|()| renamed()) {
            // If the file cannot be removed now, the next `open` removes it.
            let _left = fs::remove_file(&torn);
            return Err(error);
        }
        // The number is used up even if the name does not become durable.
        self.next += 1;
        sync_folder(&self.folder)?;
        for (_, old) in self.newest_first()?.into_iter().skip(KEPT) {
            fs::remove_file(&old).map_err(cannot("remove", &old))?;
        }
        Ok(path)
    }

    /// Returns the newest undamaged checkpoint, for a detector with `params`.
    ///
    /// Any damaged checkpoints that are newer are renamed and listed in [`LatestCheckpoint::damaged`]. On Unix, a
    /// checkpoint that the disk fails to read (EIO) is also considered damaged.
    ///
    /// # Errors
    /// Returns [`Error::Checkpoint`] if a file cannot be read or renamed. A checkpoint is not considered damaged
    /// if its sizes or its seed do not match `params`, or if its format version is not supported. The call then returns
    /// [`Error::OtherSizes`], [`Error::OtherSeed`], [`Error::Version`] or [`Error::FormerVersion`].
    pub fn latest(&mut self, params: &Params) -> Result<LatestCheckpoint, Error> {
        let (mut snapshot, mut damaged) = (None, Vec::new());
        for (_, path) in self.newest_first()? {
            match load(&path, params) {
                Ok(loaded) => {
                    snapshot = Some(loaded);
                    break;
                }
                Err(why) if is_damage(&why) => damaged.push(DamagedCheckpoint { path, why }),
                Err(error) => return Err(error),
            }
        }
        // Files are renamed only now. If an earlier error occurred after a rename, the caller would not learn the new
        // name.
        for damaged in &mut damaged {
            damaged.path = self.put_aside(&damaged.path)?;
        }
        Ok(LatestCheckpoint { snapshot, damaged })
    }

    fn put_aside(&self, path: &Path) -> Result<PathBuf, Error> {
        let mut aside = path.with_extension(DAMAGED);
        // A user may have copied a damaged file back. It is found damaged again, and the original still has this name.
        for again in 2.. {
            if !aside.try_exists().map_err(cannot("look for", &aside))? {
                break;
            }
            aside = path.with_extension(format!("{DAMAGED}-{again}"));
        }
        fs::rename(path, &aside).map_err(cannot("rename", path))?;
        sync_folder(&self.folder)?;
        Ok(aside)
    }

    fn newest_first(&self) -> Result<Vec<(u64, PathBuf)>, Error> {
        let paths = paths(&self.folder)?.into_iter().filter(|path| has_extension(path, WHOLE));
        let mut all: Vec<_> = paths.filter_map(|path| Some((number(&path)?, path))).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        Ok(all)
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        // Closing the file does not suffice, because a forked child that has not called exec also has it open. If
        // unlocking fails, the file is still closed.
        let _closed = self.lock.unlock();
    }
}

fn load(path: &Path, params: &Params) -> Result<Snapshot, Error> {
    let bytes = check_file(path).and_then(|()| fs::read(path)).map_err(cannot("read", path))?;
    Snapshot::from_bytes(&bytes, params)
}

/// Checks that the file at `path`, if it exists, is a regular file. Opening a FIFO would wait for ever, and reading a
/// device may never end.
fn check_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_damage(why: &Error) -> bool {
    // This is EIO on every Unix, which means that the disk failed to read. The standard library has no name for it.
    const DISK_FAILED: i32 = 5;
    match why {
        Error::Format(_) => true,
        Error::Checkpoint { source, .. } => {
            cfg!(unix) && source.raw_os_error() == Some(DISK_FAILED)
        }
        _ => false,
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Returns the number in the name of a checkpoint file with any extension. The largest 64-bit number is not valid,
/// because it has no successor.
fn number(path: &Path) -> Option<u64> {
    let number = path.file_stem()?.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
    (number < u64::MAX).then_some(number)
}

/// Creates `folder` and its missing parents, and makes the new directory entries durable.
fn make(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    make(parent)?;
    match fs::create_dir(folder) {
        // Another process created the folder first.
        Err(_) if folder.is_dir() => {}
        made => made.map_err(cannot("create the folder", folder))?,
    }
    sync_folder(parent)
}

fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    let open = || File::options().create(true).truncate(false).write(true).open(&path);
    let lock = check_file(&path).and_then(|()| open());
    let lock = lock.map_err(cannot("open", &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::CheckpointsInUse { path: folder.into() }),
        Err(TryLockError::Error(error)) => Err(cannot("lock", &path)(error)),
    }
}

fn paths(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(cannot("read the folder", folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<_>>().map_err(cannot("read the folder", folder))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    // Any existing file is removed first, so that a link does not lead to a file of another program.
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(cannot("remove", path)(error));
        }
        _ => {}
    }
    let mut file = File::create_new(path).map_err(cannot("create", path))?;
    file.write_all(bytes).map_err(cannot("write", path))?;
    file.sync_all().map_err(cannot("sync", path))
}

/// Makes the directory entries of `folder` durable.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    // On other systems, a folder cannot be opened as a file, and a rename needs no sync.
    if cfg!(unix) {
        let opened = File::open(folder).and_then(|folder| folder.sync_all());
        opened.map_err(cannot("sync", folder))?;
    }
    Ok(())
}

fn cannot(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Checkpoint { doing, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_folder_is_unlocked_despite_open_files() {
        let name = format!("srlg-{}-free", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let first = Checkpoints::open(&folder).unwrap();
        // This is the state of a child between fork and exec.
        let of_child = first.lock.try_clone().unwrap();
        assert!(matches!(Checkpoints::open(&folder), Err(Error::CheckpointsInUse { .. })));
        drop(first);
        Checkpoints::open(&folder).unwrap();
        drop(of_child);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_checkpoint_that_is_no_regular_file_is_refused_at_once() {
        let folder = std::env::temp_dir().join(format!("srlg-{}-pipe", std::process::id()));
        let mut checkpoints = Checkpoints::open(&folder).unwrap();
        let path = folder.join(format!("{PREFIX}1.{WHOLE}"));
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let params = srlg_core::Config::default().validate().unwrap();
        let error = checkpoints.latest(&params).unwrap_err();
        assert!(
            matches!(&error, Error::Checkpoint { path: named, .. } if *named == path),
            "{error:?}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_an_unfinished_file_is_not_followed() {
        let folder = std::env::temp_dir().join(format!("srlg-{}-link", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [torn, other] = ["torn", "other"].map(|name| folder.join(name));
        fs::write(&other, "of another program").unwrap();
        std::os::unix::fs::symlink(&other, &torn).unwrap();
        write(&torn, b"snapshot").unwrap();
        assert_eq!(fs::read(&torn).unwrap(), b"snapshot");
        assert_eq!(fs::read(&other).unwrap(), b"of another program");
        fs::remove_dir_all(&folder).unwrap();
    }
}
