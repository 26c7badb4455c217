use super::{Clock, Last, RecordTime, SECOND, Skew};
use crate::options::Timestamps;

const EXPORT: u64 = 1_700_000_000 * SECOND;

fn clock(uptime_ms: Option<u32>) -> Clock {
    Clock {
        export_ns: EXPORT,
        cut_ns: 0,
        uptime_ms,
        received_ns: EXPORT + SECOND,
        skew_ns: 0,
        timestamps: Timestamps::Corrected,
    }
}

fn good(time_ns: u64) -> Last {
    Last { time_ns, is_future: false, is_reversed: false }
}

fn last(clock: Clock, time: RecordTime) -> Last {
    clock.last(None, Some(time), None)
}

#[test]
fn uptime_needs_a_beginning() {
    let export_ms = EXPORT / 1_000_000;
    let resolved = |init_ms| clock(None).last(None, Some(RecordTime::Uptime(59_000)), init_ms);
    assert_eq!(resolved(None), good(EXPORT));
    assert_eq!(resolved(Some(export_ms - 60_000)), good(EXPORT - SECOND));
    assert_eq!(resolved(Some(export_ms - 60_000 - (1 << 32))), good(EXPORT - SECOND), "wrapped");
    assert_eq!(resolved(Some(export_ms + 1)), good(EXPORT), "began after the export");
}

#[test]
fn the_later_of_first_and_last_counts() {
    let at = |first, last| {
        clock(None).last(Some(RecordTime::At(first)), Some(RecordTime::At(last)), None)
    };
    assert_eq!(at(EXPORT - 9, EXPORT - 3), good(EXPORT - 3));
    assert_eq!(at(EXPORT - 3, EXPORT - 9), Last { is_reversed: true, ..good(EXPORT - 3) });
    assert_eq!(clock(None).last(Some(RecordTime::At(7)), None, None), good(7));
    assert_eq!(clock(None).last(None, None, None), good(EXPORT));
    assert_eq!(last(clock(None), RecordTime::Before(5)), good(EXPORT - 5_000));
    assert_eq!(last(clock(None), RecordTime::Before(u64::MAX)), good(0));
}

#[test]
fn what_the_header_cuts_off_is_no_future() {
    let cut = Clock { cut_ns: SECOND - 1, ..clock(None) };
    assert_eq!(last(cut, RecordTime::At(EXPORT + SECOND - 1)), good(EXPORT + SECOND - 1));
    let future = last(cut, RecordTime::At(EXPORT + SECOND));
    assert_eq!(future, Last { is_future: true, ..good(EXPORT) });
}

#[test]
fn skew_is_corrected_above_5_seconds_and_not_believed_above_an_hour() {
    let second = SECOND as i64;
    let at = |skew_ns, timestamps| {
        last(Clock { skew_ns, timestamps, ..clock(None) }, RecordTime::At(EXPORT - 7)).time_ns
    };
    for (skew_ns, time_ns) in [
        (0, EXPORT - 7),
        (5 * second, EXPORT - 7),
        (-5 * second, EXPORT - 7),
        (5 * second + 1, EXPORT - 7 + 5 * SECOND + 1),
        (-60 * second, EXPORT - 7 - 60 * SECOND),
        (3_600 * second, EXPORT - 7 + 3_600 * SECOND),
        (3_600 * second + 1, EXPORT + SECOND),
        (i64::MIN, EXPORT + SECOND),
    ] {
        assert_eq!(at(skew_ns, Timestamps::Corrected), time_ns, "{skew_ns}");
        assert_eq!(at(skew_ns, Timestamps::Trusted), EXPORT - 7);
        assert_eq!(at(skew_ns, Timestamps::Received), EXPORT + SECOND);
    }
}

#[test]
fn skew_is_the_least_difference_of_one_to_two_minutes() {
    let mut skew = Skew::default();
    assert_eq!(skew.ns(), 0);
    let mut add = |received_s: u64, difference_s: i64| {
        let received_ns = received_s * SECOND;
        skew.add(received_ns.wrapping_add_signed(-difference_s * SECOND as i64), received_ns);
        skew.ns() / SECOND as i64
    };
    assert_eq!(add(1_000, 9), 9);
    assert_eq!(add(1_001, 7), 7);
    assert_eq!(add(1_059, 8), 7);
    assert_eq!(add(1_060, 8), 7, "of the minute before");
    assert_eq!(add(1_120, 9), 8);
    assert_eq!(add(1_400, 20), 20, "older minutes do not count");
    assert_eq!(add(900, -4), -4, "the clock here was set back");
}
