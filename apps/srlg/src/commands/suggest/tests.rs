use std::net::{IpAddr, Ipv4Addr};

use srlg_alerts::Status;
use srlg_alerts::notification::Notification;
use srlg_alerts::usual::{HOUR_MS, HourPeaks};
use tempfile::TempDir;

use super::*;

/// A state folder with the counts of past hours, and its configuration.
struct Past {
    folder: TempDir,
    tables: &'static str,
}

impl Past {
    fn new(tables: &'static str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), tables }
    }

    fn config(&self, rules: &str) -> String {
        let state = self.folder.path().join("state");
        format!("state = '{}'\nslice = '60s'\n{}\n{rules}", state.display(), self.tables)
    }

    /// Stores `hours` hours in which the hosts of `view` had the counts that `count` returns, and incidents of `servers`.
    fn store(
        &self,
        rules: &str,
        view: &str,
        hours: u64,
        servers: &[(u32, Kind)],
        count: impl Fn(u64) -> Vec<(u32, f64)>,
    ) {
        let config = Config::parse(&self.config(rules)).unwrap();
        let store = Store::open(config.general.state.as_deref()).unwrap();
        let view = config.views.iter().find(|it| it.name == view).unwrap();
        for window in view.rules.windows() {
            let series = HourSeries::new(&view.name, &view.view, u64::from(window) * 60_000);
            for hour in 0..hours {
                let mut peaks = HourPeaks::new(hour);
                peaks.counted_ms = HOUR_MS;
                count(hour).iter().for_each(|(number, count)| peaks.add(host(*number), *count));
                store.keep(&series, &peaks).unwrap();
            }
        }
        for (number, kind) in servers {
            let host = Name::from(host(*number));
            let incident = Notification { host, ..Notification::test(*kind, Status::Start, 5) };
            store.add(&[incident], &[]).unwrap();
        }
    }

    fn suggest(&self, rules: &str) -> Result<String> {
        let config = self.folder.path().join("srlg.toml");
        std::fs::write(&config, self.config(rules)).unwrap();
        suggest(&Args { config })
    }
}

fn host(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0000 + number).into()
}

/// Returns the counts of 20 clients with up to 59 peers, a resolver, and two hosts that stand out.
fn office(hour: u64) -> Vec<(u32, f64)> {
    let clients = (100..120).map(|number| (number, f64::from(number) - 60.0));
    let is_day = hour % 24 >= 8;
    let resolver = if is_day { 1_500.0 + hour as f64 } else { 300.0 };
    clients.chain([(53, resolver), (66, 400.0), (67, 300.0)]).collect()
}

const RULES: &str = "[[rule]]\nname = 'all'\nthresholds = { 10m = 1000 }\nrepeat = '10m'\nabove-usual = 2\n\
    [[rule]]\nname = 'quiet'\nnetworks = ['10.9.0.0/16']\nthresholds = { 10m = 100 }";

#[test]
fn the_suggested_rules_replace_those_of_the_configuration() {
    let past = Past::new("[[view]]\nname = 'in'\nrole = 'destination'");
    let incidents = [(53, Kind::Resolver), (53, Kind::Flood), (67, Kind::Scan)];
    past.store(RULES, "in", 8 * 24, &incidents, office);
    let rules = past.suggest(RULES).unwrap();
    insta::assert_snapshot!(rules);
    let config = Config::parse(&past.config(&rules)).unwrap();
    let rule = |of: u32| {
        let rule = config.views[0].rules.rule(host(of)).unwrap();
        (rule.name.clone(), rule.windows[&10].threshold)
    };
    assert_eq!(rule(53), ("10.0.0.53".to_owned(), 2_600.0));
    assert_eq!(rule(66), ("10.0.0.66".to_owned(), 600.0));
    assert_eq!(rule(67).0, "all", "this host has scanned");
    assert_eq!(rule(100), ("all".to_owned(), 89.0));
    assert_eq!(rule(0x9_0000), ("quiet".to_owned(), 100.0), "no host of this rule was recorded");
    let terms = config.views[0].rules.rule(host(53)).unwrap().windows[&10];
    assert_eq!((terms.above_usual, terms.repeat_ms), (Some(2.0), 600_000));
}

#[test]
fn the_default_rules_are_suggested_for_each_view_and_its_replies() {
    let past = Past::new("inside = ['10.0.0.0/8']");
    past.store("", "fan-in", 30, &[], office);
    past.store("", "replies-in", 30, &[], |_| vec![(100, 70.0)]);
    let rules = past.suggest("").unwrap();
    let config = Config::parse(&past.config(&rules)).unwrap();
    let threshold = |view: &str, of| {
        let view = config.views.iter().find(|it| it.name == view).unwrap();
        view.rules.rule(host(of)).unwrap().windows.values().next().unwrap().threshold
    };
    for view in ["fan-in", "replies-in"] {
        assert_eq!((threshold(view, 53), threshold(view, 100)), (2_300.0, 110.0), "{view}");
    }
    assert_eq!((threshold("fan-out", 100), threshold("networks-in", 100)), (1_024.0, 8_192.0));
    assert_eq!(rules.matches("fairly sure, from 30 h").count(), 1, "{rules}");
}

#[test]
fn without_data_there_is_no_suggestion() {
    let past = Past::new("");
    past.store("", "fan-in", 0, &[], office);
    assert!(past.suggest("").is_err());
}

#[test]
fn a_threshold_adds_half_and_has_two_digits() {
    for (base, expected) in [(2, 8), (6, 9), (66, 99), (67, 110), (1_024, 1_600), (30_001, 46_000)]
    {
        assert_eq!(threshold(base), expected);
    }
}

#[test]
fn one_in_a_thousand_may_exceed_the_base() {
    let peaks = |hosts: u32| {
        let mut past = super::Past::default();
        let mut peaks = HourPeaks::new(1);
        (1..=hosts).for_each(|number| peaks.add(host(number), f64::from(number)));
        past.add(&peaks);
        past.peaks()
    };
    assert_eq!(
        [0, 1, 999, 3_000].map(|hosts| base(&peaks(hosts))),
        [None, Some(1), Some(999), Some(2_997)]
    );
}

#[test]
fn no_threshold_is_above_what_a_host_can_reach() {
    let past = Past::new("inside = ['10.0.0.0/24']");
    past.store("", "outside", 30, &[], |_| vec![(0x0100_0000, 230.0)]);
    let rules = past.suggest("").unwrap();
    let config = Config::parse(&past.config(&rules)).unwrap();
    let outside = config.views.iter().find(|it| it.name == "outside").unwrap();
    let rule = outside.rules.rule(host(0x0100_0000)).unwrap();
    assert_eq!(rule.windows[&1].threshold, 128.0);
}
