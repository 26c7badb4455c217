//! Tests of placements, with and without a grace period.

use super::*;

fn clock() -> SliceClock {
    SliceClock::new(Duration::from_millis(500), 2, Duration::from_secs(60)).unwrap()
}

const MS: u64 = 1_000_000;

#[test]
fn slices_are_aligned_to_the_epoch() {
    let mut clock = clock();
    assert_eq!(clock.place(1_749 * MS), Placement::Start { slice: 3 });
    assert_eq!(clock.place(1_500 * MS), Placement::Running);
    assert_eq!(clock.place(2_000 * MS - 1), Placement::Running);
    assert_eq!(clock.place(2_000 * MS), Placement::Ahead { slice: 4 });
}

#[test]
fn lateness_is_counted_in_slices_and_ends_at_the_tolerance() {
    let mut clock = clock();
    clock.place(10_000 * MS);
    assert_eq!(clock.place(10_000 * MS - 1), Placement::Late { slices: 1 });
    assert_eq!(clock.place(9_000 * MS), Placement::Late { slices: 2 });
    assert_eq!(clock.place(9_000 * MS - 1), Placement::TooLate);
    assert_eq!(clock.place(0), Placement::TooLate);
    assert_eq!((clock.late(), clock.too_late(), clock.future()), (2, 2, 0));
}

#[test]
fn future_is_rejected_and_does_not_move_the_clock() {
    let mut clock = clock();
    clock.place(10_000 * MS);
    assert_eq!(clock.place(10_500 * MS + 60_000 * MS + 1), Placement::Future);
    assert_eq!(clock.place(u64::MAX), Placement::Future);
    assert_eq!(clock.place(10_001 * MS), Placement::Running);
    assert_eq!(clock.place(70_000 * MS), Placement::Ahead { slice: 140 });
    assert_eq!(clock.future(), 2);
}

#[test]
fn the_system_clock_guards_the_first_timestamp_too() {
    let minute = Duration::from_secs(60);
    let now = system_time();
    let mut clock = clock().with_skew(minute);
    // The timestamp is an hour ahead, which is longer than this test takes.
    assert_eq!(clock.place(now + 3_600_000 * MS), Placement::Future);
    let slice = now / (500 * MS);
    assert_eq!(clock.place(now), Placement::Start { slice });
    assert_eq!(
        clock.place(now + 30_000 * MS),
        Placement::Ahead { slice: (now + 30_000 * MS) / (500 * MS) }
    );
    assert_eq!(clock.future(), 1);
}

#[test]
fn the_bound_for_timestamps_moves_with_the_system_clock() {
    let mut clock = clock().with_skew(Duration::ZERO);
    let before = system_time();
    assert!(matches!(clock.place(before), Placement::Start { .. }));
    std::thread::sleep(Duration::from_millis(2));
    // The time is beyond the limit computed for the first timestamp, but not ahead of the system clock.
    let after = system_time();
    assert!(after > before && !matches!(clock.place(after), Placement::Future));
}

#[test]
fn last_representable_slice_does_not_overflow() {
    let mut clock = clock();
    let slice = u64::MAX / (500 * MS);
    assert_eq!(clock.place(u64::MAX - 1), Placement::Start { slice });
    assert_eq!(clock.place(u64::MAX - 2), Placement::Running);
}

#[test]
fn slices_without_length_are_refused() {
    for length in [Duration::ZERO, Duration::MAX] {
        assert!(SliceClock::new(length, 0, Duration::ZERO).is_err());
    }
}

#[test]
fn a_slice_runs_until_its_grace_is_over_whether_records_tell_or_the_time_of_day() {
    let mut clock = clock().with_grace(Duration::from_millis(1_200));
    assert_eq!(clock.advance(u64::MAX), None, "no slice is running");
    assert_eq!(clock.place(10_100 * MS), Placement::Start { slice: 20 });
    assert_eq!(clock.place(10_500 * MS), Placement::Early { slice: 21 });
    assert_eq!(clock.place(11_699 * MS), Placement::Early { slice: 23 });
    assert_eq!(clock.place(10_499 * MS), Placement::Running, "1.2 s late");
    assert_eq!(clock.advance(11_700 * MS - 1), None);
    assert_eq!(clock.advance(11_700 * MS), Some(21));
    assert_eq!(clock.advance(11_700 * MS), None, "once");
    assert_eq!(clock.place(11_000 * MS - 1), Placement::Running);
    assert_eq!(clock.place(10_499 * MS), Placement::Late { slices: 1 });
    assert_eq!(clock.place(12_200 * MS), Placement::Ahead { slice: 22 });
    assert_eq!(clock.place(12_200 * MS), Placement::Early { slice: 24 });
    assert_eq!(clock.place(19_000 * MS), Placement::Ahead { slice: 35 });
    assert_eq!(clock.place(19_000 * MS), Placement::Early { slice: 38 });
    assert_eq!((clock.too_late(), clock.future()), (0, 0));
}

// The records arrive in order, or out of order by up to the grace period.
#[test]
fn with_a_grace_every_record_that_is_late_by_no_more_finds_its_slice_running() {
    let grace = 1_200;
    let mut clock = clock().with_grace(Duration::from_millis(grace));
    let times = (0..5_000).map(|record: u64| 20_000 + record * 7 - record * 7919 % (grace + 1));
    let (mut held, mut running, mut counted) = (Vec::new(), None, 0);
    for time in times {
        held.push(time * MS);
        loop {
            let mut moved = false;
            held.retain(|&time| match clock.place(time) {
                Placement::Start { slice } => {
                    running = Some(slice);
                    counted += 1;
                    false
                }
                Placement::Ahead { slice } => {
                    running = Some(slice);
                    moved = true;
                    true
                }
                Placement::Running => {
                    assert_eq!(Some(clock.slice_of(time)), running);
                    counted += 1;
                    false
                }
                Placement::Early { slice } => {
                    assert_eq!(slice, clock.slice_of(time));
                    assert!(Some(slice) > running);
                    true
                }
                // Before the first record, the clock knew nothing about these slices.
                Placement::Late { .. } | Placement::TooLate if running == Some(40) => false,
                other => panic!("{other:?}"),
            });
            if !moved {
                break;
            }
        }
    }
    assert!(counted > 4_000 && held.len() < 400, "{counted}, {}", held.len());
}

#[test]
fn time_only_advances_and_counts_no_contacts() {
    let mut clock = clock().with_skew(Duration::ZERO);
    clock.place(10_000 * MS);
    assert_eq!(clock.advance(0), None);
    assert_eq!(clock.advance(10_499 * MS), None);
    assert_eq!(clock.advance(1_000_000 * MS), Some(2_000));
    assert_eq!((clock.too_late(), clock.future()), (0, 0));
}

#[test]
fn a_bound_for_the_future_leaves_room_for_the_grace() {
    let mut clock = clock().with_grace(Duration::from_millis(2_000));
    clock.place(10_000 * MS);
    assert_eq!(clock.place(72_501 * MS), Placement::Future);
    assert_eq!(clock.place(72_500 * MS), Placement::Ahead { slice: 141 });
}

#[test]
fn a_grace_longer_than_all_time_never_ends_a_slice() {
    let mut clock = clock().with_grace(Duration::MAX);
    clock.place(10_000 * MS);
    assert_eq!(clock.advance(u64::MAX), None);
    assert_eq!(clock.place(11_000 * MS), Placement::Early { slice: 22 });
}
