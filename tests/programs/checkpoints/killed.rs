//! Tests that the last complete checkpoint is found after a process was killed while it saved checkpoints.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use srlg::state::{Checkpoints, Snapshot};

use super::folder::{Folder, newest, snapshot};

/// Returns an attachment that is so large that a process spends most of its time writing.
fn attachment(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(1 << 19)
}

fn number(snapshot: &Snapshot) -> u64 {
    u64::from_le_bytes(*snapshot.attachment().first_chunk().unwrap())
}

#[test]
#[ignore = "the process that `killed_at_any_moment_the_last_complete_one_is_there` starts and kills"]
fn saves_until_killed() {
    let Some(folder) = std::env::var_os("SRLG_CHECKPOINTS") else { return };
    let mut checkpoints = Checkpoints::open(folder).unwrap();
    let first = newest(&mut checkpoints).map_or(0, |newest| number(&newest) + 1);
    let mut snapshot = snapshot(5);
    for number in first.. {
        snapshot = snapshot.with_attachment(attachment(number));
        checkpoints.save(&snapshot).unwrap();
        writeln!(std::io::stderr(), "saved {number}").unwrap();
    }
}

/// Starts a process that saves checkpoints, and kills it when `after` has passed since its first checkpoint. Returns
/// the last number that the process printed.
fn save_and_kill(folder: &Path, after: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "checkpoints::killed::saves_until_killed", "--ignored", "--nocapture"])
        .env("SRLG_CHECKPOINTS", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let saved = |line: String| line.strip_prefix("saved ").and_then(|number| number.parse().ok());
    let mut last = lines.by_ref().find_map(saved).expect("a checkpoint");
    std::thread::sleep(after);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    for number in lines.filter_map(saved) {
        last = number;
    }
    last
}

#[test]
fn killed_at_any_moment_the_last_complete_one_is_there() {
    let folder = Folder::new("killed");
    let (mut rounds, mut torn) = (0, 0);
    // More than 60 rounds are needed only if no process was killed while it wrote.
    while rounds < 60 || (torn == 0 && rounds < 600) {
        let said = save_and_kill(&folder.0, Duration::from_micros(rounds * 211 % 4001));
        torn += folder.names().iter().filter(|name| name.ends_with(".tmp")).count();
        let mut checkpoints = folder.open();
        assert!(folder.names().iter().all(|name| name.ends_with(".srlg")), "leftovers go");
        let found = newest(&mut checkpoints).unwrap();
        // The process may have been killed after it saved a checkpoint and before it printed the number.
        let saved = number(&found);
        assert!((said..=said + 1).contains(&saved), "{said} was saved, {saved} is there");
        assert!(found == snapshot(5).with_attachment(attachment(saved)));
        rounds += 1;
    }
    eprintln!("of {rounds} processes {torn} were killed while they wrote");
    assert!(torn > 0, "no process was killed while it wrote");
}
