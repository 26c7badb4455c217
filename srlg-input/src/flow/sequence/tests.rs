use super::{Count, Datagram, Losses, RETURNS, Run, SECOND, SETTLED_NS, Sequence};

/// Returns a datagram that arrives at `received_ns`.
fn datagram(number: u32, count: Option<Count>, received_ns: u64) -> Datagram {
    Datagram { number, count, uptime_ms: None, received_ns, sent_ns: 0 }
}

fn losses(count: u32, numbers: &[u32]) -> Losses {
    let mut sequence = Sequence::default();
    for number in numbers {
        assert!(!sequence.add(datagram(*number, Count::of(count), 0)), "one exporter");
    }
    sequence.losses
}

/// A simulated exporter, whose datagrams have [`UNITS`] units.
struct Exporter {
    number: u32,
}

const UNITS: u32 = 30;

impl Exporter {
    fn send(&mut self, at_ns: u64) -> Datagram {
        let number = self.number;
        self.number = number.wrapping_add(UNITS);
        datagram(number, Count::of(UNITS), at_ns)
    }
}

/// Returns exporters whose sequence numbers are far apart, in all directions.
fn exporters<const N: usize>() -> [Exporter; N] {
    std::array::from_fn(|at| Exporter { number: (at as u32).wrapping_mul(0x9e37_79b9) })
}

/// Returns the numbers from 0 to 2^32 - 1 in an irregular order.
fn irregular() -> impl Iterator<Item = u32> {
    let next = |number: &u32| Some(number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(1), next)
}

fn lost(lost: u64) -> Losses {
    Losses { lost, ..Losses::default() }
}

#[test]
fn gaps_are_counted_in_units_over_the_wrap() {
    assert_eq!(losses(30, &[0, 30, 60]), lost(0));
    assert_eq!(losses(30, &[0, 60, 90]), lost(30));
    assert_eq!(losses(1, &[u32::MAX - 1, u32::MAX, 0, 1]), lost(0));
    assert_eq!(losses(1, &[u32::MAX - 1, 2]), lost(3));
}

#[test]
fn what_comes_late_is_lost_no_longer() {
    assert_eq!(losses(1, &[0, 2, 1, 3]), Losses { lost: 0, reordered: 1, resets: 0 });
    assert_eq!(losses(1, &[0, 5, 1, 2, 6]), Losses { lost: 2, reordered: 2, resets: 0 });
    assert_eq!(losses(1, &[100, 101, 102 - 63]), Losses { lost: 0, reordered: 1, resets: 0 });
}

#[test]
fn datagrams_of_many_units_are_overtaken_by_as_many_datagrams() {
    let numbers = [0, 30, 90, 120, 150, 60, 180, 210];
    assert_eq!(losses(30, &numbers), Losses { lost: 0, reordered: 1, resets: 0 });
    assert_eq!(losses(30, &[3_000, 3_030, 3_060 - 63 * 30]).reordered, 1);
    assert_eq!(losses(30, &[3_000, 3_030, 3_060 - 64 * 30]).resets, 1);
}

#[test]
fn what_comes_twice_makes_up_for_no_loss() {
    assert_eq!(losses(1, &[0, 10, 10, 11]), Losses { lost: 9, reordered: 1, resets: 0 });
    assert_eq!(losses(30, &[0, 90, 90, 120]), Losses { lost: 60, reordered: 1, resets: 0 });
}

#[test]
fn a_number_far_back_is_a_new_beginning() {
    let reset = Losses { lost: 0, reordered: 0, resets: 1 };
    assert_eq!(losses(1, &[100, 101, 102 - 64, 39]), reset);
    assert_eq!(losses(1, &[3_000_000_000, 1, 2]), reset, "though less than half around");
    assert_eq!(losses(1, &[2_000_000_000, 1, 2]), reset);
}

