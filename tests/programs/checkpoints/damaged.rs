//! Tests that a damaged checkpoint is renamed and kept, and that the previous checkpoint is used instead.

use std::fs;

use srlg::{Config, Error};

use super::folder::{Folder, latest, small, snapshot};

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
        // The number of the damaged checkpoint is not used again, neither by this process nor by the next one.
        drop(checkpoints);
        let next = folder.open().save(&snapshot(3)).unwrap();
        assert!(next > newest);
        assert_eq!(latest(&mut folder.open()), Some(3));
    }
}

#[test]
fn two_damaged_checkpoints_are_kept_and_restore_nothing() {
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

// If the checkpoint were renamed without a message, no user would notice the damage.
#[test]
fn damaged_checkpoint_stays_where_it_is_until_it_is_named() {
    let folder = Folder::new("untold");
    let mut checkpoints = folder.open();
    checkpoints.save(&snapshot(1)).unwrap();
    let newest = checkpoints.save(&snapshot(2)).unwrap();
    fs::write(&newest, b"SRLG").unwrap();
    let other_seed = Config { seed: 1, ..small() }.validate().unwrap();
    assert!(matches!(checkpoints.latest(&other_seed), Err(Error::OtherSeed { .. })));
    let found = checkpoints.latest(&small().validate().unwrap()).unwrap();
    assert_eq!(found.damaged[0].path, newest.with_extension("damaged"));
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

// The file is a link to the memory of the process, whose first page is never mapped, so reading fails.
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
