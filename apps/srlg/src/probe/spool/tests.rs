//! Tests of the slices that a spool stores, returns and removes.

use super::*;
use srlg_input::contact::Sampling;

fn parts(slice: u64) -> Vec<Vec<u8>> {
    vec![slice.to_le_bytes().to_vec(), b"second part".to_vec()]
}

const FIRST: VersionId = VersionId { number: 1, tag: 7 };
const SECOND: VersionId = VersionId { number: 2, tag: 7 };
/// A version with the number of [`SECOND`] but a different tag.
const THIRD: VersionId = VersionId { number: 2, tag: 8 };

fn try_open(folder: &Path, version: VersionId) -> (Spool, Vec<SpoolError>) {
    Spool::open(SpoolLock::acquire(folder).unwrap(), version).unwrap()
}

fn open(folder: &Path) -> Spool {
    let (spool, damaged) = try_open(folder, FIRST);
    assert!(damaged.is_empty(), "{damaged:?}");
    spool
}

fn folders() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let of_version = folder.path().join(FIRST.to_string());
    fs::create_dir(&of_version).unwrap();
    (folder, of_version)
}

fn files(folder: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn slices_outlive_the_process_part_by_part() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path());
    for slice in [9, 10, 11] {
        spool.put(slice, &parts(slice), Sampling::default()).unwrap();
    }
    drop(spool);
    let mut spool = open(folder.path());
    assert_eq!(spool.mark(), Some(11));
    for slice in [9, 10, 11] {
        assert_eq!(spool.read(slice).unwrap().parts, parts(slice));
    }
    assert!(spool.read(12).unwrap().parts.is_empty());
}

#[test]
fn the_newest_slice_stays_and_marks_how_far_the_probe_has_come() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path());
    for slice in 1..=3 {
        spool.put(slice, &parts(slice), Sampling::default()).unwrap();
    }
    spool.remove_up_to(1).unwrap();
    assert_eq!(spool.slices().iter().copied().collect::<Vec<_>>(), [2, 3]);
    spool.remove_up_to(100).unwrap();
    drop(spool);
    assert_eq!(open(folder.path()).mark(), Some(3));
    assert_eq!(files(&folder.path().join(FIRST.to_string())), ["00000000000000000003.slice"]);
}

#[test]
fn a_second_probe_is_refused_while_the_spool_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    let error = SpoolLock::acquire(folder.path()).unwrap_err();
    assert!(matches!(&error, SpoolError::InUse { folder: it } if it == folder.path()), "{error}");
    drop(first);
    open(folder.path());
}

#[test]
fn unfinished_files_are_removed_and_foreign_files_stay() {
    let (folder, of_version) = folders();
    fs::write(of_version.join("00000000000000000005.tmp"), b"half").unwrap();
    fs::write(of_version.join("note.txt"), b"mine").unwrap();
    assert_eq!(open(folder.path()).mark(), None);
    assert_eq!(files(&of_version), ["note.txt"]);
}

#[test]
fn a_file_with_a_differently_written_name_is_no_slice() {
    let (folder, of_version) = folders();
    let names = ["+7.slice", "7.slice"];
    names.iter().for_each(|name| fs::write(of_version.join(name), b"mine").unwrap());
    assert_eq!(open(folder.path()).mark(), None);
    assert_eq!(files(&of_version), names);
}

#[test]
fn a_slice_that_is_damaged_again_does_not_replace_the_first() {
    let (folder, of_version) = folders();
    for text in ["one", "two", "three"] {
        fs::write(of_version.join("00000000000000000002.slice"), text).unwrap();
        let (_, damaged) = try_open(folder.path(), FIRST);
        let [SpoolError::Damaged { path, .. }] = &damaged[..] else { panic!("{damaged:?}") };
        assert_eq!(fs::read_to_string(path).unwrap(), text);
    }
    assert_eq!(files(&of_version).len(), 3);
}

#[test]
fn a_damaged_slice_is_named_kept_aside_and_no_mark() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path());
    spool.put(1, &parts(1), Sampling::default()).unwrap();
    spool.put(2, &parts(2), Sampling::default()).unwrap();
    drop(spool);
    let path = folder.path().join(FIRST.to_string()).join("00000000000000000002.slice");
    let mut bytes = fs::read(&path).unwrap();
    bytes[30] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (mut spool, damaged) = try_open(folder.path(), FIRST);
    let [SpoolError::Damaged { slice: 2, path: kept, .. }] = &damaged[..] else {
        panic!("{damaged:?}");
    };
    assert_eq!((spool.mark(), spool.read(2).unwrap().parts.len()), (Some(1), 0));
    assert!(*kept == path.with_extension(DAMAGED) && kept.exists());
}

#[test]
fn a_slice_that_cannot_be_written_is_not_in_the_spool() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path());
    // A folder has the name of the file to write.
    let obstacle = folder.path().join(FIRST.to_string()).join("00000000000000000004.tmp");
    fs::create_dir(&obstacle).unwrap();
    assert!(matches!(
        spool.put(4, &parts(4), Sampling::default()),
        Err(SpoolError::Io { doing: "write", .. })
    ));
    assert_eq!(spool.mark(), None);
    fs::remove_dir(&obstacle).unwrap();
    spool.put(4, &parts(4), Sampling::default()).unwrap();
    assert_eq!(spool.read(4).unwrap().parts, parts(4));
}

#[test]
fn slices_of_another_version_of_the_network_are_removed_and_files_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path());
    spool.put(7, &parts(7), Sampling::default()).unwrap();
    fs::write(folder.path().join("note.txt"), b"mine").unwrap();
    spool.begin(SECOND).unwrap();
    assert_eq!((spool.mark(), spool.version()), (None, SECOND));
    spool.put(3, &parts(3), Sampling::default()).unwrap();
    assert_eq!(spool.read(3).unwrap().parts, parts(3));
    drop(spool);
    assert_eq!(files(folder.path()), ["2-00000007", "lock", "note.txt"]);
    assert_eq!(try_open(folder.path(), THIRD).0.mark(), None);
    assert_eq!(files(folder.path()), ["2-00000008", "lock", "note.txt"]);
}

#[test]
fn a_position_outlives_the_process_and_the_version() {
    let folder = tempfile::tempdir().unwrap();
    let position = |offset| Position {
        topic: "flows".to_owned(),
        offsets: [(3, offset)].into(),
        ..Position::default()
    };
    let mut spool = open(folder.path());
    assert_eq!(spool.position(), None);
    for offset in [7, 9] {
        spool.put_position(&position(offset)).unwrap();
        assert_eq!(spool.position(), Some(&position(offset)));
    }
    spool.begin(SECOND).unwrap();
    drop(spool);
    let (spool, _) = try_open(folder.path(), SECOND);
    assert_eq!(spool.position(), Some(&position(9)));
    drop(spool);
    fs::write(folder.path().join("position"), "{").unwrap();
    let error = Spool::open(SpoolLock::acquire(folder.path()).unwrap(), SECOND).unwrap_err();
    assert!(matches!(error, SpoolError::Position { .. }), "{error}");
}
