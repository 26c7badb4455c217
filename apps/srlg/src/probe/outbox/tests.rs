//! Tests of calls that wait for room, and of dropped slices.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use super::*;
use crate::probe::sending::tests::network;
use crate::probe::spool::SpoolLock;

const FIRST: VersionId = VersionId { number: 1, tag: 7 };
const SECOND: VersionId = VersionId { number: 2, tag: 7 };

fn version(id: VersionId) -> NetworkVersion {
    NetworkVersion { id, first_slice: 0, network: network(1 << 20) }
}

fn outbox(keep: usize, live: bool) -> (tempfile::TempDir, Arc<Outbox>) {
    let folder = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(SpoolLock::acquire(folder.path()).unwrap(), FIRST).unwrap();
    (folder, Arc::new(Outbox::new(spool, &version(FIRST), Some(keep), live)))
}

fn put(outbox: &Outbox, slices: std::ops::RangeInclusive<u64>) {
    slices.for_each(|slice| outbox.put(slice, &[vec![slice as u8]], Sampling::default()).unwrap());
}

#[test]
fn counting_waits_until_the_broker_has_the_oldest_slice() {
    let (_folder, outbox) = outbox(2, false);
    put(&outbox, 1..=2);
    let (sender, receiver) = mpsc::channel();
    let other = Arc::clone(&outbox);
    let thread = thread::spawn(move || {
        put(&other, 3..=3);
        sender.send(()).unwrap();
    });
    // Slice 3 is in the spool, but the call that put it has not returned yet.
    while outbox.len() < 3 {
        thread::yield_now();
    }
    assert!(receiver.try_recv().is_err());
    outbox.ack(FIRST, 1);
    receiver.recv().unwrap();
    thread.join().unwrap();
    assert_eq!(outbox.from(0, 9), [2, 3]);
}

#[test]
fn a_live_input_gives_up_the_oldest_slice_and_counts_it() {
    let (_folder, outbox) = outbox(2, true);
    put(&outbox, 1..=3);
    outbox.ack(FIRST, 2);
    put(&outbox, 4..=4);
    assert_eq!(outbox.from(0, 9), [3, 4]);
    assert_eq!(outbox.state().lost, 1, "slice 2 was removed too, but the broker had it");
}

#[test]
fn what_is_on_the_collectors_disk_leaves_the_spool_but_for_the_newest_slice() {
    let (_folder, outbox) = outbox(9, false);
    put(&outbox, 1..=4);
    outbox.durable(FIRST, 2);
    assert_eq!(outbox.from(0, 9), [1, 2, 3, 4], "the collector cannot have what nobody sent");
    outbox.ack(FIRST, 3);
    assert_eq!(outbox.from(0, 9), [3, 4]);
    outbox.durable(FIRST, 8);
    assert_eq!(outbox.from(0, 9), [4]);
}

#[test]
fn what_cannot_be_read_now_is_an_error_and_not_a_slice_without_parts() {
    let (folder, outbox) = outbox(9, false);
    put(&outbox, 1..=1);
    let (file, aside) =
        (folder.path().join("1-00000007/00000000000000000001.slice"), folder.path().join("x"));
    std::fs::rename(&file, &aside).unwrap();
    assert!(outbox.read(1).is_err());
    std::fs::rename(&aside, &file).unwrap();
    assert_eq!(outbox.read(1).unwrap().parts, [vec![1]]);
}

#[test]
fn it_is_done_when_measuring_has_ended_and_all_is_sent_or_durable() {
    let (_folder, outbox) = outbox(9, false);
    assert!(!outbox.is_done(0, false));
    put(&outbox, 1..=3);
    outbox.end();
    let done = |durably| [3, 4].map(|next| outbox.is_done(next, durably));
    assert_eq!((done(false), done(true)), ([false, true], [false, false]));
    outbox.durable(FIRST, 2);
    assert_eq!(done(true), [false, false]);
    outbox.durable(FIRST, 3);
    assert_eq!(done(true), [false, true]);
}

#[test]
fn an_empty_measurement_needs_no_wait() {
    let (_folder, outbox) = outbox(9, false);
    outbox.end();
    assert!(outbox.is_done(0, true));
}

#[test]
fn who_waits_for_room_or_for_the_disk_ends_with_the_probe() {
    let (folder, outbox) = outbox(2, false);
    put(&outbox, 1..=2);
    std::fs::create_dir(folder.path().join("1-00000007/00000000000000000007.tmp")).unwrap();
    for slice in [3, 7] {
        let other = Arc::clone(&outbox);
        let waiting = thread::spawn(move || other.put(slice, &[vec![0]], Sampling::default()));
        outbox.stop();
        assert!(waiting.join().unwrap().is_err(), "slice {slice}");
    }
}

#[test]
fn an_acknowledgement_does_not_count_for_the_next_version() {
    let (_folder, outbox) = outbox(9, false);
    put(&outbox, 1..=2);
    assert_eq!((outbox.mark(FIRST), outbox.mark(SECOND)), (Some(2), None));
    outbox.begin(&version(SECOND)).unwrap();
    put(&outbox, 1..=1);
    outbox.ack(FIRST, 2);
    outbox.durable(FIRST, 2);
    assert_eq!(outbox.acked_len(), 0);
    outbox.ack(outbox.version(), 1);
    assert_eq!((outbox.from(0, 9), outbox.acked_len()), (vec![1], 1));
}

#[test]
fn a_version_waits_until_its_folder_can_be_made() {
    let (folder, outbox) = outbox(9, false);
    put(&outbox, 1..=2);
    let obstacle = folder.path().join(SECOND.to_string());
    std::fs::write(&obstacle, b"in the way").unwrap();
    let other = Arc::clone(&outbox);
    let waiting = thread::spawn(move || other.begin(&version(SECOND)));
    while outbox.len() > 0 {
        thread::yield_now();
    }
    std::fs::remove_file(obstacle).unwrap();
    waiting.join().unwrap().unwrap();
    put(&outbox, 7..=7);
    assert_eq!((outbox.version(), outbox.mark(SECOND)), (SECOND, Some(7)));
}
