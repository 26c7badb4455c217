//! Tests of the rule with handwritten sequences of messages.

use super::*;

#[test]
fn the_first_slice_is_the_lowest_once_every_probe_has_spoken() {
    let mut collector = Collector::new(3, LIMITS);
    for (probe, slice) in [(0, 101), (0, 102), (1, 100), (1, 101)] {
        collector.take(NOW, arrival(probe, slice, 1));
        assert_eq!(collector.rule.running(), None);
    }
    assert_eq!(collector.rule.replay_after(4), 0);
    collector.take(NOW, arrival(2, 102, 5));
    assert_eq!(collector.rule.running(), Some(100));
    collector.take(NOW, arrival(0, 100, 6));
    collector.take(NOW, arrival(2, 100, 7));
    assert_eq!(collector.slices(), [100]);
}

#[test]
fn the_first_slice_does_not_wait_for_a_silent_probe_for_ever() {
    let mut collector = Collector::new(2, LIMITS);
    collector.take(NOW, arrival(0, 100, 1));
    collector.pass(LIMITS.quiet - SECOND);
    assert_eq!(collector.rule.running(), None);
    collector.pass(LIMITS.quiet);
    assert_eq!(collector.rule.running(), Some(100));
    collector.pass(LIMITS.quiet + LIMITS.deadline);
    let closed = &collector.closed[0];
    assert_eq!(
        (closed.cause, &closed.delivered[..], &closed.missing[..]),
        (Cause::Deadline, &[0][..], &[1][..])
    );
}

#[test]
fn one_fast_clock_does_not_affect_other_exporters() {
    for ahead in [1, 15, 1000, 1 << 40] {
        let mut collector = Collector::new(3, LIMITS);
        for slice in 0..60 {
            let now = SECOND * slice as u32;
            collector.take(now, arrival(2, slice + ahead, 1));
            assert!(collector.rule.running().is_none_or(|running| running <= slice));
            collector.take(now, arrival(0, slice, 1));
            collector.take(now, arrival(1, slice, 1));
        }
        // A message more than 100 slices ahead of the front is refused. Other messages wait, and no message is merged into an
        // incorrect slice.
        let refused = collector.refused.len();
        assert_eq!(refused > 0, ahead > LIMITS.max_skew, "{ahead} ahead: {refused} refused");
        assert!(
            collector.closed.iter().skip(20).all(|closed| closed.delivered.starts_with(&[0, 1]))
        );
        assert!(
            collector.closed.len() as u64 + 6 >= 60 - ahead.min(5),
            "{}",
            collector.closed.len()
        );
    }
}

#[test]
fn what_is_refused_is_named() {
    let mut collector = Collector::new(1, Limits { max_skew: 2, ..LIMITS });
    collector.take(NOW, arrival(0, 100, 1));
    collector.take(NOW, arrival(0, 71, 2));
    assert_eq!(collector.refused.pop(), Some(Refusal::Old { slice: 71, running: 101 }));
    collector.take(NOW, part_of(0, 101, Part { number: 1, count: u32::MAX }, 3));
    let many = Refusal::Parts { count: u32::MAX, most: 65_536 };
    assert_eq!(collector.refused.pop(), Some(many));
}

#[test]
fn a_late_message_is_merged_once_and_then_repeated() {
    let mut collector = Collector::new(2, LIMITS);
    collector.take(NOW, arrival(0, 10, 1));
    collector.take(NOW, arrival(1, 9, 2));
    (1..=12).for_each(|second| collector.pass(SECOND * second));
    assert_eq!(collector.slices(), [9, 10]);
    assert_eq!(collector.rule.covered(1), Some(9));
    collector.take(SECOND * 12, arrival(1, 10, 3));
    assert!(collector.merged.contains(&(1, 10, 1)));
    assert_eq!(collector.rule.covered(1), Some(10));
    collector.take(SECOND * 12, arrival(1, 10, 3));
    assert_eq!((collector.repeated, collector.refused.len()), (1, 0));
}

#[test]
fn memory_for_what_waits_is_bounded_by_closing_the_oldest() {
    let mut collector = Collector::new(2, Limits { max_pending: 4, ..LIMITS });
    collector.take(NOW, arrival(1, 0, 1));
    for slice in 0..12 {
        collector.take(NOW, arrival(0, slice, slice + 2));
        assert!(collector.rule.pending() <= 4);
    }
    let causes: Vec<Cause> = collector.closed.iter().map(|closed| closed.cause).collect();
    assert_eq!(causes[..2], [Cause::Complete, Cause::Crowded]);
    assert_eq!(collector.closed.len(), 7, "the running one, and 4 that wait, are open");
}

