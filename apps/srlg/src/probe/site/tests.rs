//! Tests that each contact is counted with the correct network version, and that the correct slices are sent.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use srlg_input::Contact;

use super::*;
use crate::network::VersionId;
use crate::probe::sending::tests::network;
use crate::probe::spool::{Spool, SpoolLock};

const SECOND: u64 = 1_000_000_000;

fn version(number: u32, first_slice: u64, slice_ms: u64) -> NetworkVersion {
    let network = crate::network::Network { slice_ms, ..network(1 << 20) };
    NetworkVersion { id: VersionId { number, tag: 7 }, first_slice, network }
}

struct Fixture {
    site: ProbeSite,
    outbox: Arc<Outbox>,
    versions: watch::Sender<NetworkVersion>,
}

fn fixture(folder: &Path, first: NetworkVersion) -> Fixture {
    let (spool, _) = Spool::open(SpoolLock::acquire(folder).unwrap(), first.id).unwrap();
    let outbox = Arc::new(Outbox::new(spool, &first, None, true));
    let options = SiteOptions {
        is_live: true,
        pace: None,
        device: Device::Cpu,
        exporters: vec!["192.0.2.1/32".parse().unwrap()],
        silent_after: None,
    };
    let (versions, receiver) = watch::channel(first);
    let site =
        ProbeSite::new(options, receiver, &ExporterNames::default(), Arc::clone(&outbox)).unwrap();
    Fixture { site, outbox, versions }
}

fn contact(time_ns: u64) -> Contact {
    Contact::new(time_ns, [192, 0, 2, 1].into(), [10, 0, 0, 1].into())
}

#[test]
fn a_version_starts_at_its_first_slice_despite_earlier_contacts() {
    let folder = tempfile::tempdir().unwrap();
    let now = now_ms() / 1000;
    let Fixture { mut site, outbox, versions } = fixture(folder.path(), version(1, 0, 10_000));
    site.advance((now - 20) * SECOND).unwrap();
    site.advance(now * SECOND).unwrap();
    assert_eq!((outbox.version().number, outbox.len()), (1, 2));
    versions.send_replace(version(2, now + 3, 1000));
    site.advance((now + 1) * SECOND).unwrap();
    assert_eq!((outbox.version().number, outbox.len()), (2, 0));
    // One contact is from the far future, one is before the first slice, and one is within the day by which clocks may
    // differ.
    for second in [1_000_000_000, 2, 5] {
        site.ingest(&[contact((now + second) * SECOND)]).unwrap();
    }
    site.advance((now + 2) * SECOND).unwrap();
    assert_eq!(outbox.from(0, 9), [now + 3, now + 4]);
    site.ingest(&[contact((now + 4) * SECOND)]).unwrap();
    site.advance((now + 6) * SECOND).unwrap();
    assert_eq!(outbox.from(0, 9), [now + 3, now + 4, now + 5]);
}

#[test]
fn a_version_whose_first_slice_has_passed_starts_with_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    // The site takes the later one of this time and the system clock, which may go on while detectors are created.
    let now = now_ms() / 1000 + 10;
    let Fixture { mut site, outbox, versions } = fixture(folder.path(), version(1, 0, 1000));
    versions.send_replace(version(2, now - 100, 1000));
    site.advance(now * SECOND).unwrap();
    site.advance((now + 3) * SECOND).unwrap();
    assert_eq!(outbox.from(0, 9), [now + 1, now + 2]);
}

#[test]
fn measuring_starts_at_the_first_slice_of_the_first_version() {
    let folder = tempfile::tempdir().unwrap();
    let now = now_ms() / 1000;
    let Fixture { mut site, outbox, .. } = fixture(folder.path(), version(2, now + 100, 1000));
    for second in [98, 99, 100, 101] {
        site.ingest(&[contact((now + second) * SECOND)]).unwrap();
        site.advance((now + second) * SECOND).unwrap();
    }
    assert_eq!(outbox.from(0, 9), [now + 100]);
}

#[test]
fn the_spool_keeps_the_window_of_the_version_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let now = now_ms() / 1000;
    let mut wide = version(2, now, 1000);
    wide.network.views[0].sizes.window = 30;
    let Fixture { mut site, outbox, versions } = fixture(folder.path(), version(1, 0, 1000));
    versions.send_replace(wide);
    site.advance(now * SECOND).unwrap();
    site.advance((now + 50) * SECOND).unwrap();
    assert_eq!(outbox.len(), 30);
}

#[test]
fn slices_that_the_clock_has_skipped_are_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let now = now_ms() / 1000;
    let Fixture { mut site, outbox, .. } = fixture(folder.path(), version(1, 0, 1000));
    for second in [now, now + 2] {
        site.advance(second * SECOND).unwrap();
    }
    // The slice that is running when the clock is set is incomplete, and so is the slice at the new time.
    let later = now + 3_600;
    let step = Duration::from_secs(3_598);
    site.set_forward(step, later * SECOND + SECOND / 2).unwrap();
    site.advance(later * SECOND + SECOND / 2).unwrap();
    site.ingest(&[contact(later * SECOND + SECOND / 2)]).unwrap();
    site.ingest(&[contact((later + 1) * SECOND)]).unwrap();
    site.advance((later + 3) * SECOND).unwrap();
    assert_eq!(outbox.from(0, 9), [now, now + 1, later + 1, later + 2]);
}

#[test]
fn threads_read_on_while_versions_change() {
    let folder = tempfile::tempdir().unwrap();
    let now = now_ms() / 1000;
    let Fixture { mut site, outbox, versions } = fixture(folder.path(), version(1, 0, 1000));
    let (second, has_ended) = (AtomicU64::new(now), AtomicBool::new(false));
    let mut sink = site.pipeline().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Relaxed) {
                let contact = contact(second.load(Relaxed) * SECOND);
                sink.accept(&[contact; 300]).unwrap();
            }
        });
        for step in 0..60 {
            second.store(now + step, Relaxed);
            let slice_ms = if step % 2 == 0 { 1000 } else { 500 };
            versions.send_replace(version(2 + step as u32, 0, slice_ms));
            (0..3).for_each(|_| site.advance((now + step) * SECOND).unwrap());
        }
        has_ended.store(true, Relaxed);
    });
    // The last version has slices of half a second, and it starts with its next slice.
    let first = (now + 59) * 2 + 1;
    sink.accept(&[contact((now + 59) * SECOND), contact((now + 60) * SECOND)]).unwrap();
    site.advance((now + 61) * SECOND).unwrap();
    assert_eq!(outbox.from(0, 9), [first, first + 1, first + 2]);
    assert_eq!(site.finish().unwrap().pairs, 1, "of the contact of a slice of this version");
}

#[test]
fn an_exporter_is_not_silent_because_the_clock_has_skipped_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let started_ms = now_ms();
    let Fixture { mut site, .. } = fixture(folder.path(), version(1, 0, 1000));
    let started_ms = started_ms..=now_ms();
    let later = started_ms.end() / 1000 + 3_600;
    site.advance((later - 3_600) * SECOND).unwrap();
    site.set_forward(Duration::from_secs(3_600), later * SECOND).unwrap();
    let mut silent_since = |second: u64| {
        site.observe_input(&Status::default(), (later + second) * SECOND);
        site.site.exporters.silent_since([192, 0, 2, 1].into())
    };
    assert_eq!(silent_since(1), None);
    let since_ms = silent_since(20).unwrap();
    assert!(started_ms.contains(&(since_ms - 3_600_000)), "{since_ms} {started_ms:?}");
}
