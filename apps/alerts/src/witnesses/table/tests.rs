use srlg_input::flow::{Backlog, ExporterStatus, FlowCounts, Losses};

use super::*;

const SECOND: u64 = 1_000;

fn address(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

fn exporters(silent_after: Option<Duration>) -> WitnessTable {
    WitnessTable::new(&["192.0.2.0/28".parse().unwrap()], silent_after, SECOND, 1_000 * SECOND)
}

/// Simulates three exporters. Each one sends in the seconds for which `is_sending` returns true.
fn run(
    exporters: &mut WitnessTable,
    seconds: std::ops::Range<u64>,
    is_sending: impl Fn(u8, u64) -> bool,
) {
    for second in seconds {
        let words: Vec<_> = (1..4).filter(|last| is_sending(*last, second)).collect();
        let words = words.into_iter().map(|last| (address(last), second * SECOND));
        exporters.update(second * SECOND, words);
    }
}

fn known(exporters: &[IpAddr], since: u64) -> Option<KnownExporters<'_>> {
    Some(KnownExporters { exporters, since_ms: since * SECOND })
}

/// Returns a host whose alert started at second `start`. The longest window at that time started at second `since`, and
/// the closing slice ends at second 1,140.
fn alerted(start: u64, since: u64) -> AlertedHost {
    let (start_ms, since_ms, now_ms) = (start * SECOND, since * SECOND, 1_140 * SECOND);
    AlertedHost { host: address(9), start_ms, since_ms, now_ms }
}

fn names(witnesses: &Witnesses) -> Vec<&str> {
    witnesses.silent.iter().map(|silent| silent.source.as_str()).collect()
}

#[test]
fn an_exporter_is_silent_after_three_times_its_longest_pause_of_an_hour() {
    let mut exporters = exporters(None);
    // The first exporter sends every second, the second one every 10 s, and the third one until second 1,100.
    let is_sending = |last, second| match last {
        1 => true,
        2 => second % 10 == 0,
        _ => second <= 1_100,
    };
    run(&mut exporters, 1_000..1_115, is_sending);
    assert_eq!([1, 2, 3].map(|last| exporters.silent_since(address(last))), [None; 3]);
    run(&mut exporters, 1_115..1_120, is_sending);
    let silent = [1, 2, 3].map(|last| exporters.silent_since(address(last)));
    assert_eq!(silent, [None, None, Some(1_100 * SECOND)]);
    // The first exporter has no long pause and is silent after 15 s, the second one after 30 s.
    run(&mut exporters, 1_120..1_140, |_, _| false);
    let silent = [1, 2].map(|last| exporters.silent_since(address(last)));
    assert_eq!(silent, [Some(1_119 * SECOND), None]);
    run(&mut exporters, 1_140..1_141, |_, _| false);
    assert_eq!(exporters.silent_since(address(2)), Some(1_110 * SECOND));
}

#[test]
fn a_pause_is_forgotten_after_an_hour_and_a_given_time_holds_for_all() {
    let is_sending = |_: u8, second: u64| !(1_100..1_110).contains(&second);
    let mut by_pauses = exporters(None);
    run(&mut by_pauses, 1_000..1_200, is_sending);
    run(&mut by_pauses, 1_200..1_220, |_, _| false);
    assert_eq!(by_pauses.silent_since(address(1)), None, "3 times 11 s have not passed");
    run(&mut by_pauses, 1_220..6_000, is_sending);
    run(&mut by_pauses, 6_000..6_015, |_, _| false);
    assert_eq!(by_pauses.silent_since(address(1)), Some(5_999 * SECOND));

    let mut given = exporters(Some(Duration::from_secs(60)));
    run(&mut given, 1_000..1_010, is_sending);
    run(&mut given, 1_010..1_069, |_, _| false);
    assert_eq!(given.silent_since(address(1)), None);
    run(&mut given, 1_069..1_070, |_, _| false);
    assert_eq!(given.silent_since(address(1)), Some(1_009 * SECOND));
}

/// Returns the silence limit of the first exporter, in seconds.
fn limit_s(exporters: &WitnessTable) -> u64 {
    exporters.by_address[&address(1)].times.limit_ms / SECOND
}

#[test]
fn an_outage_does_not_raise_the_limit_of_an_exporter() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_100, |_, second| second % 8 == 0);
    assert_eq!(limit_s(&exporters), 24);
    // Two outages of ten minutes within an hour are accidents.
    run(&mut exporters, 1_700..1_800, |_, second| second % 8 == 0);
    run(&mut exporters, 2_400..2_500, |_, second| second % 8 == 0);
    assert_eq!(limit_s(&exporters), 24);
    run(&mut exporters, 2_500..2_521, |_, _| false);
    assert_eq!(exporters.silent_since(address(1)), Some(2_496 * SECOND));
}

