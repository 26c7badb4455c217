//! The clock of one probe is set forward by an hour, and later to the correct time. Alerts of the network must not end,
//! and must not start a second time.
//!
//! The tests need libfaketime (scripts/faketime.sh). If libfaketime is missing, the tests are skipped with a message.
//! With `SRLG_REQUIRE_FAKETIME=1`, the tests fail instead.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::faketime::Clock;
use crate::net::Net;
use crate::network_traffic::PROBES;
use crate::process::PATIENCE;
use crate::routers::{Notifications, RULES, Router, start_collector, start_probe};

const HOUR_S: u32 = 3_600;

/// A time that is longer than the first window, the hold time and the deadline together.
const AFTER: Duration = Duration::from_secs(8);

fn now_ms(notification: &Value) -> u64 {
    notification["now_ms"].as_u64().unwrap()
}

/// Sets the clock of the first probe forward and back, and asserts that the alert of a scan starts once and does not
/// end. Only the first probe sees the scan.
fn set_clock_of_one_of(probes: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let Some(clock) = Clock::new(folder.path()) else { return };
    let Some(net) = Net::with_rules(RULES, 7) else { return };
    let (_collector, notifications) = start_collector(&net, probes);
    let (_probe, address) = start_probe(&net, probes[0], "", Some(&clock));
    let others = probes[1..].iter().map(|name| start_probe(&net, name, "", None));
    let _others: Vec<_> = others.collect();
    let mut router = Router::new("127.0.0.2", &address);
    let mut scan = |time: Duration, last: Option<u64>| {
        let started = Instant::now();
        // The slices of that time must also be closed. A notification follows each close.
        let is_over = |notifications: &Notifications| notifications.all().last().map(now_ms) > last;
        while started.elapsed() < time || !is_over(&notifications) {
            assert!(
                started.elapsed() < AFTER + PATIENCE,
                "{last:?} {:?}",
                notifications.all().last()
            );
            router.export();
            thread::sleep(Duration::from_millis(250));
        }
    };
    scan(AFTER, Some(0));
    let before_ms = notifications.all().last().map(now_ms);
    clock.set(HOUR_S.into());
    // A single probe sets the time of the network. With several probes, most of them have the correct time.
    let ahead_ms = if probes.len() == 1 { u64::from(HOUR_S) * 1_000 } else { 5_000 };
    scan(AFTER, before_ms.map(|before_ms| before_ms + ahead_ms));
    clock.set(0);
    scan(AFTER, None);
    let sent = notifications.all();
    let starts = sent.iter().filter(|notification| notification["status"] == "start").count();
    assert_eq!(starts, 1);
    assert!(sent.iter().all(|notification| notification["status"] != "end"), "{:?}", sent.last());
}

#[test]
fn alerts_of_a_network_stay_active_when_the_clock_of_its_only_probe_is_set() {
    set_clock_of_one_of(&PROBES[..1]);
}

#[test]
fn alerts_of_a_network_stay_active_when_the_clock_of_one_of_its_probes_is_set() {
    set_clock_of_one_of(&PROBES);
}
