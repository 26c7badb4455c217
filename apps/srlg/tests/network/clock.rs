//! The clock of one probe is set an hour forward, and back: no alert of the network ends, and none starts twice.
//!
//! Needs libfaketime (scripts/faketime.sh); without it a test says so and passes, and fails with
//! `SRLG_REQUIRE_FAKETIME=1`.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::collecting::alerts_of;
use crate::faketime::Clock;
use crate::net::{Net, PROBES, configuration_with};
use crate::node::Node;
use crate::sites::{Notices, RULES, Router, start_probe};

const HOUR_S: u32 = 3_600;

/// Longer than the window, the hold and the deadline together.
const AFTER: Duration = Duration::from_secs(20);

/// A rule of a second window, which is longer and never active: a window of silence is longer than the other and its hold.
fn rules() -> String {
    RULES.replace("{ 5s = 100 }", "{ 5s = 100, 20s = 5000 }")
}

fn now_ms(notice: &Value) -> u64 {
    notice["now_ms"].as_u64().unwrap()
}

/// A collector of the network of `probes`.
fn collect(net: &Net, probes: &[&str]) -> (Node, Notices) {
    let state = net.folder().join("state");
    let file = alerts_of(&state);
    let text = configuration_with(net.folder(), &rules());
    let text = text.replace("['a', 'b', 'c']", &format!("{probes:?}"));
    let broker = format!("[network]\nbroker = '{}'\ndeadline = '2s'", net.broker.address());
    let config = format!(
        "state = '{}'\n{}[[sink]]\ntype = 'file'\npath = '{}'\n",
        state.display(),
        text.replace("[network]", &broker),
        file.display()
    );
    let path = net.folder().join("srlg.toml");
    fs::write(&path, config).unwrap();
    let mut collector = Node::start(["collect", "--config", path.to_str().unwrap()]);
    collector.wait_for("http://");
    (collector, Notices { file })
}

/// Sets the clock of the first of `probes` forward and back, which alone sees a scan.
fn set_clock_of_one_of(probes: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let Some(clock) = Clock::new(folder.path()) else { return };
    let Some(net) = Net::with_rules(&rules(), 7) else { return };
    let (_collector, notices) = collect(&net, probes);
    let (_probe, address) = start_probe(&net, probes[0], &[], Some(&clock));
    let others = probes[1..].iter().map(|name| start_probe(&net, name, &[], None));
    let _others: Vec<_> = others.collect();
    let mut router = Router::new(0, &address);
    let mut scan = |time: Duration, last: Option<u64>| {
        let started = Instant::now();
        // Until slices of then have closed, too: the alert is told again after each.
        let is_over = |notices: &Notices| notices.all().last().map(now_ms) > last;
        while started.elapsed() < time || !is_over(&notices) {
            assert!(started.elapsed() < 4 * AFTER, "{last:?} {:?}", notices.all().last());
            router.export();
            thread::sleep(Duration::from_millis(250));
        }
    };
    scan(AFTER, Some(0));
    clock.set(HOUR_S.into());
    let before_ms = notices.all().last().map(now_ms);
    // With one probe the network goes with it; of several most know the time.
    let ahead_ms = if probes.len() == 1 { u64::from(HOUR_S) * 1_000 } else { 5_000 };
    scan(AFTER, before_ms.map(|before_ms| before_ms + ahead_ms));
    clock.set(0);
    scan(AFTER, None);
    let told = notices.all();
    let starts = told.iter().filter(|notice| notice["status"] == "start").count();
    assert_eq!(starts, 1);
    assert!(told.iter().all(|notice| notice["status"] != "end"), "{:?}", told.last());
}

#[test]
fn alerts_of_a_network_go_on_when_the_clock_of_its_only_probe_is_set() {
    set_clock_of_one_of(&PROBES[..1]);
}

#[test]
fn alerts_of_a_network_go_on_when_the_clock_of_one_of_its_probes_is_set() {
    set_clock_of_one_of(&PROBES);
}
