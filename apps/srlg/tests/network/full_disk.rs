//! A collector logs that its disk is full and exits. After a restart with free space, it produces the same results as a
//! collector that never stopped.

use std::fs;
use std::os::unix::fs::symlink;

use crate::collecting::Collector;
use crate::disk::SmallDisk;
use crate::messages::publish;
use crate::net::{Net, run};
use crate::network_messages::whole;
use crate::network_traffic::OneNode;

const SLICES: std::ops::Range<u64> = 3000..3040;

/// The slice that is running when the disk is filled, just after a checkpoint.
const FULL: u64 = SLICES.start + 20;

/// Runs a collector whose `path` is a link to `target` on a disk that fills up. The collector must exit and log the
/// line in the snapshot `name`. When it is started again with free space, its results must be exact.
fn a_collector_exits_and_continues_with_room(name: &str, path: &str, target: &str) {
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
    let mut lines = said.lines().filter(|line| line.contains("No space left on device"));
    let line = lines.next().unwrap_or_default();
    let line = line.replace(net.folder().to_str().unwrap(), "FOLDER");
    let line = line.replace(disk.folder().to_str().unwrap(), "DISK");
    insta::assert_snapshot!(name, line.replace(|it: char| it.is_ascii_digit(), "#"));
    assert_eq!(lines.next(), None, "{said}");

    disk.free();
    let mut collector = Collector::start(&net, &every);
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn a_collector_exits_when_the_disk_of_checkpoints_is_full_and_continues_exactly_with_room() {
    a_collector_exits_and_continues_with_room("full_disk_of_checkpoints", "state/network", "");
}

#[test]
fn a_collector_exits_when_the_disk_of_reports_is_full_and_continues_exactly_with_room() {
    let reports = "reports.ndjson";
    a_collector_exits_and_continues_with_room("full_disk_of_reports", reports, reports);
}
