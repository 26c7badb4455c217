//! Checkpoints: whatever happens, the last complete one is there.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use srlg::{Checkpoints, Config, Device, Error, IpPair, Scheme, SlidingDetector, Snapshot};

fn small() -> Config {
    Config {
        threshold: 32,
        window: 8,
        rough_column_bits: 12,
        bit_stride: 10,
        rough_rows: 4,
        scheme: Scheme::Tagged { lines: 24, tags: 64 },
        linear_width: 256,
        ..Config::default()
    }
}

/// What a detector has seen up to `slice`, which is attached.
fn snapshot(slice: u64) -> Snapshot {
    let mut detector = SlidingDetector::new(small(), Device::Cpu).unwrap();
    for slice in slice.saturating_sub(3)..=slice {
        detector.skip_to(slice).unwrap();
        let pair = |bip| IpPair { aip: slice as u32, bip };
        detector.ingest(&(0..300).map(pair).collect::<Vec<_>>()).unwrap();
    }
    detector.snapshot().unwrap().with_attachment(slice.to_le_bytes().to_vec())
}

/// An empty folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("srlg-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn open(&self) -> Checkpoints {
        Checkpoints::open(&self.0).unwrap()
    }

    /// The names of all files, but for the lock.
    fn names(&self) -> Vec<String> {
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

fn latest(checkpoints: &mut Checkpoints) -> Option<u64> {
    let latest = checkpoints.latest(&small().validate().unwrap()).unwrap();
    assert!(latest.damaged.is_empty(), "{:?}", latest.damaged);
    latest.snapshot.map(|snapshot| snapshot.slice())
}

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
    restored.ingest(&[IpPair { aip: 1, bip: 1 }]).unwrap();
    restored.restore(&loaded).unwrap();
    assert_eq!(restored.slice(), 3);
    assert!(restored.snapshot().unwrap().with_attachment(loaded.attachment().into()) == loaded);
}

// What a detector had ingested of late it does not know any more: it touches again.
#[test]
fn restored_detector_ingests_pairs_again_that_it_knew_before() {
    let pairs: Vec<IpPair> = (0..20_000).map(|n| IpPair { aip: 1, bip: n % 500 }).collect();
    let mut detector = SlidingDetector::new(small(), Device::Cpu).unwrap();
    let empty = detector.snapshot().unwrap();
    detector.ingest(&pairs).unwrap();
    let expected = detector.snapshot().unwrap();
    detector.restore(&empty).unwrap();
    assert!(detector.snapshot().unwrap() == empty);
    detector.ingest(&pairs).unwrap();
    assert!(detector.snapshot().unwrap() == expected);
}

/// Saves until it is killed, and says which slices are saved; of no use alone.
#[test]
#[ignore = "the process that `killed_at_any_moment_the_last_complete_one_is_there` starts and kills"]
fn saves_until_killed() {
    let Some(folder) = std::env::var_os("SRLG_CHECKPOINTS") else { return };
    let mut checkpoints = Checkpoints::open(folder).unwrap();
    let first = latest(&mut checkpoints).map_or(0, |slice| slice + 1);
    for slice in first.. {
        checkpoints.save(&snapshot(slice)).unwrap();
        let mut out = std::io::stderr();
        writeln!(out, "saved {slice}").unwrap();
    }
}

/// Lets a process save until at least one more is saved and some time has passed; the last slice
/// that it said was saved.
fn save_and_kill(folder: &Path, after: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "saves_until_killed", "--ignored", "--nocapture"])
        .env("SRLG_CHECKPOINTS", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let saved = |line: String| line.strip_prefix("saved ").and_then(|slice| slice.parse().ok());
    let mut last = lines.by_ref().find_map(saved).expect("a checkpoint");
    std::thread::sleep(after);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    for slice in lines.filter_map(saved) {
        last = slice;
    }
    last
}

#[test]
fn killed_at_any_moment_the_last_complete_one_is_there() {
    let folder = Folder::new("killed");
    let mut torn = 0;
    for round in 0..60 {
        let said = save_and_kill(&folder.0, Duration::from_micros(round * 211 % 4001));
        torn += folder.names().iter().filter(|name| name.ends_with(".tmp")).count();
        let mut checkpoints = folder.open();
        assert!(folder.names().iter().all(|name| name.ends_with(".srlg")), "leftovers go");
        let found = latest(&mut checkpoints).unwrap();
        // It may have been killed between saving and saying so.
        assert!((said..=said + 1).contains(&found), "{said} was saved, {found} is there");
        let loaded = checkpoints.latest(&small().validate().unwrap()).unwrap().snapshot.unwrap();
        assert!(loaded == snapshot(found));
    }
    eprintln!("of 60 processes {torn} were killed while they wrote");
}

