//! Tests of accepted and rejected reports, and of the evidence that is combined from reports about a host.

use std::net::Ipv4Addr;
use std::num::NonZeroU64;

use srlg_input::Contact;

use super::*;
use crate::network::report::SpoolState;
use srlg_alerts::details::Details;
use srlg_alerts::status::overview::DatagramCounts;

const VERSION: VersionId = VersionId { number: 1, tag: 7 };
const SEED: u64 = 5;

fn host(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0000 + number).into()
}

/// Returns two sites whose watch list contains one host of the second view.
fn sites() -> Sites {
    let sites = Sites::new(VERSION, &["oslo".to_owned(), "turin".to_owned()], SEED, 3, 1_000);
    let asked = WatchedView { windows: vec![8, 60], hosts: [host(1)].into() };
    sites.ask(vec![WatchedView::default(), asked], None);
    sites
}

/// Returns a report of `slice` about the watched host, which was in contact with `peers`.
fn report(slice: u64, peers: std::ops::Range<u32>) -> SiteReport {
    let mut details = Details::new(SEED);
    details.track_hosts(&[host(1)], slice * 1000);
    for peer in peers.clone() {
        let pair = (host(1).into(), host(peer).into());
        let mut contact = Contact::new(0, pair.0, pair.1);
        (contact.protocol, contact.destination_port) = (Some(6), Some(445));
        details.add(pair, &contact);
    }
    let details = details.hosts().next().unwrap().1.clone();
    let counts = vec![(8, peers.len() as f64), (60, peers.len() as f64 + 0.5)];
    let spool = SpoolState { slices: 9, unsent: 4, lost: 2 };
    let host = HostReport { view: 1, host: host(1), counts, details };
    let datagrams = DatagramCounts { received: 90, refused: 3, dropped: 1 };
    let input = InputState { datagrams, newest_ms: slice * 1_000, ..InputState::default() };
    SiteReport { version: VERSION, slice, spool, input, exporters: None, hosts: vec![host] }
}

fn hear(sites: &Sites, name: &str, report: &SiteReport) {
    sites.receive(&subjects::report(name), &serde_json::to_vec(report).unwrap());
}

#[test]
fn evidence_merges_the_details_of_all_sites_and_names_those_that_do_not_answer() {
    let sites = sites();
    hear(&sites, "turin", &report(100, 10..12));
    let evidence = sites.evidence(1, host(1), 8, 101);
    assert_eq!(evidence.sites, [SiteCount { site: "turin".to_owned(), cardinality: 2.0 }]);
    assert_eq!(evidence.sites_without_details, ["oslo"]);
    hear(&sites, "oslo", &report(101, 11..14));
    let evidence = sites.evidence(1, host(1), 60, 101);
    let count = |site: &str, cardinality| SiteCount { site: site.to_owned(), cardinality };
    assert_eq!(evidence.sites, [count("oslo", 3.5), count("turin", 2.5)]);
    assert!(evidence.sites_without_details.is_empty());
    let detail = evidence.detail.unwrap();
    let mut peers = detail.peers;
    peers.sort();
    assert_eq!(peers, (10..14).map(host).collect::<Vec<_>>());
    assert_eq!((detail.since_ms, detail.ports), (100_000, vec![("tcp/445".to_owned(), 1.0)]));
    assert_eq!(
        [0, 1].map(|probe| sites.overview(probe).is_losing),
        [false; 2],
        "slices were lost before"
    );
    let lost = SpoolState { slices: 9, unsent: 4, lost: 3 };
    hear(&sites, "turin", &SiteReport { spool: lost, ..report(101, 10..12) });
    assert_eq!([0, 1].map(|probe| sites.overview(probe).is_losing), [false, true]);
    let spool = SpoolOverview { slices: 9, unsent: 4, lost: 2 };
    assert_eq!((sites.overview(0).spool, sites.rejected()), (Some(spool), 0));
    let datagrams = DatagramCounts { received: 90, refused: 3, dropped: 1 };
    assert_eq!(sites.overview(0).datagrams, Some(datagrams));
}

