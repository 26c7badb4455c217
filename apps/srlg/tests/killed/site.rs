//! A monitor (`srlg run`) that is killed repeatedly.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_notify::store::Store;
use srlg_notify::store::history::IncidentFilter;
use srlg_notify::store::series::{MinuteRange, Series};
use srlg_system::now_ms;

use crate::notifications::assert_notified_once;
use crate::process::{PATIENCE, Process};
use crate::{Kill, kills};

/// Number of hosts. Half of the hosts are flooded in each phase.
const HOSTS: u64 = 8;
const PHASE_MS: u64 = 2_500;

fn start(folder: &Path) -> Process {
    let config = folder.join("srlg.toml");
    let mut monitor = Process::srlg(["run", "--config", config.to_str().unwrap()]);
    monitor.write("time_ms,src,dst\n");
    monitor
}

/// Returns one contact of a host that is never flooded and, unless `is_calm` is set, floods of half of the [`HOSTS`]
/// hosts.
fn contacts(is_calm: bool) -> String {
    let now = now_ms();
    let mut lines = format!("{now},192.0.2.1,10.1.0.1\n");
    for host in (0..HOSTS).filter(|host| !is_calm && (now / PHASE_MS + host).is_multiple_of(2)) {
        for peer in 0..100 {
            writeln!(lines, "{now},198.51.100.{peer},10.{host}.0.7").unwrap();
        }
    }
    lines
}

fn feed(monitor: &mut Process, time: Duration, is_calm: bool) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        monitor.write(&contacts(is_calm));
        thread::sleep(Duration::from_millis(40));
    }
}

#[test]
fn alerts_start_once_and_end_once_whenever_a_monitor_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let [state, alerts] = ["state", "alerts"].map(|name| folder.path().join(name));
    let config = format!(
        "state = '{}'\nslice = '100ms'\ncheckpoint = '300ms'\n[input]\ninput = ['-']\nlive = true\n\
         [[view]]\nname = 'in'\nrole = 'destination'\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 500ms = 50 }}\nhold = '300ms'\n\
         [[sink]]\ntype = 'file'\npath = '{}'\n",
        state.display(),
        alerts.display()
    );
    std::fs::write(folder.path().join("srlg.toml"), config).unwrap();
    for Kill { after, .. } in kills(1, 2_500) {
        let mut monitor = start(folder.path());
        feed(&mut monitor, after, false);
        monitor.kill();
    }
    let restarted_ms = now_ms();
    let mut monitor = start(folder.path());
    let alerts = || std::fs::read_to_string(folder.path().join("alerts")).unwrap_or_default();
    let count = |status: &str| alerts().matches(&format!("\"status\":\"{status}\"")).count();
    let mut feed_until = |is_calm: bool, is_done: &dyn Fn() -> bool| {
        let until = Instant::now() + PATIENCE;
        while !is_done() {
            assert!(Instant::now() < until, "alerts have not started or ended\n{}", monitor.log());
            feed(&mut monitor, Duration::from_millis(100), is_calm);
        }
    };
    // The monitor may have been killed before some of the hosts had an alert. An alert of this run is needed as well,
    // because the database does not have the minutes in which the monitor was killed.
    let has_alert = |host| alerts().contains(&format!("\"host\":\"10.{host}.0.7\""));
    let is_new = |line: &str| {
        let notification: Value = serde_json::from_str(line).unwrap();
        notification["status"] == "start" && notification["start_ms"].as_u64() > Some(restarted_ms)
    };
    feed_until(false, &|| {
        let alerts = alerts();
        let whole = alerts.rfind('\n').map_or("", |end| &alerts[..end]);
        whole.lines().any(is_new) && (0..HOSTS).all(has_alert)
    });
    feed_until(true, &|| count("end") == count("start"));
    monitor.hang_up();
    let (code, said) = monitor.end();
    assert_eq!(code, Some(0), "{said}");
    let ids = assert_notified_once(&alerts());
    assert!(ids.len() as u64 >= HOSTS, "{ids:?}");
    // The database has the same notifications after any number of restarts.
    let store = Store::read(&state).unwrap();
    let incidents = store.incidents(&IncidentFilter::default()).unwrap();
    assert!(incidents.iter().all(|it| it.is_over && it.end_ms > Some(it.start_ms)));
    let stored: BTreeSet<String> = incidents.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(stored, ids);
    for incident in incidents {
        // Points of the last seconds before a kill are lost.
        let is_whole = incident.start_ms > restarted_ms;
        let series = store.alert_series(incident.id).unwrap();
        let most = series.points().filter_map(|point| point.peers).max();
        let peak = Some(incident.peak.round() as u64);
        assert!(if is_whole { most == peak } else { most <= peak }, "{incident:?} {series:?}");
    }
    let range = MinuteRange { first: 0, last: u64::MAX >> 1, step: 1 };
    let largest = store.values(&Series::Largest("in".to_owned()), range).unwrap();
    assert!(largest.iter().any(|(_, most)| *most >= 50.0), "{largest:?}");
    println!("{} alerts, each with one start and one end", ids.len());
}