#[test]
fn a_probe_far_ahead_leaves_the_others_half_of_the_memory() {
    let limits = Limits { max_pending: 20, max_skew: 1000, ..LIMITS };
    let mut collector = Collector::new(3, limits);
    (0..3).for_each(|probe| collector.take(NOW, arrival(probe, 0, 1)));
    for slice in 500..600 {
        collector.take(NOW, arrival(2, slice, 1));
    }
    assert_eq!((collector.rule.pending(), collector.refused.len()), (11, 89));
    (1..8).for_each(|slice| collector.take(NOW, arrival(0, slice, 1)));
    assert_eq!(collector.slices(), [0], "nothing closes because of it");
}

#[test]
fn a_silence_longer_than_the_window_is_skipped() {
    let mut collector = Collector::new(1, LIMITS);
    for slice in [0, 1, 1_000_000] {
        collector.take(NOW, arrival(0, slice, 1));
    }
    (1..=5).for_each(|second| collector.pass(SECOND * second));
    let silent = 2..2 + LIMITS.window;
    let expected: Vec<u64> = [0, 1].into_iter().chain(silent).chain([1_000_000]).collect();
    assert_eq!(collector.slices(), expected);
}

#[test]
fn a_probe_that_is_new_to_a_network_resends_nothing() {
    let mut collector = Collector::new(1, LIMITS);
    (0..5).for_each(|slice| collector.take(NOW, arrival(0, slice, slice + 1)));
    let memory = collector.rule.state(&names(1));
    let mut collector =
        Collector::of(CloseRule::restore(&names(2), LIMITS, &memory), BTreeSet::new());
    collector.take(NOW, arrival(1, 3, 6));
    assert!(collector.merged.contains(&(1, 3, 1)));
    assert_eq!(collector.rule.covered(1), None);
}

#[test]
fn a_late_slice_of_which_a_part_came_before_a_restart_is_whole_with_the_others() {
    let mut collector = Collector::of(begun(2), BTreeSet::new());
    collector.take(NOW, arrival(0, 0, 1));
    collector.take(NOW, part_of(1, 0, Part { number: 1, count: 2 }, 2));
    collector.pass(LIMITS.deadline);
    assert_eq!((collector.slices(), collector.rule.covered(1)), (vec![0], None));
    let memory = serde_json::to_string(&collector.rule.state(&names(2))).unwrap();
    let memory = serde_json::from_str(&memory).unwrap();
    let mut collector =
        Collector::of(CloseRule::restore(&names(2), LIMITS, &memory), BTreeSet::new());
    collector.take(NOW, part_of(1, 0, Part { number: 2, count: 2 }, 3));
    assert_eq!(collector.rule.covered(1), Some(0));
}

#[test]
fn messages_of_open_slices_are_read_again_from_a_recreated_stream() {
    let mut collector = Collector::of(begun(2), BTreeSet::new());
    collector.take(NOW, arrival(0, 0, 17));
    assert_eq!(collector.rule.replay_after(17), 16);
    collector.rule.renumber();
    assert_eq!(collector.rule.replay_after(3), 0);
}

#[test]
fn a_window_is_whole_when_every_probe_has_delivered_all_of_its_slices() {
    let limits = Limits { window: 4, ..LIMITS };
    let mut collector = Collector::new(2, limits);
    for slice in 100..120 {
        let now = SECOND * (slice as u32 - 100) * 10;
        collector.take(now, arrival(0, slice, 1));
        // Probe `b` does not send slice 105, and it sends slice 110 late.
        if slice != 105 && slice != 110 {
            collector.take(now, arrival(1, slice, 1));
        }
        collector.pass(now + limits.deadline);
        if slice == 111 {
            collector.take(now, arrival(1, 110, 1));
        }
    }
    let whole =
        collector.closed.iter().filter(|closed| u64::from(closed.whole_slices) >= limits.window);
    let whole: Vec<_> = whole.map(|closed| closed.slice).collect();
    // The time before the first slice is unknown.
    assert_eq!(whole, [103, 104, 109, 112, 113, 114, 115, 116, 117, 118, 119]);
}
