//! Shows the web page with artificial overviews, one per second. The overviews contain everything that the page can
//! show.
//!
//! `cargo run -p srlg-cli --example page [ADDRESS [site|network [large]]]` prints the address of the page and runs
//! until it is stopped. With `network`, the page shows the overview of a collector. With `large`, the page shows 40 active
//! alerts and 10,000 incidents from the last 30 days.

use std::collections::BTreeMap;
use std::env;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use serde_json::json;
use srlg_alerts::LINE;
use srlg_alerts::notification::Notification;
use srlg_alerts::open::{LiveState, OpenAlert};
use srlg_alerts::series::{AlertPoint, OwnedPoint};
use srlg_alerts::status::overview::{
    DatagramCounts, ExporterOverview, InputOverview, MessageCounts, NetworkOverview, Overview,
    SinkOverview, SiteOverview, SpoolOverview, TopHost, ViewOverview,
};
use srlg_alerts::status::problems::{ProblemCounts, ProblemKind, ProblemOverview};
use srlg_alerts::status::recent::{RecentCounts, RecentRates, SliceCounts};
use srlg_input::Contact;
use srlg_input::contact::Sampling;
use srlg_notify::store::Store;
use srlg_notify::store::series::{MINUTE_MS, Minute, Series};
use srlg_web::server::{Visitors, Web};
use tokio::sync::watch::channel;

fn main() -> Result<()> {
    let address: SocketAddr = env::args().nth(1).as_deref().unwrap_or("127.0.0.1:0").parse()?;
    let (overviews, latest) = channel(Arc::default());
    let store = Store::open(None)?;
    let (start_ms, is_large) = (now_ms()?, env::args().nth(3).is_some_and(|it| it == "large"));
    let (days, count, alerts) = if is_large { (30, 10_000, 40) } else { (2, 200, 4) };
    (0..count).try_for_each(|at| add_incident(&store, at, count, days, start_ms))?;
    for minute in 0..1_440 {
        store.add_minute(values(start_ms / MINUTE_MS - 1_440 + minute), 1_440)?;
    }
    let web = Web::start(address, Visitors::default(), latest, &store)?;
    println!("the page is at http://{}/", web.address());
    let is_network = env::args().nth(2).is_some_and(|it| it == "network");
    let mut past = Past { store, rates: RecentRates::default(), counts: BTreeMap::new() };
    for second in LINE as u32.. {
        // The first overview follows two minutes of other overviews.
        let age_ms = 1_000 * u64::from((LINE as u32 + PAST).saturating_sub(second));
        let network = is_network.then(|| network(second));
        let started_ms = start_ms - 3_600_000;
        let overview =
            Overview { started_ms, network, ..overview(second, now_ms()? - age_ms, alerts)? };
        let overview = past.add(overview);
        if age_ms == 0 {
            overviews.send_replace(Arc::new(overview));
            thread::sleep(Duration::from_secs(1));
        }
    }
    Ok(())
}

/// Number of overviews before the first one that is shown.
const PAST: u32 = 120;

/// Values of former overviews.
struct Past {
    store: Store,
    rates: RecentRates,
    counts: BTreeMap<String, RecentCounts>,
}

impl Past {
    /// Adds the values of `overview`, and returns it with the values of the last ten minutes.
    fn add(&mut self, mut overview: Overview) -> Overview {
        let (time_ms, slice_ms) = (overview.now_ms, overview.slice_ms);
        self.rates.add(overview.counters(), overview.slice_ms);
        overview.recent = self.rates.clone();
        let is_input_lost = overview.is_input_lost;
        for view in &mut overview.views {
            let counts = self.counts.entry(view.name.clone()).or_default();
            let largest = view.top.first().map_or(0.0, |host| host.cardinality);
            let slice = SliceCounts { time_ms, super_points: view.super_points, largest };
            if !is_input_lost {
                counts.add(slice, slice_ms);
            }
            view.recent = counts.clone();
        }
        let points = overview.alerts.iter().map(|alert| {
            let Notification { id, main, rates, .. } = alert.notification_now().into_owned();
            let point = AlertPoint {
                time_ms,
                peers: (!is_input_lost).then_some(main.cardinality as u64),
                packets_per_second: rates.packets_per_second.filter(|_| !is_input_lost),
                bits_per_second: rates.bits_per_second.filter(|_| !is_input_lost),
            };
            OwnedPoint { owner: id, point }
        });
        self.store.add_points(slice_ms, &points.collect::<Vec<_>>());
        overview
    }
}