/// Returns a report of `slice`. The watched host received 1,000 packets of 125 bytes per second in the minute up to the
/// end of this slice.
fn report_of_flood(slice: u64) -> SiteReport {
    let mut report = report(slice, 10..12);
    let mut details = Details::new(SEED);
    details.track_hosts(&[host(1)], 0);
    let end_ms = (slice + 1) * 1_000;
    for time_ms in end_ms - 60_000..end_ms {
        let mut contact = Contact::new(time_ms * 1_000_000, host(2).into(), host(1).into());
        (contact.packets, contact.octets) = (NonZeroU64::new(1), NonZeroU64::new(125));
        details.add((host(1).into(), host(2).into()), &contact);
    }
    report.hosts[0].details = details.get(host(1)).unwrap().clone();
    report
}

#[test]
fn rates_of_sites_are_summed_and_their_bounds_are_named() {
    let sites = sites();
    let rates = |slice| sites.rates(1, host(1), slice);
    assert_eq!(rates(99), Rates::default());
    hear(&sites, "turin", &report_of_flood(99));
    let known = |packets| Rates {
        packets_per_second: Some(packets),
        bits_per_second: Some(1_000 * packets),
        ..Rates::default()
    };
    let at_least = Rates { is_rate_lower_bound: true, ..known(1_000) };
    assert_eq!(rates(99), at_least, "oslo has not answered");
    assert_eq!(rates(101), at_least, "of the minute before the last report");
    let mut without = report_of_flood(99);
    let mut details = Details::new(SEED);
    details.track_hosts(&[host(1)], 0);
    without.hosts[0].details = details.get(host(1)).unwrap().clone();
    hear(&sites, "oslo", &without);
    assert_eq!(rates(99), known(1_000), "oslo sees no packet");
    hear(&sites, "oslo", &report_of_flood(99));
    assert_eq!(rates(99), Rates { is_rate_upper_bound: true, ..known(2_000) });
    assert_eq!(sites.evidence(1, host(1), 8, 99).rates, rates(99));
    let mut lost = report_of_flood(99);
    (lost.input.is_lost, lost.input.newest_ms) = (true, 30_000);
    hear(&sites, "oslo", &lost);
    assert_eq!(rates(99), at_least, "oslo has no input");
    hear(&sites, "oslo", &report_of_flood(97));
    let both = Rates { is_rate_upper_bound: true, ..known(2_000) };
    assert_eq!(rates(99), both, "each site within the minute before its report");
    let mut old = serde_json::to_value(report_of_flood(99)).unwrap();
    old["hosts"][0]["details"].as_object_mut().unwrap().remove("volume").unwrap();
    hear(&sites, "oslo", &serde_json::from_value(old).unwrap());
    assert_eq!(rates(99), at_least);
    assert_eq!(rates(110), Rates::default());
}

#[test]
fn a_site_that_reports_of_another_time_or_of_other_windows_has_no_details() {
    let sites = sites();
    hear(&sites, "oslo", &report(100, 10..12));
    let silent = |slice| sites.evidence(1, host(1), 8, slice).sites_without_details;
    assert_eq!((silent(97), silent(103)), (vec!["turin".to_owned()], vec!["turin".to_owned()]));
    assert_eq!((silent(96).len(), silent(104).len()), (2, 2));
    let unasked = sites.evidence(1, host(1), 20, 100);
    assert_eq!((unasked.sites.len(), unasked.sites_without_details.len()), (0, 2));
    assert_eq!(sites.evidence(1, host(1), 8, 104).detail, None);
}

#[test]
fn only_hosts_that_were_asked_for_take_memory_and_are_forgotten_later() {
    let sites = sites();
    let mut many = report(100, 10..12);
    many.hosts = (0..5).map(|view| HostReport { view, ..many.hosts[0].clone() }).collect();
    let first = many.hosts[1].clone();
    many.hosts.extend((2..60).map(|at| HostReport { host: host(at), ..first.clone() }));
    hear(&sites, "oslo", &many);
    assert_eq!(sites.state().sites[0].hosts.len(), 1);
    sites.ask(Vec::new(), None);
    assert!(sites.state().sites[0].hosts.is_empty());
}