#[test]
fn a_fall_of_uptime_is_a_new_beginning_and_its_wrap_is_not() {
    let after = |datagrams: &[(u32, u32)]| {
        let mut sequence = Sequence::default();
        for (number, uptime_ms) in datagrams {
            let uptime_ms = Some(*uptime_ms);
            sequence.add(Datagram { uptime_ms, ..datagram(*number, Count::of(1), 0) });
        }
        sequence.losses
    };
    assert_eq!(after(&[(5, 900_000), (400, 1_000)]).resets, 1);
    assert_eq!(after(&[(5, 900_000), (400, 1_000)]).lost, 0);
    assert_eq!(after(&[(5, u32::MAX - 5), (8, 3)]), lost(2));
    assert_eq!(after(&[(50, 900_000), (0, 1_000), (1, 2_000)]).resets, 1, "though not far back");
    let overtaken = after(&[(50, 900_000), (52, 901_000), (51, 900_500), (53, 901_500)]);
    assert_eq!(overtaken, Losses { lost: 0, reordered: 1, resets: 0 });
}

#[test]
fn an_unknown_number_of_units_makes_no_claim() {
    let mut sequence = Sequence::default();
    sequence.add(datagram(10, None, 0));
    sequence.add(datagram(500, Count::of(2), 0));
    assert_eq!(sequence.losses, lost(0));
    sequence.add(datagram(503, Count::of(2), 0));
    assert_eq!(sequence.losses, lost(1));
}

#[test]
fn options_may_be_counted_or_not_and_the_datagram_itself_too() {
    let count = |all, flows| Some(Count { all, flows });
    let after = |numbers: [u32; 3]| {
        let mut sequence = Sequence::default();
        let counts = [count(25, 24), count(32, 32), count(20, 19)];
        for (number, count) in numbers.into_iter().zip(counts) {
            sequence.add(datagram(number, count, 0));
        }
        sequence.losses
    };
    assert_eq!(after([0, 25, 57]), lost(0), "counts as RFC 7011 defines them");
    assert_eq!(after([0, 24, 56]), lost(0), "flows alone");
    assert_eq!(after([24, 56, 75]), lost(0), "flows, including the datagram itself");
    assert_eq!(after([0, 26, 58]), lost(1));
}

#[test]
fn a_gap_is_a_loss_if_the_exporter_can_have_sent_so_much_and_otherwise_a_restart() {
    // The exporter sends ten datagrams per second, and nothing arrives for 100 s.
    let after = |gap: u32, received_ns: u64, sent_ns: u64| {
        let (mut sequence, mut exporter) = (Sequence::default(), Exporter { number: 7 });
        for tenth in 0..600 {
            let at_ns = tenth * SECOND / 10;
            sequence.add(Datagram { sent_ns: at_ns, ..exporter.send(at_ns) });
        }
        exporter.number += gap;
        let next = exporter.send(60 * SECOND + received_ns);
        sequence.add(Datagram { sent_ns: 60 * SECOND + sent_ns, ..next });
        sequence.losses
    };
    let (outage_ns, units) = (100 * SECOND, 1_000 * UNITS);
    let reset = Losses { resets: 1, ..Losses::default() };
    assert_eq!(after(units, outage_ns, outage_ns), lost(u64::from(units)));
    // The program was stopped during the outage, or the clock of the exporter does not work.
    assert_eq!(after(units, 0, outage_ns), lost(u64::from(units)));
    assert_eq!(after(units, outage_ns, 0), lost(u64::from(units)));
    assert_eq!(after(units, SECOND, SECOND), reset);
    assert_eq!(after(1_000_000, outage_ns, outage_ns), reset);
}

#[test]
fn exporters_that_alternate_are_recognised_and_their_gaps_are_no_losses() {
    fn shared<const N: usize>(period_ns: u64) -> (Vec<bool>, Losses) {
        let (mut sequence, mut exporters) = (Sequence::default(), exporters::<N>());
        let order = irregular().map(|number| (number >> 16) as usize % N);
        let times = (0..).map(|at| at * period_ns);
        let shared =
            times.zip(order).take(1_000).map(|(at_ns, at)| sequence.add(exporters[at].send(at_ns)));
        (shared.collect(), sequence.losses)
    }
    for period_ns in [SECOND / 1_000, SECOND, 40 * SECOND] {
        for (shared, losses) in
            [shared::<2>(period_ns), shared::<3>(period_ns), shared::<6>(period_ns)]
        {
            let first = shared.iter().position(|is_shared| *is_shared).unwrap();
            assert!(first < 60, "{first}");
            assert_eq!(losses.lost, 0, "{period_ns}");
        }
    }
    assert!(!shared::<1>(SECOND).0.contains(&true));
}

