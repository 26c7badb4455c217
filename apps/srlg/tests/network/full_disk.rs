//! A collector whose disk is full says so, ends, and goes on exactly once there is room.

use std::fs;
use std::os::unix::fs::symlink;

use crate::collecting::Collector;
use crate::disk::SmallDisk;
use crate::messages::{publish, whole};
use crate::net::{Net, run};
use crate::network_traffic::OneNode;

const SLICES: std::ops::Range<u64> = 3000..3040;

/// The slice that runs when the disk gets full; a checkpoint has just been taken.
const FULL: u64 = SLICES.start + 20;

/// The collector's `path` is that of `target` on a disk that gets full: it ends, and says why in a line, which the
/// snapshot `name` has.
fn a_full_disk_ends_it_and_room_lets_it_go_on(name: &str, path: &str, target: &str) {
    let (Some(net), Some(disk)) = (Net::start(), SmallDisk::new("4m")) else { return };
    fs::create_dir(net.folder().join("state")).unwrap();
    symlink(disk.folder().join(target), net.folder().join(path)).unwrap();
    run(net.stream());
    let messages = whole(SLICES);
    let (before, after) = messages.split_at(messages.len() / 2);
    let every = ["--checkpoint-every", "5"];
    let mut collector = Collector::start(&net, &every);
    run(publish(&net, before));
    collector.status(|status| status["checkpoint"] == FULL);
    disk.fill();
    run(publish(&net, after));
    let (code, said) = collector.end();
    assert_eq!(code, Some(2), "{said}");
    let mut told = said.lines().filter(|line| line.contains("No space left on device"));
    let line = told.next().unwrap_or_default();
    let line = line.replace(net.folder().to_str().unwrap(), "FOLDER");
    let line = line.replace(disk.folder().to_str().unwrap(), "DISK");
    insta::assert_snapshot!(name, line.replace(|it: char| it.is_ascii_digit(), "#"));
    assert_eq!(told.next(), None, "{said}");

    disk.free();
    let mut collector = Collector::start(&net, &every);
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&net, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn a_full_disk_of_checkpoints_ends_a_collector_which_goes_on_exactly_once_there_is_room() {
    a_full_disk_ends_it_and_room_lets_it_go_on("full_disk_of_checkpoints", "state/network", "");
}

#[test]
fn a_full_disk_of_reports_ends_a_collector_which_goes_on_exactly_once_there_is_room() {
    let reports = "reports.ndjson";
    a_full_disk_ends_it_and_room_lets_it_go_on("full_disk_of_reports", reports, reports);
}
