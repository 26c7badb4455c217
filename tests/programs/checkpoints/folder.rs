//! Helpers for the tests of checkpoints: known snapshots and folders for checkpoints.

use std::fs;
use std::path::PathBuf;

use srlg::config::Scheme;
use srlg::state::{Checkpoints, Snapshot};
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};

pub(crate) fn small() -> Config {
    Config {
        threshold: 32,
        window: 8,
        scheme: Scheme::Tagged { cell_bits: 12, lines: 24, tags: 64 },
        linear_width: 256,
        ..Config::default()
    }
}

/// Returns a snapshot with contacts in `slice` and up to three slices before it. The attachment contains the number of
/// the slice.
pub(crate) fn snapshot(slice: u64) -> Snapshot {
    let mut detector = SlidingDetector::new(small(), Device::Cpu).unwrap();
    for slice in slice.saturating_sub(3)..=slice {
        detector.skip_to(slice).unwrap();
        let pair = |peer| Ipv4Pair { inside: slice as u32, peer };
        detector.ingest(&(0..300).map(pair).collect::<Vec<_>>()).unwrap();
    }
    detector.snapshot().unwrap().with_attachment(slice.to_le_bytes().to_vec())
}

/// A temporary folder that is removed at the end of the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = format!("srlg-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn open(&self) -> Checkpoints {
        Checkpoints::open(&self.0).unwrap()
    }

    /// Returns the sorted names of all files in the folder, except the lock file.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "lock").collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Returns the newest snapshot and asserts that no checkpoint is damaged.
pub(crate) fn newest(checkpoints: &mut Checkpoints) -> Option<Snapshot> {
    let latest = checkpoints.latest(&small().validate().unwrap()).unwrap();
    assert!(latest.damaged.is_empty(), "{:?}", latest.damaged);
    latest.snapshot
}

pub(crate) fn latest(checkpoints: &mut Checkpoints) -> Option<u64> {
    newest(checkpoints).map(|snapshot| snapshot.slice())
}