#[test]
fn a_loss_that_was_the_other_exporter_is_taken_back() {
    // The second exporter is 1,000 datagrams ahead, which the first one may have sent in the meantime.
    let (mut sequence, ahead) = (Sequence::default(), 1_000 * UNITS);
    let mut exporters = [0, ahead].map(|number| Exporter { number });
    for at_ns in 0..1_000 {
        sequence.add(exporters[0].send(at_ns));
    }
    exporters[1].number = exporters[0].number + ahead;
    let lost = [1, 0, 1, 0, 1, 0, 1, 0, 1].map(|at| {
        let is_shared = sequence.add(exporters[at].send(SECOND));
        (is_shared, sequence.losses.lost)
    });
    let charged = u64::from(ahead);
    assert_eq!(lost, [[(false, charged); 8].as_slice(), &[(true, 0)]].concat()[..]);
}

#[test]
fn a_single_exporter_is_assumed_five_minutes_after_the_last_return() {
    let (mut sequence, mut exporters) = (Sequence::default(), exporters::<2>());
    for at in 0..100 {
        sequence.add(exporters[at % 2].send(SECOND));
    }
    assert!(sequence.alternation.is_certain());
    for second in 2..=SETTLED_NS / SECOND {
        assert!(!sequence.add(exporters[1].send(second * SECOND)));
        assert!(sequence.alternation.is_certain(), "{second}");
    }
    exporters[1].number += UNITS;
    sequence.add(exporters[1].send(SETTLED_NS + SECOND));
    assert!(!sequence.alternation.is_certain());
    assert_eq!(sequence.losses.lost, u64::from(UNITS), "losses count again");
    // A few returns are not enough again.
    for at in 0..RETURNS as usize - 1 {
        assert!(!sequence.add(exporters[at % 2].send(SETTLED_NS + 2 * SECOND)));
    }
    assert!(sequence.add(exporters[1].send(SETTLED_NS + 2 * SECOND)));
}

#[test]
fn restarts_reordering_and_duplicates_are_not_several_exporters() {
    let (mut sequence, mut exporter) = (Sequence::default(), Exporter { number: 0 });
    for (second, random) in (0..2_000).zip(irregular()) {
        // Within a block of 32 datagrams, the order is arbitrary, and some datagrams arrive twice.
        let mut block: Vec<Datagram> = (0..32).map(|_| exporter.send(second * SECOND)).collect();
        block.extend_from_within(..(random >> 29) as usize);
        block.sort_by_key(|it| it.number.wrapping_mul(random | 1).reverse_bits());
        for datagram in block {
            assert!(!sequence.add(datagram), "{second}");
        }
        if second % 400 == 399 {
            // The last datagram of the former run arrives after the first one of the new run.
            let late = exporter.send(second * SECOND);
            exporter.number = random;
            assert!(!sequence.add(exporter.send(second * SECOND)));
            assert!(!sequence.add(late));
        }
    }
}

#[test]
fn a_forged_datagram_changes_no_losses_of_the_exporter() {
    let (mut sequence, mut exporter) = (Sequence::default(), Exporter { number: 0 });
    for second in 0..100 {
        sequence.add(exporter.send(second * SECOND));
    }
    sequence.add(datagram(1_000_000_000, Count::of(UNITS), 100 * SECOND));
    exporter.number += UNITS;
    sequence.add(exporter.send(100 * SECOND));
    assert_eq!(sequence.losses, Losses { lost: UNITS.into(), reordered: 0, resets: 1 });
    assert_eq!(sequence.runs[0].map(|Run { number, .. }| number + UNITS), Some(exporter.number));
}