#[test]
fn damaged_checkpoint_is_named_and_kept_aside_and_the_one_before_is_used() {
    let damages: [fn(&mut Vec<u8>); 5] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes[100] ^= 4,
        |bytes| bytes[5] ^= 4, // looks like a later version
        |bytes| bytes.push(0),
        Vec::clear,
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let folder = Folder::new(&format!("damaged-{number}"));
        let mut checkpoints = folder.open();
        checkpoints.save(&snapshot(1)).unwrap();
        let newest = checkpoints.save(&snapshot(2)).unwrap();
        let mut bytes = fs::read(&newest).unwrap();
        damage(&mut bytes);
        fs::write(&newest, &bytes).unwrap();
        let found = checkpoints.latest(&small().validate().unwrap()).unwrap();
        assert!(found.snapshot.unwrap() == snapshot(1));
        let [damaged] = &found.damaged[..] else { panic!("{:?}", found.damaged) };
        assert!(matches!(damaged.why, Error::Format(_)), "{}", damaged.why);
        assert_eq!(damaged.path, newest.with_extension("damaged"));
        assert_eq!(fs::read(&damaged.path).unwrap(), bytes, "kept as it was");
        // Its number is not used again, neither by this process nor by the next.
        drop(checkpoints);
        let next = folder.open().save(&snapshot(3)).unwrap();
        assert!(next > newest);
        assert_eq!(latest(&mut folder.open()), Some(3));
    }
}

#[test]
fn both_damaged_leave_nothing_and_are_both_kept() {
    let folder = Folder::new("both");
    let mut checkpoints = folder.open();
    let paths = [1, 2].map(|slice| checkpoints.save(&snapshot(slice)).unwrap());
    paths.iter().for_each(|path| fs::write(path, b"SRLG").unwrap());
    let found = checkpoints.latest(&small().validate().unwrap()).unwrap();
    assert!(found.snapshot.is_none());
    let aside: Vec<_> = found.damaged.into_iter().map(|damaged| damaged.path).collect();
    assert_eq!(aside, [1, 0].map(|newest| paths[newest].with_extension("damaged")));
    assert!(checkpoints.save(&snapshot(3)).unwrap() > paths[1]);
    assert_eq!(latest(&mut checkpoints), Some(3));
}

#[test]
fn damaged_checkpoint_never_takes_the_place_of_another() {
    let folder = Folder::new("again");
    let mut checkpoints = folder.open();
    let path = checkpoints.save(&snapshot(1)).unwrap();
    let mut kept = Vec::new();
    for damage in [&b"first"[..], b"second", b"third"] {
        fs::write(&path, damage).unwrap();
        let found = checkpoints.latest(&small().validate().unwrap()).unwrap();
        kept.push((found.damaged[0].path.clone(), damage));
        assert!(kept.iter().all(|(path, damage)| fs::read(path).unwrap() == *damage));
    }
}

// What is read comes from a file whose first page no process has.
#[test]
#[cfg(target_os = "linux")]
fn checkpoint_that_the_disk_cannot_read_is_damaged() {
    let folder = Folder::new("unreadable");
    let mut checkpoints = folder.open();
    checkpoints.save(&snapshot(1)).unwrap();
    let newest = checkpoints.save(&snapshot(2)).unwrap();
    fs::remove_file(&newest).unwrap();
    std::os::unix::fs::symlink("/proc/self/mem", &newest).unwrap();
    let found = checkpoints.latest(&small().validate().unwrap()).unwrap();
    assert!(found.snapshot.unwrap() == snapshot(1));
    assert_eq!(found.damaged[0].path, newest.with_extension("damaged"));
    assert!(matches!(found.damaged[0].why, Error::Checkpoint { .. }), "{}", found.damaged[0].why);
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
    assert!(matches!(error, Error::OtherSizes { .. }));
    assert!(error.to_string().contains("window is 9, not 8"), "{error}");
    assert_eq!(latest(&mut checkpoints), Some(1));
}

#[test]
fn second_process_is_refused_while_the_first_has_the_folder() {
    let folder = Folder::new("second");
    let first = folder.open();
    let error = Checkpoints::open(&folder.0).unwrap_err();
    assert!(matches!(error, Error::CheckpointsInUse { .. }));
    assert!(error.to_string().contains(folder.0.to_str().unwrap()), "{error}");
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
fn folders_are_made_on_the_way_and_a_file_is_none() {
    let folder = Folder::new("nested");
    let nested = folder.0.join("one").join("two");
    Checkpoints::open(&nested).unwrap().save(&snapshot(1)).unwrap();
    assert_eq!(latest(&mut Checkpoints::open(&nested).unwrap()), Some(1));
    let file = folder.0.join("file");
    fs::write(&file, b"").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = Checkpoints::open(path).unwrap_err();
        assert!(matches!(error, Error::Checkpoint { .. }));
        assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
    }
}

// What is written goes to a device that is always full.
#[test]
#[cfg(target_os = "linux")]
fn full_disk_is_an_error_and_leaves_those_that_were_there() {
    let folder = Folder::new("full");
    let mut checkpoints = folder.open();
    checkpoints.save(&snapshot(1)).unwrap();
    checkpoints.save(&snapshot(2)).unwrap();
    let before = folder.names();
    let torn = folder.0.join("checkpoint-00000000000000000003.tmp");
    std::os::unix::fs::symlink("/dev/full", torn).unwrap();
    let error = checkpoints.save(&snapshot(3)).unwrap_err();
    let Error::Checkpoint { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{error}");
    assert_eq!(folder.names(), before);
    assert_eq!(latest(&mut checkpoints), Some(2));
    // As soon as there is room it goes on.
    checkpoints.save(&snapshot(4)).unwrap();
    assert_eq!(latest(&mut checkpoints), Some(4));
}
