//! Tests of the calls that a sink receives for pairs in any order.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Default)]
struct SinkLog {
    running: Option<u64>,
    /// The slice and the peer of each ingested pair.
    ingested: Vec<(u64, u32)>,
    /// Closed slices, and the peers that each slice contained when it closed.
    ended: Vec<(u64, Vec<u32>)>,
    batches: usize,
}

impl SliceSink for SinkLog {
    type Error = Infallible;

    fn start(&mut self, slice: u64) -> Result<(), Infallible> {
        assert_eq!(self.running.replace(slice), None);
        Ok(())
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), Infallible> {
        assert!(!pairs.is_empty());
        self.batches += 1;
        let slice = self.running.unwrap() - u64::from(slices_late);
        self.ingested.extend(pairs.v4().unwrap().iter().map(|pair| (slice, pair.peer)));
        Ok(())
    }

    fn advance_to(&mut self, slice: u64) -> Result<(), Infallible> {
        let running = self.running.replace(slice).unwrap();
        assert!(slice > running);
        let of = self.ingested.iter().filter(|(of, _)| *of == running);
        self.ended.push((running, of.map(|(_, peer)| *peer).collect()));
        Ok(())
    }
}

fn slicer(late: u32, grace: u64) -> Slicer {
    let clock = SliceClock::new(Duration::from_secs(1), late, Duration::from_secs(100)).unwrap();
    Slicer::new(clock.with_grace(Duration::from_secs(grace)))
}

fn pair(peer: u32) -> [(IpAddr, IpAddr); 1] {
    [(IpAddr::from([10, 0, 0, 1]), Ipv4Addr::from_bits(peer).into())]
}

fn take(slicer: &mut Slicer, heard: &mut SinkLog, time: u64, peer: u32) -> Placement {
    slicer.place(time * SECOND, pair(peer), heard).unwrap()
}

#[test]
fn late_pairs_go_to_their_own_slice_in_one_batch_for_each() {
    let (mut slicer, mut heard) = (slicer(5, 0), SinkLog::default());
    for (time, peer) in [(100, 1), (99, 2), (98, 3), (99, 4), (100, 5)] {
        take(&mut slicer, &mut heard, time, peer);
    }
    assert_eq!(heard.batches, 0, "the pairs wait in a batch");
    assert_eq!(take(&mut slicer, &mut heard, 94, 6), Placement::TooLate);
    slicer.flush(&mut heard).unwrap();
    assert_eq!(heard.batches, 3);
    heard.ingested.sort_unstable();
    assert_eq!(heard.ingested, [(98, 3), (99, 2), (99, 4), (100, 1), (100, 5)]);
}

#[test]
fn early_pairs_are_the_first_of_their_slice() {
    let (mut slicer, mut heard) = (slicer(5, 3), SinkLog::default());
    for (time, peer) in [(100, 1), (102, 2), (101, 3), (103, 4), (100, 5)] {
        take(&mut slicer, &mut heard, time, peer);
    }
    slicer.advance(104 * SECOND, &mut heard).unwrap();
    assert_eq!(heard.ended, [(100, vec![1, 5])]);
    assert_eq!(take(&mut slicer, &mut heard, 100, 6), Placement::Late { slices: 1 });
    slicer.finish(&mut heard).unwrap();
    assert_eq!(heard.running, Some(103), "the last slice with pairs remains running");
    assert_eq!(heard.ended, [(100, vec![1, 5]), (101, vec![3]), (102, vec![2])]);
    assert!(heard.ingested.contains(&(100, 6)) && heard.ingested.contains(&(103, 4)));
}

#[test]
fn time_may_start_before_any_pair() {
    let (mut slicer, mut heard) = (slicer(5, 0), SinkLog::default());
    slicer.advance(100 * SECOND, &mut heard).unwrap();
    assert_eq!(heard.running, None);
    slicer.start(100 * SECOND, &mut heard).unwrap();
    slicer.start(107 * SECOND, &mut heard).unwrap();
    assert_eq!(heard.running, Some(100));
    assert_eq!(take(&mut slicer, &mut heard, 98, 1), Placement::Late { slices: 2 });
}

#[test]
fn pairs_are_handed_on_before_there_are_very_many() {
    for (time, batches) in [(100, 2), (99, 2), (101, 1)] {
        let (mut slicer, mut heard) = (slicer(5, 5), SinkLog::default());
        take(&mut slicer, &mut heard, 100, 0);
        slicer.flush(&mut heard).unwrap();
        for peer in 0..Slicer::BATCH as u32 {
            take(&mut slicer, &mut heard, time, peer);
        }
        assert_eq!(heard.batches, batches, "at {time}");
    }
}

proptest! {
    /// Each pair is ingested exactly once, in the slice of its timestamp. When a slice closes, it contains all of its
    /// pairs that were not late.
    #[test]
    fn every_pair_is_in_its_slice_and_in_the_first_report_if_the_grace_allows(
        times in prop::collection::vec(0u64..40, 1..60),
        late in 0u32..10,
        grace in 0u64..6,
        passes in prop::collection::vec(any::<bool>(), 60),
    ) {
        let (mut slicer, mut heard) = (slicer(late, grace), SinkLog::default());
        let (mut expected, mut newest, mut in_time) = (Vec::new(), 0, Vec::new());
        let first = 1_000 + times[0];
        for (peer, (time, passes)) in (0..).zip(times.iter().zip(passes)) {
            let time = 1_000 + time;
            newest = newest.max(time);
            match take(&mut slicer, &mut heard, time, peer) {
                Placement::TooLate => {
                    prop_assert!(time + u64::from(late) < first.max(newest - grace));
                }
                Placement::Future => prop_assert!(false),
                Placement::Late { .. } => expected.push((time, peer)),
                _ => {
                    in_time.push((time, peer));
                    expected.push((time, peer));
                }
            }
            if passes {
                slicer.advance(newest * SECOND, &mut heard).unwrap();
            }
        }
        slicer.finish(&mut heard).unwrap();
        heard.ingested.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(&heard.ingested, &expected);
        for (slice, peers) in &heard.ended {
            for (_, peer) in in_time.iter().filter(|(time, _)| time == slice) {
                prop_assert!(peers.contains(peer), "{peer} at the end of {slice}");
            }
        }
    }
}