#[test]
fn a_pause_that_becomes_usual_is_learned_from_three_silences_within_an_hour() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_100, |_, _| true);
    assert_eq!(limit_s(&exporters), 15);
    // After an outage, the exporter sends every 40 s.
    let is_sending = |_: u8, second: u64| second >= 1_400 && second.is_multiple_of(40);
    let mut silences = Vec::new();
    for second in 1_100..2_000 {
        run(&mut exporters, second..second + 1, is_sending);
        silences.extend(exporters.silent_since(address(1)));
    }
    silences.dedup();
    assert_eq!(silences, [1_099, 1_400, 1_440].map(|second| second * SECOND));
    assert_eq!(limit_s(&exporters), 3 * 40, "not three times the outage");
    // An hour later, the pauses are short again.
    run(&mut exporters, 2_000..6_300, |_, _| true);
    assert_eq!(limit_s(&exporters), 15);
    // Silences that are 40 minutes apart are accidents.
    for start in [6_300, 8_700, 11_100, 13_500] {
        run(&mut exporters, start + 100..start + 2_400, |_, _| true);
        assert_eq!(limit_s(&exporters), 15);
    }
}

#[test]
fn a_new_exporter_with_long_pauses_is_silent_once_at_most() {
    let mut exporters = exporters(None);
    let mut silences = Vec::new();
    for second in 1_000..2_000 {
        run(&mut exporters, second..second + 1, |_, second| second % 60 == 0);
        silences.extend(exporters.silent_since(address(1)));
    }
    silences.dedup();
    // Before its first datagram, an exporter counts as silent since the start.
    assert_eq!(silences, [1_000, 1_020].map(|second| second * SECOND));
    assert_eq!(limit_s(&exporters), 180);
}

#[test]
fn a_host_waits_for_its_own_witnesses_if_they_are_known() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_100, |_, _| true);
    run(&mut exporters, 1_100..1_120, |last, _| last != 3);
    let since = |second: u64| alerted(1_100, second);
    let of_two = exporters.witnesses(known(&[address(1), address(2)], 1_060), since(1_050));
    assert_eq!((names(&of_two), of_two.seen_ms), (vec![], 1_119 * SECOND));
    let of_three = exporters.witnesses(known(&[address(1), address(3)], 1_060), since(1_050));
    assert_eq!((names(&of_three), of_three.seen_ms), (vec!["192.0.2.3"], 1_099 * SECOND));
    // If the exporters of a host are not known, every exporter that sent in the window may have seen it.
    assert_eq!(names(&exporters.witnesses(None, since(1_050))), ["192.0.2.3"]);
    assert_eq!(names(&exporters.witnesses(None, since(1_100))), [""; 0]);
    // The third exporter fell silent before the host was tracked.
    let late = exporters.witnesses(known(&[address(1)], 1_110), since(1_050));
    assert_eq!(names(&late), ["192.0.2.3"]);
}

#[test]
fn slices_are_whole_again_after_a_silence_and_a_stranger_is_not_waited_for() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_100, |last, _| last != 3);
    run(&mut exporters, 1_100..1_130, |last, _| last == 1);
    run(&mut exporters, 1_130..1_141, |last, _| last != 3);
    let whole =
        |last| exporters.witnesses(known(&[address(last)], 1_000), alerted(1_000, 0)).whole_slices;
    assert_eq!((whole(1), whole(2)), (u32::MAX, 9));
    assert_eq!(exporters.witnesses(None, alerted(1_000, 0)).whole_slices, 9);
    // The third exporter was never heard, and the last one is not permitted any more.
    let never = exporters.witnesses(known(&[address(3)], 1_000), alerted(1_000, 0));
    assert_eq!((names(&never), never.seen_ms), (vec!["192.0.2.3"], 1_000 * SECOND));
    assert_eq!(
        exporters.witnesses(known(&[address(200)], 1_000), alerted(1_000, 0)),
        Witnesses::default()
    );
}

#[test]
fn memory_is_bounded_and_the_most_recent_exporters_stay() {
    let mut exporters = exporters(None);
    for second in 0..20 {
        let words = (0..1_000_u32).map(|at| {
            let address = (0x0a00_0000 + second * 1_000 + at).to_be_bytes();
            (address.into(), (1_000 + u64::from(second)) * SECOND)
        });
        exporters.update((1_000 + u64::from(second)) * SECOND, words);
    }
    assert_eq!(exporters.by_address.len(), EXPORTERS);
    assert!(exporters.by_address.contains_key(&IpAddr::from([10, 0, 0x4e, 0x1f])));
    exporters.update(2 * DAY_MS, []);
    assert_eq!(exporters.by_address.len(), 0);
    assert_eq!(exporters.witnesses(None, alerted(1_000, 0)), Witnesses::default());
}

