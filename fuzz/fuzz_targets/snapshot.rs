//! A fuzz target that reads arbitrary bytes as a snapshot and restores it. The target then merges the
//! snapshot, ingests pairs, queries the detector, closes a slice, and serialises the snapshot again.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use srlg_fuzz::state::{bytes_of, detector};
use srlg_host::state::Snapshot;
use srlg_host::{Error, IpPair, Ipv4Pair, SlidingDetector};

thread_local! {
    static DETECTORS: RefCell<[SlidingDetector; 2]> = RefCell::new([true, false].map(detector));
}

fuzz_target!(|input: &[u8]| {
    DETECTORS.with_borrow_mut(|detectors| detectors.iter_mut().for_each(|one| take(one, input)));
});

fn take(detector: &mut SlidingDetector, input: &[u8]) {
    let envelope = detector.snapshot().expect("the CPU copies").to_bytes();
    let bytes = bytes_of(input, &envelope.expect("room for a few bytes"), 140);
    let Ok(snapshot) = Snapshot::from_bytes(&bytes, detector.params()) else { return };
    detector.restore(&snapshot).expect("of the same sizes");
    assert!(
        detector.snapshot().expect("the CPU copies").with_attachment(snapshot.attachment().into())
            == snapshot
    );
    detector.merge_snapshot(&snapshot).expect("of the same slice");
    // Whatever the cells and lines contain, pairs of both families can be ingested, and hosts of both families can be
    // estimated.
    let (v4, v6) = ([10, 0, 0, 1].into(), [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into());
    detector.ingest(&[Ipv4Pair { inside: 0x0a00_0001, peer: 7 }]).expect("the CPU touches");
    match detector.ingest(&[IpPair::new(v6, v4), IpPair::new(v4, v6)]) {
        Ok(()) | Err(Error::Ipv6InPaper) => {}
        Err(error) => panic!("{error}"),
    }
    for host in [v4, v6] {
        let results = [detector.cardinality(host).err(), detector.sample_peers(host).err()];
        for error in results.into_iter().flatten() {
            assert!(matches!(error, Error::Ipv6InPaper), "{error}");
        }
    }
    match detector.close_slice() {
        Ok(_) | Err(Error::LastSlice { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    let written = snapshot.to_bytes().expect("room for a few bytes");
    assert!(Snapshot::from_bytes(&written, detector.params()).expect("as written") == snapshot);
    // If the slice number is close to its maximum, the detector cannot go on, so it is replaced.
    let untouched = srlg_fuzz::state::detector(true);
    *detector = if detector.params() == untouched.params() {
        untouched
    } else {
        srlg_fuzz::state::detector(false)
    };
}
