//! Tests that the last complete checkpoint is found, even if a file is damaged, a process is killed or the disk is
//! full.

mod damaged;
mod folder;
mod killed;

use std::fs;

use srlg::state::Checkpoints;
use srlg::{Config, Device, Error, Ipv4Pair, SlidingDetector};

use folder::{Folder, latest, small, snapshot};

#[test]
fn newest_checkpoint_is_restored_and_the_newest_two_stay() {
    let folder = Folder::new("newest");
    let mut checkpoints = folder.open();
    assert_eq!(latest(&mut checkpoints), None);
    for slice in 0..4 {
        checkpoints.save(&snapshot(slice)).unwrap();
    }
    assert_eq!(folder.names().len(), 2);
    let loaded = checkpoints.latest(&small().validate().unwrap()).unwrap().snapshot.unwrap();
    assert!(loaded == snapshot(3));
    let mut restored = SlidingDetector::new(small(), Device::Cpu).unwrap();
    restored.ingest(&[Ipv4Pair { inside: 1, peer: 1 }]).unwrap();
    restored.restore(&loaded).unwrap();
    assert_eq!(restored.slice(), 3);
    assert!(restored.snapshot().unwrap().with_attachment(loaded.attachment().into()) == loaded);
}

// A restored detector has lost the touches since its checkpoint. It must therefore ingest the same pairs again.
#[test]
fn restored_detector_ingests_pairs_again_that_it_knew_before() {
    let pairs: Vec<Ipv4Pair> = (0..20_000).map(|n| Ipv4Pair { inside: 1, peer: n % 500 }).collect();
    let mut detector = SlidingDetector::new(small(), Device::Cpu).unwrap();
    let empty = detector.snapshot().unwrap();
    detector.ingest(&pairs).unwrap();
    let expected = detector.snapshot().unwrap();
    detector.restore(&empty).unwrap();
    assert!(detector.snapshot().unwrap() == empty);
    detector.ingest(&pairs).unwrap();
    assert!(detector.snapshot().unwrap() == expected);
}

#[test]
fn checkpoint_of_another_detector_is_an_error_and_stays() {
    let folder = Folder::new("other");
    let mut checkpoints = folder.open();
    checkpoints.save(&snapshot(1)).unwrap();
    let other_seed = Config { seed: 1, ..small() }.validate().unwrap();
    assert!(matches!(checkpoints.latest(&other_seed), Err(Error::OtherSeed { .. })));
    let other_window = Config { window: 9, ..small() }.validate().unwrap();
    let error = checkpoints.latest(&other_window).unwrap_err();
    let Error::OtherSizes { differences, .. } = error else { panic!("{error}") };
    insta::assert_snapshot!(differences);
    assert_eq!(latest(&mut checkpoints), Some(1));
}

#[test]
fn second_process_is_refused_while_the_first_has_the_folder() {
    let folder = Folder::new("second");
    let first = folder.open();
    let error = Checkpoints::open(&folder.0).unwrap_err();
    assert!(matches!(&error, Error::CheckpointsInUse { path, .. } if *path == folder.0), "{error}");
    drop(first);
    folder.open();
}

#[test]
fn leftovers_of_a_torn_write_are_removed() {
    let folder = Folder::new("torn");
    folder.open().save(&snapshot(1)).unwrap();
    let torn = folder.0.join("checkpoint-00000000000000000002.tmp");
    fs::write(torn, b"SRLG").unwrap();
    assert_eq!(latest(&mut folder.open()), Some(1));
    assert_eq!(folder.names().len(), 1);
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = Folder::new("others");
    let others = ["notes.tmp", "checkpoint-18446744073709551615.srlg", "checkpoint-new.srlg"];
    others.iter().for_each(|name| fs::write(folder.0.join(name), b"mine").unwrap());
    let mut checkpoints = folder.open();
    assert_eq!(latest(&mut checkpoints), None);
    (1..5).for_each(|slice| _ = checkpoints.save(&snapshot(slice)).unwrap());
    assert_eq!(latest(&mut checkpoints), Some(4));
    assert!(others.iter().all(|name| fs::read(folder.0.join(name)).unwrap() == b"mine"));
}

#[test]
fn missing_folders_are_created_and_a_file_is_no_folder() {
    let folder = Folder::new("nested");
    let nested = folder.0.join("one").join("two");
    Checkpoints::open(&nested).unwrap().save(&snapshot(1)).unwrap();
    assert_eq!(latest(&mut Checkpoints::open(&nested).unwrap()), Some(1));
    let file = folder.0.join("file");
    fs::write(&file, b"").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = Checkpoints::open(path).unwrap_err();
        let Error::Checkpoint { path, .. } = error else { panic!("{error}") };
        assert!(path.starts_with(&file), "{}", path.display());
    }
}

/// A tmpfs of 16 MiB that is mounted on a folder.
#[cfg(target_os = "linux")]
struct SmallDisk<'a>(&'a std::path::Path);

#[cfg(target_os = "linux")]
impl<'a> SmallDisk<'a> {
    /// Mounts the disk. If this fails, prints a message and returns `None`.
    fn mount(folder: &'a std::path::Path) -> Option<Self> {
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"]).arg(folder);
        if !mount.output().is_ok_and(|done| done.status.success()) {
            eprintln!("SKIPPED: only root can mount a small disk");
            return None;
        }
        Some(Self(folder))
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // The unmount is lazy, because the checkpoints keep the lock file open.
        let _gone = std::process::Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn full_disk_is_an_error_and_leaves_those_that_were_there() {
    use std::io::Write as _;

    let folder = Folder::new("full");
    let Some(_disk) = SmallDisk::mount(&folder.0) else { return };
    let mut checkpoints = folder.open();
    checkpoints.save(&snapshot(1)).unwrap();
    checkpoints.save(&snapshot(2)).unwrap();
    let filler = folder.0.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    let before = folder.names();
    let error = checkpoints.save(&snapshot(3)).unwrap_err();
    let Error::Checkpoint { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{error}");
    assert_eq!(folder.names(), before);
    assert_eq!(latest(&mut checkpoints), Some(2));
    // Another test may be starting a process, which briefly has a copy of the open file.
    file.set_len(0).unwrap();
    drop(file);
    fs::remove_file(&filler).unwrap();
    // Saving works again as soon as there is room.
    checkpoints.save(&snapshot(4)).unwrap();
    assert_eq!(latest(&mut checkpoints), Some(4));
}