#[test]
fn reports_of_strangers_and_garbage_are_rejected_and_counted() {
    let sites = sites();
    let good = report(100, 10..12);
    hear(&sites, "berlin", &good);
    let text = serde_json::to_string(&good).unwrap();
    let mut long = good.clone();
    long.hosts[0].counts = vec![(8, 1.0); 33];
    hear(&sites, "oslo", &long);
    let mut many = good.clone();
    many.hosts = vec![many.hosts[0].clone(); 65];
    hear(&sites, "oslo", &many);
    for garbage in
        ["", "{}", "[]", &text[..text.len() - 1], &text.replace("\"view\":1", "\"view\":-1")]
    {
        sites.receive(&subjects::report("oslo"), garbage.as_bytes());
    }
    assert_eq!((sites.rejected(), sites.overview(0).spool), (8, None));
    assert!(sites.evidence(1, host(1), 8, 100).sites.is_empty());
}

#[test]
fn a_report_of_another_version_tells_of_the_spool_alone() {
    let sites = sites();
    let other = VersionId { tag: 8, ..VERSION };
    hear(&sites, "oslo", &SiteReport { version: other, ..report(100, 10..12) });
    assert_eq!((sites.rejected(), sites.overview(0).spool.map(|it| it.lost)), (0, Some(2)));
    assert!(sites.evidence(1, host(1), 8, 100).sites.is_empty());
}

/// Returns a table of two exporters: 192.0.2.1 sends until second 90, and 192.0.2.2 until second `now`.
fn table(now: u64) -> TableState {
    let mut table = WitnessTable::new(&["192.0.2.0/28".parse().unwrap()], None, 1_000, 0);
    for second in 1..=now {
        let last = [(1, second.min(90)), (2, second)];
        let last = last.map(|(at, second)| (IpAddr::from([192, 0, 2, at]), second * 1_000));
        table.update(second * 1_000, last);
    }
    table.state()
}

#[test]
fn a_site_without_traffic_cannot_confirm_an_end() {
    let sites = sites();
    let alerted = |now: u64| {
        let (start_ms, since_ms, now_ms) = (80_000, 20_000, now * 1_000);
        AlertedHost { host: host(1), start_ms, since_ms, now_ms }
    };
    let with = |slice, newest_ms, is_lost, seen_from_ms| {
        let datagrams = DatagramCounts::default();
        let input = InputState { datagrams, newest_ms, is_lost, seen_from_ms };
        SiteReport { input, ..report(slice, 0..1) }
    };
    let whole = |whole_slices| Witnesses { whole_slices, ..Witnesses::default() };
    hear(&sites, "oslo", &with(150, 90_000, true, 151_000));
    let silent = Witnesses::silent("the input at oslo", 90_000);
    assert_eq!(sites.witnesses(1, alerted(150), 150), silent);
    assert_eq!([0, 1].map(|probe| sites.overview(probe).is_input_lost), [true, false]);
    // Earlier slices may be read later.
    assert_eq!(sites.witnesses(1, alerted(148), 148), whole(0));
    // A collector remembers it after a restart, until a report says otherwise.
    let next = self::sites();
    next.restore(&sites.kept());
    assert_eq!(next.witnesses(1, alerted(190), 190), silent);
    hear(&sites, "oslo", &with(170, 170_000, false, 165_000));
    assert_eq!(sites.witnesses(1, alerted(170), 170), whole(6));
    // The site saw nothing in the first window of the alert.
    hear(&sites, "oslo", &with(180, 19_000, true, 181_000));
    assert_eq!(sites.witnesses(1, alerted(180), 180), Witnesses::default());
}

