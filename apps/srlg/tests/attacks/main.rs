//! Attacks on what srlg tells people and machines. Whatever others do, a host above four times the threshold has a start
//! at every machine sink within five slices, and no end while it is above.
//!
//! The monitor has the default configuration and runs in simulated time. `SRLG_ATTACKS` is the number of runs of each
//! attack, with seeds from 1 (default: 1). The page docs/security.md lists what each attack costs.

#[path = "../program/gobgp_recipe.rs"]
mod gobgp_recipe;
#[path = "../program/http.rs"]
mod http;
#[path = "../program/simulated.rs"]
mod simulated;
mod watched;

use std::collections::BTreeSet;
use std::net::IpAddr;

use srlg_alerts::notification::{Kind, Notification};
use srlg_alerts::{Severity, Status};
use srlg_cli::traffic::Traffic;

use gobgp_recipe::{Recipe, has_jq};
use watched::Watched;

/// Number of forged sources of a flood per second, each with ten packets. After three seconds, their number is above
/// four times the threshold of 1,024.
const SOURCES: u32 = 1_500;

/// Maximum number of slices between the first packet of a flood and the start of its alert: three until the count is
/// above four times the threshold, and five more.
const SLICES: u64 = 8;

fn flood(traffic: &mut Traffic, victim: IpAddr) {
    traffic.flood(victim, SOURCES, 10);
}

/// Runs `attack` with each seed.
fn with_seeds(attack: impl Fn(u64)) {
    let runs = std::env::var("SRLG_ATTACKS").map_or(1, |runs| runs.parse().unwrap());
    (1..=runs).for_each(attack);
}

/// Returns ten hosts of the network of a victim, and the victim.
fn networks() -> [(Vec<IpAddr>, IpAddr); 2] {
    let v6 = |host: u16| [0x2001, 0xdb8, 9, 0, 0, 0, 0, host].into();
    [
        ((1..=10).map(|host| [10, 9, 9, host].into()).collect(), [10, 9, 9, 200].into()),
        ((1..=10).map(v6).collect(), v6(200)),
    ]
}

fn statuses(notifications: &[&Notification]) -> Vec<Status> {
    notifications.iter().map(|it| it.status).filter(|it| *it != Status::Update).collect()
}

/// Returns the routes that the recipe announces for `notifications`.
fn routes(notifications: &[Notification]) -> BTreeSet<String> {
    let recipe = Recipe::new();
    for notification in notifications {
        recipe.run(&[], notification);
    }
    recipe.routes()
}

#[test]
fn neighbours_of_a_victim_end_no_alert_and_prevent_none() {
    for (neighbours, victim) in networks() {
        for flood_from in [0, 30] {
            let mut watched = Watched::new(flood_from + 1);
            let decoys = |traffic: &mut Traffic, second: u64| {
                if (30 - flood_from..50).contains(&second) {
                    neighbours.iter().for_each(|it| traffic.flood(*it, 60, 1));
                }
            };
            watched.pass(flood_from, decoys);
            watched.pass(60, |traffic, second| {
                flood(traffic, victim);
                decoys(traffic, second + flood_from);
            });
            watched.assert_reported(victim, flood_from, SLICES);
            // The count falls when the window has passed, and the alert ends after `hold`.
            watched.pass(180, |_, _| {});
            assert_eq!(statuses(&watched.about("fan-in", victim)), [Status::Start, Status::End]);
        }
    }
}

#[test]
fn crowds_of_small_alerts_delay_no_severe_one() {
    with_seeds(|seed| {
        for decoys in [200_u8, 75] {
            let mut watched = Watched::new(seed);
            let victim: IpAddr = [10, 9, 9, 200].into();
            let crowd = |traffic: &mut Traffic| {
                // Each of the hosts is a little above the threshold, and half of them are inside hosts.
                for decoy in 0..decoys {
                    let host = |number: u64| [10, 1, (number >> 8) as u8, number as u8].into();
                    match decoy % 2 {
                        0 => traffic.scan([198, 51, 100, decoy].into(), 22, host),
                        _ => traffic.flood([10, 5, decoy, 1].into(), 22, 1),
                    }
                }
            };
            watched.pass(90 + seed % 30, |traffic, _| crowd(traffic));
            let from = watched.site.second;
            watched.pass(10, |traffic, _| {
                crowd(traffic);
                flood(traffic, victim);
            });
            watched.assert_reported(victim, from, SLICES);
            let small =
                watched.site.notified.iter().filter(|it| it.status == Status::Start).count();
            assert!(small > usize::from(decoys), "{small} small alerts");
        }
    });
}

#[test]
fn twenty_packets_a_second_announce_no_route_to_an_innocent_host() {
    if !has_jq() {
        return;
    }
    with_seeds(|seed| {
        let mut watched = Watched::new(seed);
        let innocent: IpAddr = [10, 3, 3, 3].into();
        watched.pass(90, |traffic, _| traffic.flood(innocent, 21, 1));
        assert_eq!(statuses(&watched.about("fan-in", innocent)), [Status::Start]);
        assert_eq!(routes(&watched.site.notified), BTreeSet::new());
    });
}

#[test]
fn carpet_bombing_below_all_thresholds_is_an_alert_of_the_network() {
    with_seeds(|seed| {
        let mut watched = Watched::new(seed);
        watched.pass(11, |traffic, _| {
            (0..250).for_each(|host| traffic.flood([10, 7, 7, host].into(), 6, 1));
        });
        let alerts = watched.site.notified.iter().filter(|it| it.status == Status::Start);
        let alerts: Vec<_> = alerts.collect();
        let [alert] = alerts[..] else { panic!("{alerts:?}") };
        assert_eq!(
            (alert.view.as_str(), alert.host.to_string().as_str()),
            ("networks-in", "10.7.7.0/24")
        );
        assert_eq!(alert.kind, Kind::Flood);
        // All slices up to the one that the alert is about have 1,500 sources each.
        let slices = (alert.now_ms / 1_000) - (watched.site.start_ms / 1_000);
        let truth = (slices * 1_500) as f64;
        let error = (alert.main.cardinality - truth) / alert.main.std_error;
        assert!(error.abs() <= 3.0, "{} ± {}", alert.main.cardinality, alert.main.std_error);
    });
}

#[test]
fn only_the_victim_of_a_flood_is_announced_among_servers_and_scanners() {
    if !has_jq() {
        return;
    }
    with_seeds(|seed| {
        let mut watched = Watched::new(seed);
        let victim: IpAddr = [10, 9, 9, 200].into();
        watched.pass(60, |traffic, _| {
            traffic.serve([10, 1, 0, 53].into(), 53, 100);
            traffic.serve([10, 1, 0, 80].into(), 80, 100);
            traffic.scan([198, 51, 100, 9].into(), 100, |it| {
                [10, 1, (it >> 8) as u8, it as u8].into()
            });
            flood(traffic, victim);
        });
        let hosts: BTreeSet<String> =
            watched.site.notified.iter().map(|it| it.host.to_string()).collect();
        for host in ["10.1.0.53", "10.1.0.80", "198.51.100.9", "10.9.9.200"] {
            // The rules of the monitor decide which hosts have alerts, so that the recipe has something to refuse.
            assert!(hosts.contains(host), "{hosts:?}");
        }
        assert_eq!(routes(&watched.site.notified), ["10.9.9.200/32".to_owned()].into());
        assert_eq!(watched.victims(), ["10.9.9.200".to_owned()].into());
        let severe = watched.site.notified.iter().filter(|it| it.severity >= Severity::Major);
        assert!(severe.count() > 0);
    });
}
