//! Names of exporters and origins of peers in notifications.

use std::fs;
use std::net::IpAddr;

use srlg_alerts::notification::Notification;
use srlg_cli::config::Config;
use srlg_cli::measure::monitor::Monitor;
use srlg_input::Contact;

use super::mmdb::{as_database, country_database};
use super::view;

/// Lets 200 hosts in two networks contact 10.0.0.1 in each of `seconds`. Returns the last notification.
fn feed(monitor: &mut Monitor, seconds: std::ops::Range<u64>) -> Notification {
    let mut last = None;
    for second in seconds {
        let time_ns = (1_750_000_000 + second) * 1_000_000_000;
        monitor.advance(time_ns).unwrap();
        for peer in 0..200 {
            let peer = [198, 51, 100 + peer / 100, peer % 100];
            let mut contact = Contact::new(time_ns, peer.into(), [10, 0, 0, 1].into());
            contact.exporter = Some([192, 0, 2, 1 + peer[3] % 2].into());
            monitor.ingest(&contact).unwrap();
        }
        last = monitor.notifications().unwrap().pop().or(last);
    }
    last.expect("a notification")
}

#[test]
fn notifications_have_the_origins_of_peers_and_the_names_of_exporters_as_they_were_read_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str| {
        let file =
            as_database(&[("198.51.100.0/24", 64_500, name), ("198.51.101.0/24", 64_501, "b")]);
        fs::write(path("as"), file).unwrap();
    };
    write("a");
    fs::write(path("country"), country_database(&[("198.51.100.0/23", "DE")])).unwrap();
    let text = |name: &str| {
        format!(
            "as-file = '{}'\ncountry-file = '{}'\n{}[[rule]]\nname = 'r'\nthresholds = {{ 5s = 50 }}\nrepeat = '5s'\n\
             [[exporter]]\nname = '{name}'\nnetworks = ['192.0.2.1']\n",
            path("as").display(),
            path("country").display(),
            view("a", "destination")
        )
    };
    let mut config = Config::parse(&text("edge-1")).unwrap();
    config.read_databases().unwrap();
    let mut monitor = Monitor::new(&config, 1).unwrap();
    let edge = IpAddr::from([192, 0, 2, 1]);

    let notification = feed(&mut monitor, 0..10);
    assert_eq!(notification.exporters.len(), 2);
    assert_eq!(notification.exporter_names, [(edge, "edge-1".to_owned())].into());
    let origins = &notification.origins;
    assert_eq!((notification.peers.len(), origins.origin_sample), (32, Some(32)));
    let countries: Vec<_> =
        origins.top_countries.iter().map(|it| (&*it.country, it.share)).collect();
    assert_eq!(countries, [("DE", 1.0)]);
    for (asn, prefix) in [(64_500, "198.51.100."), (64_501, "198.51.101.")] {
        let peers = notification.peers.iter().filter(|peer| peer.to_string().starts_with(prefix));
        let share = peers.count() as f64 / 32.0;
        let of = origins.top_as.iter().find(|it| it.asn == asn).unwrap();
        assert_eq!(of.share, share, "{asn}");
        assert_eq!(origins.known[&format!("{prefix}0/24")].asn, Some(asn));
    }
    for peer in &notification.peers {
        let is_first = peer.to_string().starts_with("198.51.100.");
        let expected = if is_first { "a" } else { "b" };
        assert_eq!(origins.known[&peer.to_string()].as_name.as_deref(), Some(expected), "{peer}");
    }

    // A reload reads both databases again.
    write("c");
    assert_eq!(config.take_over(Config::parse(&text("edge-2")).unwrap()), [""; 0]);
    monitor.reload(&config);
    let name = |notification: &Notification| {
        let first = notification.origins.top_as.iter().find(|it| it.asn == 64_500);
        first.and_then(|it| it.as_name.clone())
    };
    let notification = feed(&mut monitor, 10..20);
    assert_eq!(name(&notification).as_deref(), Some("c"));
    assert_eq!(notification.exporter_names[&edge], "edge-2");

    // If a database cannot be read, the previous database stays in use, and all other changes are applied.
    fs::write(path("as"), "half a file").unwrap();
    let left = config.take_over(Config::parse(&text("edge-3")).unwrap());
    assert_eq!(left.len(), 1, "{left:?}");
    monitor.reload(&config);
    let notification = feed(&mut monitor, 20..30);
    assert_eq!(name(&notification).as_deref(), Some("c"));
    assert_eq!(notification.exporter_names[&edge], "edge-3");
}