#[test]
fn a_site_that_has_not_seen_the_host_need_not_confirm_its_end() {
    let sites = sites();
    let alerted = AlertedHost { host: host(1), start_ms: 0, since_ms: 0, now_ms: 150_000 };
    let input = |newest_ms| {
        let (datagrams, is_lost, seen_from_ms) = (DatagramCounts::default(), true, 151_000);
        InputState { datagrams, newest_ms, is_lost, seen_from_ms }
    };
    let hear = |slice, peers, newest_ms| {
        hear(&sites, "turin", &SiteReport { input: input(newest_ms), ..report(slice, peers) });
        sites.witnesses(1, alerted, 150)
    };
    // The report of slice 80 tracks the host since 80 s.
    assert_eq!(hear(80, 0..0, 90_000), Witnesses::default());
    let silent = |since_ms| Witnesses::silent("the input at turin", since_ms);
    assert_eq!(
        hear(80, 0..0, 79_000),
        silent(79_000),
        "the input was lost before the probe tracked the host"
    );
    assert_eq!(hear(81, 0..1, 90_000), silent(90_000));
    assert_eq!(hear(82, 0..0, 90_000), silent(90_000), "an earlier report had contacts");
}

#[test]
fn a_slice_is_a_gap_if_no_site_has_data() {
    let sites = sites();
    let lost = |slice, is_lost, seen_from_ms| {
        let input = InputState { is_lost, seen_from_ms, ..InputState::default() };
        SiteReport { input, ..report(slice, 0..0) }
    };
    let condition = |probes: &[usize], slice| sites.condition(probes.iter().copied(), slice);
    let of = |is_input_lost, whole_slices| Condition { is_input_lost, whole_slices };
    assert_eq!(condition(&[0, 1], 99), of(false, 100), "nothing is known yet");
    hear(&sites, "oslo", &lost(100, true, 101_000));
    assert_eq!(condition(&[0, 1], 100), of(false, 101));
    assert_eq!(condition(&[0], 100), of(true, 0));
    assert_eq!(condition(&[0], 58), of(false, 0), "an earlier slice had data");
    hear(&sites, "turin", &lost(100, true, 101_000));
    assert_eq!(condition(&[0, 1], 100), of(true, 0));
    hear(&sites, "turin", &lost(110, false, 105_000));
    assert_eq!(condition(&[0, 1], 110), of(false, 6));
}

#[test]
fn a_silent_exporter_is_remembered_after_a_restart_of_its_probe() {
    let sites = sites();
    let alerted = |now| AlertedHost {
        host: host(1),
        start_ms: 80_000,
        since_ms: 20_000,
        now_ms: now * 1_000,
    };
    let names = |sites: &Sites, slice| {
        let witnesses = sites.witnesses(1, alerted(slice), slice);
        let names = witnesses.silent.into_iter().map(|silent| silent.source);
        (names.collect::<Vec<_>>(), witnesses.whole_slices)
    };
    assert_eq!(names(&sites, 110), (vec![], u32::MAX), "no site has exporters");
    let with = |slice, exporters| SiteReport { exporters: Some(exporters), ..report(slice, 0..0) };
    let silent = vec!["192.0.2.1 at oslo".to_owned()];
    hear(&sites, "oslo", &with(110, table(110)));
    assert_eq!(names(&sites, 110), (silent.clone(), 0));
    // The restarted probe has not seen the exporter.
    let mut anew = WitnessTable::new(&["192.0.2.0/28".parse().unwrap()], None, 1_000, 111_000);
    anew.update(112_000, [([192, 0, 2, 2].into(), 112_000)]);
    hear(&sites, "oslo", &with(112, anew.state()));
    assert_eq!(names(&sites, 112), (silent.clone(), 0));
    let next = self::sites();
    next.restore(&sites.kept());
    assert_eq!(names(&next, 113), (silent, 0));
    anew.update(130_000, [1, 2].map(|at| ([192, 0, 2, at].into(), 130_000)));
    hear(&sites, "oslo", &with(130, anew.state()));
    assert_eq!(names(&sites, 140), (vec![], 0));
    assert_eq!(names(&sites, 130).0, [""; 0]);
}