fn wave(second: u32, seed: u32) -> f64 {
    let (second, seed) = (f64::from(second), f64::from(seed));
    1.0 + 0.3 * (second / 17.0 + seed).sin() + 0.1 * (second / 3.0 + seed * seed).sin()
}

fn overview(second: u32, now_ms: u64, alerts: u8) -> Result<Overview> {
    let mut views =
        vec![view("fan-in", 57, second), view("fan-out", 9, second), view("outside", 0, second)];
    views[0].alerts = [0, alerts.into(), 0, 0];
    let alerts: Result<Arc<[OpenAlert]>> =
        (0..alerts).map(|at| open_alert(at, now_ms, second)).collect();
    Ok(Overview {
        now_ms,
        closed_ms: now_ms,
        slice_ms: 1_000,
        is_live: true,
        is_input_lost: second % 60 > 50,
        memory_bytes: 94_900_000,
        views,
        alerts: alerts?,
        input: InputOverview {
            contacts: 7_654_321 + u64::from(second) * 48_000,
            datagrams: DatagramCounts {
                received: 1_000 * u64::from(second),
                refused: 17,
                dropped: 3,
            },
            ..InputOverview::default()
        },
        exporters: (0..3).map(|at| exporter(at, second, now_ms)).collect(),
        problems: problems(now_ms),
        sinks: sinks(second),
        last_reload_ms: now_ms,
        is_last_reload_good: true,
        is_learning: false,
        ..Overview::default()
    })
}

fn view(name: &str, hosts: u32, second: u32) -> ViewOverview {
    let top = (0..hosts.min(50)).map(|at| host(at, second)).collect();
    let threshold = 1_024;
    let slices = u64::from(second);
    ViewOverview {
        name: name.to_owned(),
        window_ms: 60_000,
        threshold,
        found_from: Some(threshold.into()),
        super_points: hosts as usize,
        top,
        slices,
        overloads: 0,
        close_seconds: 0.012 * wave(second, 3),
        load: 0.4 * wave(second, hosts),
        share: 1,
        memory_bytes: 31_600_000,
        late: slices * u64::from(hosts),
        too_late: u64::from(hosts) / 9,
        ..ViewOverview::default()
    }
}

fn host(at: u32, second: u32) -> TopHost {
    let host: IpAddr = match at % 5 {
        3 => Ipv6Addr::new(0x2001, 0xdb8, 0x1234, 0x5678, 0x9abc, 0xdef0, 0x1234, at as u16).into(),
        _ => Ipv4Addr::new(198, 51, 100, at as u8).into(),
    };
    let count = |second| 60_000.0 / f64::from(at + 1) * wave(second, at) + 1_024.0;
    let line = (second.saturating_sub(LINE as u32 - 1)..=second).map(|it| count(it) as u32);
    TopHost {
        host: host.into(),
        label: match at {
            1 => Some("web shop".to_owned()),
            // The page must show this as plain text.
            2 => Some("<img src=x onerror=alert(1)>".to_owned()),
            _ => None,
        },
        cardinality: count(second),
        std_error: count(second) / 240.0,
        is_lower_bound: at == 0,
        is_alert: at < 4,
        line: line.collect(),
    }
}

