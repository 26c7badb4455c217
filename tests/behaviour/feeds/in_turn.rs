//! A test that runs random schedules of feeds and closes, and compares the detector with one that ingests one call at a
//! time.

use proptest::prelude::*;
use srlg::config::Scheme;
use srlg::ingest::{Arrival, Feed, Taken};
use srlg::{Error, Ipv4Pair, SlidingDetector};

use super::{configs, detector, long, pairs};

#[derive(Clone, Debug)]
struct Call {
    feed: usize,
    /// Delay in slices, relative to the running slice. During a close, it is relative to the slice that runs after the
    /// close. A negative delay means a future slice.
    late: i64,
    host: u32,
    peers: u32,
    is_long: bool,
    waits: bool,
}

/// Calls before a close, the number of slices that the close advances, and calls during the close.
type Round = (Vec<Call>, u64, Vec<Call>);

/// Capacities of the feeds, in pairs.
const ROOM: [usize; 3] = [0, 60, 20_000];

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = (0..ROOM.len(), -2..11_i64, 1..4_u32, 0..90_u32, any::<bool>(), any::<bool>());
    let call = call.prop_map(|(feed, late, host, peers, is_long, waits)| Call {
        feed,
        late,
        host,
        peers,
        is_long,
        waits,
    });
    prop::collection::vec(call, 0..6)
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    prop::collection::vec((calls(), 1..4_u64, calls()), 1..8)
}

impl Call {
    /// Passes the pairs to `feed`. `running` is the running slice or, during a close, the slice that runs after the
    /// close. Returns the accepted pairs and their delay in slices, so that the reference can ingest them.
    fn give(
        &self,
        feed: &mut Feed,
        running: u64,
        window: u32,
        is_closing: bool,
    ) -> (Vec<Ipv4Pair>, u32) {
        let slice = running.checked_add_signed(-self.late).unwrap();
        let mut pairs = pairs(self.host, self.peers);
        let mut give = |waits| match (self.is_long, waits) {
            (false, true) => {
                feed.ingest_at(slice, &pairs).map(|arrival| (arrival, Taken(pairs.len())))
            }
            (true, true) => {
                feed.ingest_at(slice, &long(&pairs)).map(|arrival| (arrival, Taken(pairs.len())))
            }
            (false, false) => feed.try_ingest_at(slice, &pairs),
            (true, false) => feed.try_ingest_at(slice, &long(&pairs)),
        };
        let (arrival, Taken(taken)) = give(self.waits && !is_closing).unwrap();
        let expected = match self.late {
            ..0 => Arrival::Future,
            0 => Arrival::Running,
            late if late < i64::from(window) => Arrival::Late { slices: late as u32 },
            _ => Arrival::TooLate,
        };
        assert_eq!(arrival, expected);
        assert!(is_closing || !arrival.is_ingested() || taken == pairs.len());
        pairs.truncate(if arrival.is_ingested() { taken } else { 0 });
        (pairs, self.late.max(0) as u32)
    }

    fn ingest(&self, one: &SlidingDetector, pairs: &[Ipv4Pair], late: u32) {
        match self.is_long {
            true => one.ingest_late(&long(pairs), late),
            false => one.ingest_late(pairs, late),
        }
        .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn feeds_and_closes_in_any_order_are_one_detector_fed_in_turn(
        rounds in rounds(),
        config in prop::sample::select(configs().to_vec()),
        asks in 0..3_usize,
        drops in 0..8_usize,
    ) {
        let (window, takes_v6) = (config.window, matches!(config.scheme, Scheme::Tagged { .. }));
        let rounds = rounds.into_iter().map(|(mut before, steps, mut meanwhile)| {
            before.iter_mut().chain(&mut meanwhile).for_each(|call| call.is_long &= takes_v6);
            (before, steps, meanwhile)
        });
        let (mut fed, mut one) = (detector(config, 1001), detector(config, 1001));
        let mut feeds = ROOM.map(|room| fed.feed(room).unwrap());
        for (round, (before, steps, meanwhile)) in rounds.enumerate() {
            for call in &before {
                let (pairs, late) = call.give(&mut feeds[call.feed], one.slice(), window, false);
                call.ingest(&one, &pairs, late);
            }
            let (slice, mut reports, mut given) = (one.slice() + steps, Vec::new(), Vec::new());
            one.advance_to(slice, |report| { reports.push(report); Ok::<_, Error>(()) }).unwrap();
            let mut expected = reports.into_iter();
            fed.advance_to(slice, |report| {
                assert_eq!(Some(report), expected.next());
                if given.is_empty() {
                    given = meanwhile.iter().map(|call| call.give(&mut feeds[call.feed], slice, window, true)).collect();
                }
                Ok::<_, Error>(())
            }).unwrap();
            meanwhile.iter().zip(&given).for_each(|(call, (pairs, late))| call.ingest(&one, pairs, *late));
            if drops == round {
                feeds[asks] = fed.feed(ROOM[asks]).unwrap();
            }
            if asks == round % 3 {
                prop_assert!(fed.snapshot().unwrap() == one.snapshot().unwrap());
            }
        }
        prop_assert_eq!(fed.close_slice().unwrap(), one.close_slice().unwrap());
        prop_assert!(fed.snapshot().unwrap() == one.snapshot().unwrap());
    }
}
