//! Incidents that the default configuration raises about attacks and about busy hosts.
//!
//! The monitor replays traffic in simulated time. The page docs/detection.md is generated from the table of scenarios,
//! whose rows this test plays.

mod incidents;
mod office;
mod page;
mod recorded;
#[path = "../program/simulated.rs"]
mod simulated;
mod table;

use std::fs;
use std::path::PathBuf;

use incidents::{Incident, Played};
use srlg_alerts::notification::Kind;
use table::{Incidents, Inside, Outcome, Scenario, scenarios};

/// Number of seconds for which a scenario is played after the first incident of a setting must have started.
const AFTER: u64 = 2;

impl Scenario {
    /// Plays `seconds` seconds of the scenario with the tables `tables` in the configuration.
    fn play(&self, seconds: u64, tables: &str) -> Vec<Incident> {
        let mut played = Played::new(self.inside.networks(), tables);
        played.site.traffic.observe(self.observation);
        played.pass(seconds, |traffic, second| self.actor.act(traffic, second));
        played.incidents()
    }
}

impl Inside {
    const fn networks(self) -> &'static str {
        match self {
            Self::Large => "'10.0.0.0/8', '2001:db8::/32'",
            Self::Small => "'198.51.100.0/24'",
        }
    }
}

/// Asserts that `found` is `expected`.
fn assert_incidents(name: &str, found: &[Incident], expected: &Outcome) {
    let (sent, unsent): (Vec<_>, Vec<_>) = found.iter().partition(|it| it.is_sent);
    let Outcome::Found(Incidents { within, kind, protocol, by_view }) = expected else {
        let kinds: Vec<_> = unsent.iter().map(|it| Outcome::Busy(it.kind)).collect();
        let expected = Some(expected.clone()).filter(|it| *it != Outcome::NotFound);
        assert_eq!((sent, kinds), (Vec::new(), Vec::from_iter(expected)), "{name}");
        return;
    };
    // Hosts of a worm are led by the first one.
    assert!(*kind == Kind::Worm || unsent.is_empty(), "{name}: {found:?}");
    let found = sent;
    assert!(found.iter().all(|it| it.protocol.as_deref() == *protocol), "{name}: {found:?}");
    let first = found.iter().map(|it| it.after).min();
    // A limit that is far above the time says nothing.
    let least = within - within / 4 - 2;
    assert!(first.is_some_and(|it| (least..=*within).contains(&it)), "{name}: {found:?}");
    assert!(found.iter().all(|it| it.kind == *kind), "{name}: {found:?}");
    for (view, count) in *by_view {
        assert_eq!(found.iter().filter(|it| it.view == *view).count(), *count, "{name}: {found:?}");
    }
    let count: usize = by_view.iter().map(|(_, count)| count).sum();
    assert_eq!(found.len(), count, "{name}: {found:?}");
}

#[test]
fn every_scenario_raises_the_incidents_of_the_page() {
    for scenario in scenarios() {
        let Scenario { name, seconds, by_default, otherwise, .. } = &scenario;
        assert_incidents(name, &scenario.play(*seconds, ""), by_default);
        if let Some((setting, outcome)) = otherwise {
            let Outcome::Found(Incidents { within, .. }) = outcome else { panic!("{name}") };
            assert_incidents(name, &scenario.play(within + AFTER, setting.text()), outcome);
        }
    }
}

#[test]
fn what_the_default_configuration_misses_has_a_setting_that_finds_it() {
    for Scenario { name, actor, by_default, otherwise, .. } in scenarios() {
        let is_missed = actor.is_hostile() && by_default == Outcome::NotFound;
        assert_eq!(otherwise.is_some(), is_missed, "{name}");
    }
}

#[test]
fn the_page_is_that_of_the_table() {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/detection.md"].iter().collect();
    let page = page::write(&scenarios());
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, &page).unwrap();
    }
    let is_same = fs::read_to_string(&path).is_ok_and(|committed| committed == page);
    assert!(is_same, "docs/detection.md differs from the table; run {}", page::COMMAND);
}
