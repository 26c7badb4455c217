use super::*;

const SECOND: u64 = 1_000;

fn address(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

/// Exporters that may be waited for since second 1,000.
fn exporters(silent_after: Option<Duration>) -> Exporters {
    Exporters::new(&["192.0.2.0/28".parse().unwrap()], silent_after, SECOND, 1_000 * SECOND)
}

/// Each second of `seconds` is heard of the exporters that `is_sending` says.
fn run(
    exporters: &mut Exporters,
    seconds: std::ops::Range<u64>,
    is_sending: impl Fn(u8, u64) -> bool,
) {
    for second in seconds {
        let words: Vec<_> = (1..4).filter(|last| is_sending(*last, second)).collect();
        let words = words.into_iter().map(|last| (address(last), second * SECOND));
        exporters.hear(second * SECOND, words);
    }
}

fn known(exporters: &[IpAddr], since: u64) -> Option<KnownExporters<'_>> {
    Some(KnownExporters { exporters, since_ms: since * SECOND })
}

fn names(witnesses: &Witnesses) -> Vec<&str> {
    witnesses.silent.iter().map(|silent| silent.source.as_str()).collect()
}

#[test]
fn an_exporter_is_silent_after_three_times_its_longest_pause_of_an_hour() {
    let mut exporters = exporters(None);
    // The first one sends each second, the second one every 10 s, the third one not after second 1,100.
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
    // The first one has no long pause and is silent after 15 s, the second one after 30 s.
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

#[test]
fn a_host_waits_for_its_own_witnesses_if_they_are_known() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_100, |_, _| true);
    run(&mut exporters, 1_100..1_120, |last, _| last != 3);
    let since = 1_050 * SECOND;
    let of_two = exporters.witnesses(known(&[address(1), address(2)], 1_060), since);
    assert_eq!((names(&of_two), of_two.heard_ms), (vec![], 1_119 * SECOND));
    let of_three = exporters.witnesses(known(&[address(1), address(3)], 1_060), since);
    assert_eq!((names(&of_three), of_three.heard_ms), (vec!["192.0.2.3"], 1_099 * SECOND));
    // Of whom nothing is known, each that sent in the window may have told.
    assert_eq!(names(&exporters.witnesses(None, since)), ["192.0.2.3"]);
    assert_eq!(names(&exporters.witnesses(None, 1_100 * SECOND)), [""; 0]);
    // It fell silent before the witnesses were looked at.
    let late = exporters.witnesses(known(&[address(1)], 1_110), since);
    assert_eq!(names(&late), ["192.0.2.3"]);
}

#[test]
fn slices_are_whole_again_after_a_silence_and_a_stranger_is_not_waited_for() {
    let mut exporters = exporters(None);
    run(&mut exporters, 1_000..1_100, |last, _| last != 3);
    run(&mut exporters, 1_100..1_130, |last, _| last == 1);
    run(&mut exporters, 1_130..1_141, |last, _| last != 3);
    let whole = |last| exporters.witnesses(known(&[address(last)], 1_000), 0).whole_slices;
    assert_eq!((whole(1), whole(2)), (u32::MAX, 9));
    assert_eq!(exporters.witnesses(None, 0).whole_slices, 9);
    // The third one was not heard since the start, and the last one is not permitted any more.
    let never = exporters.witnesses(known(&[address(3)], 1_000), 0);
    assert_eq!((names(&never), never.heard_ms), (vec!["192.0.2.3"], 1_000 * SECOND));
    assert_eq!(exporters.witnesses(known(&[address(200)], 1_000), 0), Witnesses::default());
}

#[test]
fn memory_is_bounded_and_the_last_ones_heard_stay() {
    let mut exporters = exporters(None);
    for second in 0..20 {
        let words = (0..1_000_u32).map(|at| {
            let address = (0x0a00_0000 + second * 1_000 + at).to_be_bytes();
            (address.into(), (1_000 + u64::from(second)) * SECOND)
        });
        exporters.hear((1_000 + u64::from(second)) * SECOND, words);
    }
    assert_eq!(exporters.by_address.len(), EXPORTERS);
    assert!(exporters.by_address.contains_key(&IpAddr::from([10, 0, 0x4e, 0x1f])));
    exporters.hear(2 * DAY_MS, []);
    assert_eq!(exporters.by_address.len(), 0);
    assert_eq!(exporters.witnesses(None, 0), Witnesses::default());
}