fn alert(at: u8, now_ms: u64, second: u32) -> serde_json::Value {
    let severity = ["critical", "major"].get(usize::from(at)).unwrap_or(&"warning");
    let peers: Vec<String> =
        (0..32).map(|it| format!("203.0.{}.{}", 113 - it, (7 * it) ^ at)).collect();
    let origin =
        json!({ "asn": 64500, "as_name": "<b>Example Transit, Inc.</b>", "country": "DE" });
    let origins = peers.iter().take(20).map(|peer| (peer.clone(), origin.clone()));
    let origins: serde_json::Map<_, _> = origins.collect();
    let host = if at == 1 {
        "2001:db8:1234:5678:9abc:def0:1234:5678".to_owned()
    } else {
        format!("198.51.100.{at}")
    };
    let cardinality = cardinality(at, second);
    let window = |window_ms: u64, cardinality: f64, threshold: f64| {
        json!({
            "window_ms": window_ms, "is_active": true, "cardinality": cardinality, "std_error": cardinality / 240.0,
            "is_lower_bound": at == 0, "peak": 80_000.0, "peak_ms": now_ms - 40_000, "threshold": threshold,
            "unsampled_most": cardinality * 10.0,
        })
    };
    let windows = [window(60_000, cardinality, 1_024.0), window(3_600_000, 70_000.0, 8_192.0)];
    let mut alert = json!({
        "id": format!("{at:016x}"), "status": "update", "why": "repeat", "kind": "flood", "severity": severity,
        "view": "fan-in", "direction": "fan-in", "unit": "hosts", "is_inside": true, "rule": "default", "host": host,
        "label": "web shop",
        "start_ms": now_ms - 83_000 * (u64::from(at) + 1), "now_ms": now_ms - now_ms % 10_000, "duration_ms": 83_000,
        "windows": windows, "opposite": 12.0, "sampling": "1:10", "data_age_ms": 1_200,
        "exporters": ["192.0.2.1", "192.0.2.2"], "exporter_names": { "192.0.2.1": "edge-fra-1" }, "peers": peers, "detail_since_ms": now_ms - 80_000,
        "top_ports": [["tcp/443", 0.91], ["tcp/80", 0.06], ["udp/53", 0.01]], "top_source_ports": [["tcp/6000", 0.12]],
        "top_prefixes": [["203.0.113.0/24", 0.07], ["203.0.112.0/24", 0.06]], "syn_only": 0.97,
        "origin_sample": 32, "origins": origins,
        "top_as": [{ "asn": 64500, "as_name": origin["as_name"], "share": 0.625 }],
        "top_countries": [{ "country": "DE", "share": 0.625 }],
        "top_interfaces": [{ "exporter": "192.0.2.1", "interface": 517, "share": 0.8 }, { "exporter": "192.0.2.2", "interface": 9, "share": 0.2 }],
        "packets_per_second": (20.0 * cardinality) as u64, "bits_per_second": (2e5 * cardinality) as u64, "is_rate_scaled": true,
        "peak_rates": { "packets_per_second": 1_600_000, "bits_per_second": 16_000_000_000_u64, "is_rate_scaled": true },
        "text": format!("{host} (web shop) was contacted by {cardinality:.0} ± {:.0} hosts in the last 60 s (threshold 1024), mostly tcp/443{}", cardinality / 240.0, ["", ", at fra (62 %), ams (40 %)"][usize::from(at == 0)]),
    });
    if at == 0 {
        alert["sites"] = json!([
            { "site": "fra", "cardinality": 0.62 * cardinality, "share": 0.62 },
            { "site": "ams", "cardinality": 0.4 * cardinality, "share": 0.4 },
        ]);
        (alert["sites_without_details"], alert["missing_sites"]) = (json!(["lhr"]), json!(["lhr"]));
    }
    let main = windows[0].as_object().expect("an object").clone();
    alert.as_object_mut().expect("an object").extend(main);
    alert
}

fn cardinality(at: u8, second: u32) -> f64 {
    61_234.0 / f64::from(at + 1) * wave(second, at.into())
}

/// Returns an active alert whose last notification can be up to nine seconds older than its current counts.
fn open_alert(at: u8, now_ms: u64, second: u32) -> Result<OpenAlert> {
    let notification =
        |second| -> Result<Notification> { Ok(serde_json::from_value(alert(at, now_ms, second))?) };
    let Notification { windows, rates, .. } = notification(second)?;
    let line = second.saturating_sub(LINE as u32 - 1)..=second;
    let line = line.map(|second| cardinality(at, second) as u32).collect();
    let live = LiveState { now_ms, windows, line, rates, peak_rates: rates };
    Ok(OpenAlert { notification: Arc::new(notification(second - second % 10)?), live: Some(live) })
}

fn now_ms() -> Result<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis() as u64)
}

/// Adds incident number `at` of `count` ended incidents, whose starts are spread over the last `days` days.
fn add_incident(store: &Store, at: u64, count: u64, days: u64, now_ms: u64) -> Result<()> {
    let start_ms = now_ms - days * 86_400_000 * (count - at) / count;
    let of = (at % 4) as u8;
    let notification = |status: &str, age_ms: u64| -> Result<Notification> {
        let mut notification = alert(of, start_ms + age_ms, at as u32);
        notification["id"] = json!(format!("{:016x}", at + 16));
        notification["host"] = json!(Ipv4Addr::from(0xcb00_7100 + at as u32 % 251).to_string());
        notification["view"] = json!(["fan-in", "fan-out"][at as usize % 2]);
        notification["kind"] = json!(["flood", "scan"][at as usize % 2]);
        (notification["status"], notification["start_ms"]) = (json!(status), json!(start_ms));
        if status == "end" {
            notification["until_ms"] = json!(start_ms + age_ms);
        }
        Ok(serde_json::from_value(notification)?)
    };
    let length_ms = 30_000 + at * at % 97 * 60_000;
    store.add(&[notification("start", 0)?, notification("end", length_ms)?], &[])?;
    Ok(())
}

