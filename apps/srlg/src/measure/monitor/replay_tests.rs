//! A replay that defers pairs must have the notifications of a replay that closes every slice.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;

use srlg_alerts::series::{AlertPoint, AlertSeries, OwnedPoint};
use srlg_alerts::{AlertId, Status};
use srlg_traffic::synthetic::mix;

use super::*;

/// First second of the traffic, since the Unix epoch.
const START: u64 = 1_700_000_000;

/// Second at which a flood starts.
const FLOOD: u64 = 400;

/// Second of a second flood, after a silence of more than the longest window.
const SECOND_FLOOD: u64 = 3_000;

/// Returns a monitor of two views with windows of 20 seconds and 5 minutes.
fn monitor() -> Monitor {
    monitor_with(1_000_000, "20s = 200, 5m = 600")
}

/// Returns a monitor of two views with `memory` bytes each, and these `thresholds`.
fn monitor_with(memory: usize, thresholds: &str) -> Monitor {
    let view = |name, role| {
        format!("[[view]]\nname = '{name}'\nrole = '{role}'\npairs = 10_000\nmemory = {memory}\n")
    };
    let views = view("fan-in", "destination") + &view("fan-out", "source");
    let text = format!(
        "inside = ['10.0.0.0/8']\n[input]\ninput = ['-']\n{views}\
         [[rule]]\nname = 'r'\nthresholds = {{ {thresholds} }}\nhold = '5s'\nrepeat = '1m'\n"
    );
    Monitor::new(&Config::parse(&text).unwrap(), 7).unwrap()
}

/// Returns the contacts of the second with the given number: one contact in every 30 seconds, except for a silence
/// that begins at the end of the first flood.
fn contacts(second: u64) -> impl Iterator<Item = Contact> {
    let is_flood = [FLOOD, SECOND_FLOOD].iter().any(|start| (*start..start + 12).contains(&second));
    let peers = match second {
        _ if is_flood => 40,
        second if (FLOOD..SECOND_FLOOD).contains(&second) => 0,
        second => u64::from(second.is_multiple_of(30)),
    };
    (0..peers).map(move |peer| {
        let [.., high, middle, low] = (second * 40 + peer).to_be_bytes();
        let time_ns = (START + second) * 1_000_000_000 + peer;
        let (peer, host) = ([198, high, middle, low].into(), [10, 0, 0, 1].into());
        if is_flood { Contact::new(time_ns, peer, host) } else { Contact::new(time_ns, host, peer) }
    })
}

/// Replays the contacts of `seconds` and returns the notifications.
fn replay(monitor: &mut Monitor, seconds: Range<u64>) -> Vec<Notification> {
    let mut notified = Vec::new();
    for contact in seconds.flat_map(contacts) {
        monitor.ingest(&contact).unwrap();
        notified.extend(monitor.notifications().unwrap());
    }
    notified
}

/// Returns the end of the last slice, and the number of closed slices of each view.
fn closed(monitor: &mut Monitor) -> (u64, Vec<u64>) {
    let views = monitor.overview(&InputStatus::default()).views;
    (monitor.now_ms(), views.iter().map(|view| view.slices).collect())
}

#[test]
fn deferred_pairs_change_no_notification() {
    let (mut plain, mut deferred) = (monitor(), monitor());
    assert!(deferred.site.views.iter().all(|view| view.deferral.is_some()));
    plain.site.views.iter_mut().for_each(|view| view.deferral = None);
    assert_eq!(replay(&mut plain, 0..FLOOD), []);
    assert_eq!(replay(&mut deferred, 0..FLOOD), []);
    assert!(plain.site.views.iter().all(|view| view.detector.slice() > START));
    assert!(deferred.site.views.iter().all(|view| view.detector.slice() <= START));
    let rest = FLOOD..SECOND_FLOOD + 600;
    let mut expected = replay(&mut plain, rest.clone());
    let mut found = replay(&mut deferred, rest);
    for (monitor, notified) in [(&mut plain, &mut expected), (&mut deferred, &mut found)] {
        monitor.finish().unwrap();
        notified.extend(monitor.notifications().unwrap());
    }
    let of = |status| expected.iter().filter(|it| it.status == status).count();
    assert_eq!((of(Status::Start), of(Status::End)), (2, 2));
    assert_eq!(found, expected);
    let texts: Vec<&str> = expected.iter().map(|it| it.text.as_str()).collect();
    insta::assert_snapshot!(texts.join("\n"));
    assert_eq!(closed(&mut deferred), closed(&mut plain));
    for (plain, deferred) in plain.site.views.iter().zip(&deferred.site.views) {
        assert!(plain.detector.snapshot().unwrap() == deferred.detector.snapshot().unwrap());
    }
}

#[test]
fn the_series_of_an_incident_has_the_count_of_each_notification_and_its_peak() {
    let mut monitor = monitor();
    let mut notified = replay(&mut monitor, FLOOD - 30..SECOND_FLOOD + 600);
    monitor.finish().unwrap();
    notified.extend(monitor.notifications().unwrap());
    let mut series: BTreeMap<AlertId, AlertSeries> = BTreeMap::new();
    for OwnedPoint { owner, point } in monitor.manager_mut().take_points() {
        series.entry(owner).or_insert_with(|| AlertSeries::new(1_000, point.time_ms)).add(point);
    }
    assert_eq!((series.len(), notified.len()), (2, 4));
    for Notification { id, now_ms, start_ms, main, status, .. } in notified {
        let points: Vec<AlertPoint> = series[&id].points().collect();
        let at = points.iter().find(|point| point.time_ms == now_ms).unwrap();
        assert_eq!(at.peers, Some(main.cardinality.round() as u64));
        assert_eq!(points[0].time_ms, start_ms);
        if status == Status::End {
            let peak = points.iter().find(|point| point.time_ms == main.peak_ms).unwrap();
            assert_eq!(peak.peers, Some(main.peak.round() as u64));
            assert_eq!(points.iter().map(|point| point.peers).max(), Some(peak.peers));
            assert!(points.len() as u64 == (now_ms - start_ms) / 1_000 + 1, "{points:?}");
        }
    }
}

/// Number of other hosts that have new peers in every second of a flood of forged addresses.
const HOSTS: u64 = 16_384;

// Each of the hosts has about 22 peers in a window.
#[test]
fn more_pairs_than_planned_raise_the_share_and_no_alert_of_an_ordinary_host() {
    let mut monitor = monitor_with(150_000, "20s = 200");
    let mut notified = Vec::new();
    for second in 0..50 {
        let others = (0..18_000_u64).map(|number| {
            let random = mix(second << 32 | number);
            ((random % HOSTS) as u32, (random >> 32) as u32)
        });
        let own = (0..25).map(|number| (u32::MAX, ((second * 25 + number) << 2) as u32));
        for (host, peer) in others.chain(own) {
            let host = Ipv4Addr::from_bits(0x0a00_0000 | host & 0x00ff_ffff);
            let peer = Ipv4Addr::from_bits(0xc000_0000 | peer >> 2);
            let time_ns = (START + second) * 1_000_000_000;
            monitor.ingest(&Contact::new(time_ns, peer.into(), host.into())).unwrap();
        }
        notified.extend(monitor.notifications().unwrap());
    }
    let views = monitor.overview(&InputStatus::default()).views;
    assert!(views[0].share > 1 && views[0].load < 4.0, "{} {}", views[0].share, views[0].load);
    assert_eq!((views[1].share, views[1].load), (1, 0.0));
    assert!(!notified.is_empty());
    for notification in notified {
        assert_eq!(notification.host.to_string(), "10.255.255.255", "{notification:?}");
    }
}
