use std::time::{Duration, Instant};

use super::{
    AGAIN, EXPORTERS, InputProblems, ProblemCounts, ProblemKind, ProblemOverview, QUIET, SETTLE,
};
use srlg_alerts::status::overview::{ExporterOverview, Overview};

fn overview(kind: ProblemKind, counts: &[u64], is_waiting: bool) -> Overview {
    let exporter = |(at, count): (u8, &u64)| {
        let mut problems = ProblemCounts::default();
        problems.add(kind, *count);
        ExporterOverview {
            problems,
            waiting_since_ms: is_waiting.then_some(1),
            ..ExporterOverview::new([192, 0, 2, at].into())
        }
    };
    Overview { exporters: (1..).zip(counts).map(exporter).collect(), ..Overview::default() }
}

fn counts(overviews: &[ProblemOverview]) -> Vec<(ProblemKind, u64)> {
    overviews.iter().map(|overview| (overview.kind, overview.count)).collect()
}

#[test]
fn every_kind_has_a_unique_name_and_text() {
    let mut texts = String::new();
    for kind in ProblemKind::ALL {
        let mut problems = InputProblems::default();
        let is_of_exporters = kind.is_of_exporters();
        let mut overview =
            overview(kind, if is_of_exporters { &[7, 0, 1, 1, 1, 1] } else { &[] }, true);
        if !is_of_exporters {
            overview.input.problems.add(kind, 11);
        }
        problems.update(&overview, Instant::now());
        let [problem] = &problems.active()[..] else { panic!("{kind:?}") };
        let exporters = [problem.exporters.len(), problem.exporter_count];
        assert_eq!(
            (problem.count, exporters),
            (11, [[0, 0], [3, 5]][usize::from(is_of_exporters)])
        );
        texts += &format!("{}: {}; {}\n", kind.name(), problem.text, problem.remedy);
    }
    let mut problems = InputProblems::default();
    let mut packets = Overview::default();
    packets.input.problems.add(ProblemKind::TooLate, 3);
    problems.update(&packets, Instant::now());
    let problem = &problems.active()[0];
    texts += &format!("without an exporter: {}; {}\n", problem.text, problem.remedy);
    insta::assert_snapshot!(texts);
}

#[test]
fn every_kind_has_a_rule_for_prometheus() {
    let rules = include_str!("../../../srlg/service/alerts.rules.yml");
    let selectors = rules.split("srlg_problem{reason=").skip(1);
    let reasons = selectors.flat_map(|text| text.split('"').nth(1).unwrap().split('|'));
    let mut reasons: Vec<_> = reasons.collect();
    // Drops by the kernel have a rule with the share of all datagrams.
    reasons.push("kernel");
    reasons.sort_unstable();
    let mut names = ProblemKind::ALL.map(ProblemKind::name);
    names.sort_unstable();
    assert_eq!(reasons, names);
}

#[test]
fn a_warning_comes_within_seconds_and_hourly_with_the_count_so_far() {
    let kind = ProblemKind::TooLate;
    let (mut problems, start) = (InputProblems::default(), Instant::now());
    let mut warnings = |after: Duration, count| {
        problems.update(&overview(kind, &[count], false), start + after);
        counts(&problems.warnings(start + after))
    };
    let second = Duration::from_secs(1);
    assert_eq!(warnings(Duration::ZERO, 1), []);
    assert_eq!(warnings(SETTLE, 9_878), [(kind, 9_878)]);
    for minute in 1..60 {
        assert_eq!(warnings(60 * minute * second, 9_878 + u64::from(minute)), []);
    }
    assert_eq!(warnings(SETTLE + AGAIN, 10_000), [(kind, 10_000)]);
}

#[test]
fn a_problem_is_over_when_its_counts_stop_increasing() {
    let kind = ProblemKind::Malformed;
    let (mut problems, start) = (InputProblems::default(), Instant::now());
    let mut update = |after, count| {
        let over = problems.update(&overview(kind, &[count], false), start + after);
        (counts(&over), counts(&problems.active()))
    };
    assert_eq!(update(Duration::ZERO, 0), (vec![], vec![]));
    assert_eq!(update(Duration::ZERO, 5), (vec![], vec![(kind, 5)]));
    assert_eq!(update(QUIET / 2, 7), (vec![], vec![(kind, 7)]));
    assert_eq!(update(QUIET, 7), (vec![], vec![(kind, 7)]));
    assert_eq!(update(QUIET * 3 / 2, 7), (vec![(kind, 7)], vec![]));
    assert_eq!(update(QUIET * 2, 8), (vec![], vec![(kind, 1)]), "counts since the problem started");
    assert_eq!(update(QUIET * 2, 3), (vec![], vec![(kind, 4)]), "counts that were reset");
}

#[test]
fn sets_that_wait_are_no_problem_once_their_template_has_come() {
    let kind = ProblemKind::Held;
    let (mut problems, now) = (InputProblems::default(), Instant::now());
    let mut update = |count, is_waiting| {
        let over = problems.update(&overview(kind, &[count], is_waiting), now);
        (counts(&over), counts(&problems.active()))
    };
    assert_eq!(
        update(2, false),
        (vec![], vec![]),
        "the template arrived before the first overview"
    );
    assert_eq!(update(5, true), (vec![], vec![(kind, 3)]));
    assert_eq!(update(5, false), (vec![(kind, 3)], vec![]));
}

#[test]
fn missing_inside_hosts_are_no_problem_after_the_first() {
    let kind = ProblemKind::NoInside;
    let (mut problems, now) = (InputProblems::default(), Instant::now());
    let mut update = |count| {
        let mut overview = Overview::default();
        overview.input.problems.add(kind, count);
        let over = problems.update(&overview, now);
        (counts(&over), counts(&problems.active()))
    };
    assert_eq!(update(1_000), (vec![], vec![(kind, 1_000)]));
    assert_eq!(update(0), (vec![(kind, 1_000)], vec![]));
}

#[test]
fn more_exporters_than_are_remembered_are_counted() {
    let mut problems = InputProblems::default();
    let mut many = overview(ProblemKind::Version, &[1], false);
    many.exporters = vec![many.exporters[0].clone(); EXPORTERS + 100];
    for (address, exporter) in (0x0a00_0000_u32..).zip(&mut many.exporters) {
        exporter.address = std::net::Ipv4Addr::from(address).into();
    }
    problems.update(&many, Instant::now());
    let problem = &problems.active()[0];
    assert_eq!(problem.count, EXPORTERS as u64 + 100);
    assert_eq!(problem.exporter_count, EXPORTERS);
}

#[test]
fn a_text_names_exporters_and_programs_get_their_addresses() {
    let mut overview = overview(ProblemKind::Version, &[1, 1], false);
    overview.exporters[0].name = Some("edge-1".to_owned());
    let mut problems = InputProblems::default();
    problems.update(&overview, Instant::now());
    let [problem] = &problems.active()[..] else { panic!("one kind") };
    assert_eq!(problem.exporters, [1, 2].map(|at| std::net::IpAddr::from([192, 0, 2, at])));
    assert!(problem.text.contains(" from edge-1 (192.0.2.1), 192.0.2.2 "), "{}", problem.text);
}