/// Returns the values of `minute`. One hour of each day has no values, so that the charts have a gap.
fn values(minute: u64) -> Minute {
    let second = (minute * 60) as u32;
    let of_view = |name: &str, hosts: f64, seed| {
        let most = 60_000.0 * wave(second / 9, seed);
        [
            (Series::SuperPoints(name.to_owned()), hosts * wave(second / 7, seed + 1)),
            (Series::Largest(name.to_owned()), most),
        ]
    };
    let is_gap = minute / 60 % 24 == 3;
    let values = [of_view("fan-in", 57.0, 1), of_view("fan-out", 9.0, 2)].concat();
    let values = values.into_iter().chain([(Series::Contacts, 48_000.0 * wave(second, 3))]);
    Minute { minute, values: values.filter(|_| !is_gap).collect() }
}

fn network(second: u32) -> NetworkOverview {
    let second = u64::from(second);
    let site = |name: &str, newest, spool| SiteOverview {
        name: name.to_owned(),
        newest,
        spool,
        counts: MessageCounts { in_time: newest.unwrap_or(0), ..MessageCounts::default() },
        ..SiteOverview::default()
    };
    let spool = |slices, unsent, lost| Some(SpoolOverview { slices, unsent, lost });
    let sites = vec![
        site("fra", Some(second), spool(10, 0, 0)),
        SiteOverview { is_late: true, ..site("ams", Some(second - 40), spool(1_440, 37, 12)) },
        site("lhr", None, None),
    ];
    NetworkOverview { is_reading: true, front: Some(second), sites, ..NetworkOverview::default() }
}

fn problems(now_ms: u64) -> Vec<ProblemOverview> {
    let (exporters, exporter_count) = (vec![[192, 0, 2, 2].into()], 1);
    let held = ProblemOverview {
        kind: ProblemKind::Held,
        since_ms: now_ms - 60_000,
        count: 203,
        exporters,
        exporter_count,
        text: "203 data sets from 192.0.2.2 arrived before their templates".to_owned(),
        remedy: "wait for the templates and configure the exporter to send them every minute",
    };
    let late = ProblemOverview {
        kind: ProblemKind::TooLate,
        count: 9_878,
        exporters: vec![Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()],
        text: "9878 contacts from 2001:db8::1 are not counted: older than the window".to_owned(),
        remedy: ProblemKind::TooLate.remedy(true),
        ..held.clone()
    };
    vec![held, late]
}

fn exporter(at: u8, second: u32, now_ms: u64) -> ExporterOverview {
    let second = u64::from(second) + 100;
    let mut problems = ProblemCounts::default();
    problems.add(ProblemKind::Held, u64::from(at % 2) * second);
    problems.add(ProblemKind::TooLate, u64::from(at / 2) * 9_878);
    let records = second * 16_000 * (u64::from(at) + 1);
    ExporterOverview {
        address: match at {
            2 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
            _ => Ipv4Addr::new(192, 0, 2, at + 1).into(),
        },
        name: (at == 0).then(|| "edge-fra-1".to_owned()),
        datagrams: records / 30,
        records,
        contacts: records,
        lost: (at < 2).then_some(u64::from(at) * second * 9),
        templates: 2 + usize::from(at),
        problems,
        waiting_since_ms: (at == 1).then_some(now_ms - 60_000),
        last_seen_ms: Some(now_ms - u64::from(at) * 700),
        is_silent: false,
        skew_ms: [12, -7_300, 420][usize::from(at)],
        sampling: sampling([&[10][..], &[0], &[4, 1000]][usize::from(at)]),
    }
}

/// A rate of 0 stands for an unknown sampling rate.
fn sampling(rates: &[u32]) -> Sampling {
    let mut sampling = Sampling::default();
    for rate in rates {
        let host = Ipv4Addr::LOCALHOST.into();
        let mut contact = Contact::new(0, host, host);
        (contact.exporter, contact.sampling) = (Some(host), NonZeroU32::new(*rate));
        sampling.add(&contact);
    }
    sampling
}

fn sinks(second: u32) -> Vec<SinkOverview> {
    let sent = u64::from(second);
    let works = SinkOverview { name: "syslog".to_owned(), sent, ..SinkOverview::default() };
    let error = "cannot connect: connection refused; next attempt in 32 s".to_owned();
    let (failed, queue) = (sent / 4, sent);
    let fails = SinkOverview {
        suppressed: 0,
        held: 0,
        name: "webhook".to_owned(),
        sent: 12,
        failed,
        dropped: 2,
        queue,
        error: Some(error),
    };
    vec![works, fails]
}