#[test]
fn an_exporter_that_never_sent_is_silent_and_no_witness() {
    // 192.0.2.2 has two entries; a network is not an exporter's own entry.
    let permitted = ["192.0.2.1/32", "192.0.2.2/32", "::ffff:192.0.2.2/128", "192.0.2.8/29"];
    let permitted = [&permitted[..], &["2001:db8::1/128", "2001:db8::/64"]].concat();
    let permitted: Vec<IpNet> = permitted.iter().map(|network| network.parse().unwrap()).collect();
    let table = |silent_after| WitnessTable::new(&permitted, silent_after, SECOND, 1_000 * SECOND);
    let sixth: IpAddr = "2001:db8::1".parse().unwrap();
    for (silent_after, second) in [(None, 1_015), (Some(Duration::from_secs(40)), 1_040)] {
        let mut exporters = table(silent_after);
        assert_eq!(exporters.unheard().collect::<Vec<_>>(), [address(1), address(2), sixth]);
        run(&mut exporters, 1_000..second, |last, _| last == 1);
        assert_eq!(exporters.unheard().collect::<Vec<_>>(), [address(2), sixth]);
        assert_eq!([address(2), sixth].map(|it| exporters.silent_since(it)), [None; 2]);
        run(&mut exporters, second..second + 1, |last, _| last == 1);
        let silent = [address(1), address(2), sixth].map(|it| exporters.silent_since(it));
        assert_eq!(silent, [None, Some(1_000 * SECOND), Some(1_000 * SECOND)]);
        assert_eq!(exporters.logged, HashSet::from([address(2), sixth]));
        assert_eq!(exporters.silent().count(), 0);
        assert_eq!(names(&exporters.witnesses(None, alerted(1_000, 0))), [""; 0]);
        run(&mut exporters, second + 1..second + 2, |last, _| last <= 2);
        assert_eq!(exporters.unheard().collect::<Vec<_>>(), [sixth]);
        assert_eq!(exporters.silent_since(address(2)), None);
    }
}

#[test]
fn a_step_of_the_clock_is_no_pause_and_no_silence() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_100, |_, _| true);
    assert_eq!(exporters.silent_since(address(4)), Some(1_000 * SECOND), "never heard");
    exporters.set_forward(3_000 * SECOND, 4_099 * SECOND + 500);
    assert_eq!([1, 2].map(|last| exporters.silent_since(address(last))), [None; 2]);
    assert_eq!(exporters.silent_since(address(4)), Some(4_000 * SECOND));
    run(&mut exporters, 4_100..4_200, |last, _| last != 3);
    let since = exporters.silent_since(address(3));
    assert_eq!((exporters.silent_since(address(1)), since), (None, Some(4_099 * SECOND)));
    // The clock is set back by two minutes, which is not a silence either.
    run(&mut exporters, 4_080..4_120, |last, _| last != 3);
    assert_eq!([1, 2].map(|last| exporters.silent_since(address(last))), [None; 2]);
    assert_eq!(exporters.resumed_ms, 0);
}

#[test]
fn a_datagram_between_the_last_look_and_a_step_of_the_clock_makes_no_pause() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_009, |_, _| true);
    // The clock is set in second 1,010, before the input is read. The first exporter has sent before the step.
    let after_step = address(2);
    exporters.update(1_009 * SECOND, [(address(1), 1_009 * SECOND), (after_step, 1_610 * SECOND)]);
    exporters.set_forward(600 * SECOND, 1_610 * SECOND + 500);
    exporters.update(1_611 * SECOND, [(address(1), 1_010 * SECOND), (after_step, 1_611 * SECOND)]);
    let times = |exporters: &WitnessTable, last| exporters.by_address[&address(last)].times;
    for (last, last_s, active_s) in [(1, 1_610, 10), (2, 1_611, 11), (3, 1_608, 8)] {
        let ExporterTimes { last_ms, active_ms, resumed_ms, limit_ms, .. } =
            times(&exporters, last);
        let expected = (last_s * SECOND, active_s * SECOND, 0, LEAST_SILENCE_MS);
        assert_eq!((last_ms, active_ms, resumed_ms, limit_ms), expected, "{last}");
        assert_eq!(exporters.silent_since(address(last)), None);
    }
    exporters.update(1_625 * SECOND, []);
    let silent = [1, 2, 3].map(|last| exporters.silent_since(address(last)));
    assert_eq!(silent, [Some(1_610 * SECOND), None, Some(1_608 * SECOND)]);
    // The clock is set back to a time before the step. This time is correct by the current clock.
    exporters.update(900 * SECOND, [(address(1), 899 * SECOND)]);
    assert_eq!(times(&exporters, 1).last_ms, 899 * SECOND);
}

