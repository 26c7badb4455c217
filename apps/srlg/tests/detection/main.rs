//! Incidents that the default configuration raises about attacks and about busy hosts.
//!
//! The monitor replays traffic in simulated time. The page docs/detection.md is generated from the table of scenarios,
//! whose rows this test plays.

mod captures;
mod incidents;
mod matrix;
mod office;
mod page;
mod recorded;
#[path = "../program/simulated.rs"]
mod simulated;
mod table;

use std::fs;
use std::path::PathBuf;

use captures::CAPTURES;
use incidents::{Incident, Played};
use matrix::Matrix;
use srlg_alerts::notification::Kind;
use srlg_cli::config::Config;
use srlg_cli::config::blind_spots::blind_spots;
use srlg_cli::traffic::Observation;
use table::{Incidents, Inside, Missed, Outcome, Scenario, Setting, scenarios};

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
        if let Some(Missed { setting, outcome, .. }) = otherwise {
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
fn an_outside_server_with_many_clients_is_no_scanner_if_requests_to_it_count() {
    let cdn = scenarios().into_iter().find(|it| it.name == "CDN").unwrap();
    let found = cdn.play(cdn.seconds, Setting::Replies.text());
    assert_incidents(cdn.name, &found, &Outcome::Busy(Kind::Server));
    // A single view cannot tell.
    let all = "[[view]]\nname = 'all'\nmeasure = 'outside'\nrole = 'source'\n";
    assert!(cdn.play(cdn.seconds, all).iter().all(|it| it.is_sent && it.kind == Kind::Unknown));
}

#[test]
fn what_the_default_configuration_misses_is_announced_until_the_setting_finds_it() {
    for Scenario { name, observation, inside, otherwise, .. } in scenarios() {
        let Some(Missed { spot, setting, .. }) = otherwise else { continue };
        let sampling = match observation {
            Observation::Sampled(rate) => rate.get(),
            Observation::Packets | Observation::Flows(_) => 1,
        };
        let announced = |tables: &str| {
            let config = format!(
                "inside = [{}]\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n\
                 sampling = {sampling}\n{tables}",
                inside.networks()
            );
            let spots = blind_spots(&Config::parse(&config).unwrap()).into_iter();
            spots.filter(|it| spot.is(it)).collect::<Vec<_>>()
        };
        let by_default = announced("");
        assert_eq!(by_default.len(), 1, "{name}");
        assert_ne!(announced(setting.text()), by_default, "{name}");
    }
}

/// Returns the matrix of the scenarios and captures, without the exports of the same traffic. Attacks that the default
/// configuration does not find are those of their settings.
fn with_ports() -> Matrix {
    let mut matrix = Matrix::default();
    for Scenario { actor, by_default, otherwise, .. } in scenarios() {
        let Some(truth) = table::truth(&actor) else { continue };
        match otherwise.map_or(by_default, |missed| missed.outcome) {
            Outcome::NotFound => {}
            Outcome::Busy(kind) => matrix.add(truth, kind, 1),
            Outcome::Found(Incidents { kind, by_view, .. }) => {
                matrix.add(truth, kind, by_view.iter().map(|(_, count)| count).sum());
            }
        }
    }
    let captures = CAPTURES.iter().filter(|it| !it.is_export);
    captures.for_each(|it| matrix.add(it.truth, it.kind, 1));
    matrix
}

#[test]
fn kinds_are_correct_if_the_input_has_ports_and_no_attack_is_called_a_busy_host() {
    let (with_ports, without_ports) = (with_ports(), recorded::expected());
    assert!(with_ports.correct() >= 0.95, "{with_ports:?}");
    assert_eq!((with_ports.disguised(), without_ports.disguised()), (0, 0));
}

#[test]
fn the_page_is_that_of_the_table() {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/detection.md"].iter().collect();
    let page = page::write(&scenarios(), &with_ports(), &recorded::expected());
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, &page).unwrap();
    }
    let is_same = fs::read_to_string(&path).is_ok_and(|committed| committed == page);
    assert!(is_same, "docs/detection.md differs from the table; run {}", page::COMMAND);
}
