//! Which version measures a contact, and which slices it moves.

use std::path::Path;

use srlg_input::Contact;

use super::*;
use crate::probe::measure::tests::network;
use crate::probe::spool::{Spool, SpoolLock};

const SECOND: u64 = 1_000_000_000;

fn version(number: u32, first_slice: u64, slice_ms: u64) -> NetworkVersion {
    let network = crate::network::Network { slice_ms, ..network(1 << 20) };
    NetworkVersion { id: VersionId { number, tag: 7 }, first_slice, network }
}

struct Fixture {
    site: Site,
    outbox: Arc<Outbox>,
    versions: watch::Sender<NetworkVersion>,
}

fn fixture(folder: &Path, first: NetworkVersion) -> Fixture {
    let (spool, _) = Spool::open(SpoolLock::take(folder).unwrap(), first.id).unwrap();
    let outbox = Arc::new(Outbox::new(spool, 10_000, true));
    let options = SiteOptions { is_live: true, pace: None, device: Device::Cpu };
    let (versions, receiver) = watch::channel(first);
    let site = Site::new(options, receiver, Arc::clone(&outbox)).unwrap();
    Fixture { site, outbox, versions }
}

fn contact(time_ns: u64) -> Contact {
    Contact::new(time_ns, [192, 0, 2, 1].into(), [10, 0, 0, 1].into())
}

#[test]
fn a_contact_from_the_future_moves_no_slice_between_two_versions() {
    let folder = tempfile::tempdir().unwrap();
    let now = system_time() / SECOND;
    let Fixture { mut site, outbox, versions } = fixture(folder.path(), version(1, 0, 1000));
    site.pass(now * SECOND).unwrap();
    versions.send_replace(version(2, now + 3, 1000));
    site.pass((now + 1) * SECOND).unwrap();
    site.take(&contact((now + 1_000_000_000) * SECOND)).unwrap();
    assert_eq!((outbox.version().number, outbox.from(0, 9)), (1, vec![now]));
    site.take(&contact((now + 1) * SECOND)).unwrap();
    site.pass((now + 4) * SECOND).unwrap();
    assert_eq!((outbox.version().number, outbox.from(0, 9)), (2, vec![now + 3]));
}

#[test]
fn a_version_of_shorter_slices_starts_after_the_last_longer_one() {
    let folder = tempfile::tempdir().unwrap();
    // Slices of two seconds: the running one starts within the second before `now`.
    let now = system_time() / SECOND / 2 * 2;
    let Fixture { mut site, outbox, versions } = fixture(folder.path(), version(1, 0, 2000));
    site.pass(now * SECOND).unwrap();
    // Its first slice starts in the middle of slice `now / 2 + 1`, which ends first.
    versions.send_replace(version(2, now + 3, 1000));
    site.pass((now + 1) * SECOND).unwrap();
    site.pass((now + 3) * SECOND).unwrap();
    assert_eq!((outbox.version().number, outbox.from(0, 9)), (1, vec![now / 2]));
    site.pass((now + 4) * SECOND).unwrap();
    site.pass((now + 5) * SECOND).unwrap();
    assert_eq!((outbox.version().number, outbox.from(0, 9)), (2, vec![now + 3, now + 4]));
}

#[test]
fn a_version_is_not_measured_before_its_first_slice() {
    let folder = tempfile::tempdir().unwrap();
    let now = system_time() / SECOND;
    let Fixture { mut site, outbox, .. } = fixture(folder.path(), version(2, now + 100, 1000));
    for second in [98, 99, 100, 101] {
        site.take(&contact((now + second) * SECOND)).unwrap();
        site.pass((now + second) * SECOND).unwrap();
    }
    assert_eq!(outbox.from(0, 9), [now + 100]);
}