#[test]
fn a_configured_exporter_is_remembered_for_longer_than_a_day() {
    let permitted = ["192.0.2.1/32", "192.0.2.2/31"].map(|network| network.parse().unwrap());
    let table = || WitnessTable::new(&permitted, None, SECOND, 1_000 * SECOND);
    let mut exporters = table();
    run(&mut exporters, 1_000..1_100, |_, _| true);
    exporters.update(3 * DAY_MS, []);
    let silent = |exporters: &WitnessTable| {
        exporters.silent().map(|times| (times.exporter, times.last_ms)).collect::<Vec<_>>()
    };
    let expected = [(address(1), 1_099 * SECOND)];
    assert_eq!(silent(&exporters), expected);
    let mut restored = table();
    restored.restore(&exporters.state());
    assert_eq!(silent(&restored), expected);
    assert_eq!(restored.silent_since(address(1)), Some(1_099 * SECOND));
    assert_eq!(restored.unheard().count(), 0);
    // New exporters do not evict an exporter that has its own entry.
    let crowd = (0..2 * EXPORTERS as u32).map(|at| (0x0a00_0000 + at).to_be_bytes().into());
    let crowd: Vec<IpAddr> = crowd.collect();
    for second in [0, 30, 60, 90] {
        let now_ms = 3 * DAY_MS + second * SECOND;
        restored.update(now_ms, crowd.iter().map(|address| (*address, now_ms)));
    }
    assert_eq!((restored.by_address.len(), silent(&restored)), (EXPORTERS, expected.to_vec()));
}

#[test]
fn a_state_brings_silent_exporters_and_pauses_to_another_table() {
    let mut first = exporters(None);
    let is_sending = |last, second: u64| match last {
        1 => true,
        2 => second.is_multiple_of(20),
        _ => second < 1_100,
    };
    run(&mut first, 1_000..1_190, is_sending);
    let state = first.state();
    let order: Vec<_> = state.exporters.iter().map(|times| times.exporter).collect();
    assert_eq!(order, [address(3), address(1), address(2)]);
    let state: TableState = serde_json::from_slice(&serde_json::to_vec(&state).unwrap()).unwrap();
    let mut next = WitnessTable::new(&["192.0.2.0/28".parse().unwrap()], None, SECOND, 1_200_000);
    next.restore(&state);
    run(&mut next, 1_200..1_220, |last, second| last < 3 && is_sending(last, second));
    let silent = [1, 2, 3].map(|last| next.silent_since(address(last)));
    assert_eq!(silent, [None, None, Some(1_099 * SECOND)]);
    assert_eq!(names(&next.witnesses(None, alerted(1_100, 1_050))), ["192.0.2.3"]);
    let mut other = WitnessTable::new(&[], None, SECOND, 0);
    other.follow(&state);
    assert_eq!(other.state(), state);
}

#[test]
fn an_exporter_that_was_seen_for_a_moment_makes_room_first_and_holds_no_window_back() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_100, |_, _| true);
    let forged = |second: u64| {
        let bits = 0x0a00_0000 + (second as u32 - 1_100) * 8_000;
        (bits..bits + 8_000).map(move |bits| (bits.to_be_bytes().into(), second * SECOND))
    };
    (1_100..1_110).for_each(|second| exporters.update(second * SECOND, forged(second)));
    assert!((1..4).all(|last| exporters.by_address.contains_key(&address(last))));
    run(&mut exporters, 1_110..1_140, |_, _| true);
    exporters.update(1_140 * SECOND, forged(1_109).map(|(address, _)| (address, 1_140 * SECOND)));
    assert_eq!(exporters.resumed_ms, 0);
}

#[test]
fn while_data_sets_wait_only_datagrams_with_records_count() {
    let exporter = |backlog, records| {
        let mut counts = FlowCounts::default();
        counts.records = records;
        ExporterStatus {
            address: (address(1), 0).into(),
            last_seen_ns: 9_000_000_000,
            last_read_ns: 8_000_000_000,
            last_record_ns: 5_000_000_000,
            counts,
            losses: Some(Losses::default()),
            skew_ns: 0,
            templates: 1,
            backlog,
            undecodable: Vec::new(),
        }
    };
    let waiting = Some(Backlog { sets: 1, since_ns: 6_000_000_000 });
    let last = [(None, 1), (waiting, 1), (waiting, 0)].map(|(backlog, records)| {
        let exporters = vec![exporter(backlog, records)];
        let status = Status { exporters, ..Status::default() };
        last_datagrams(&status).map(|(_, ms)| ms).next()
    });
    assert_eq!(last, [Some(8_000), Some(5_000), None]);
}
