//! Live counts, incidents, hosts and series in the API.

use std::io::{BufRead as _, BufReader};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use srlg_alerts::notification::{Notification, NotifiedWindow, Rates};
use srlg_alerts::open::{LiveState, OpenAlert};
use srlg_alerts::origins::PeerOrigins;
use srlg_alerts::series::{AlertPoint, OwnedPoint};
use srlg_alerts::status::overview::{Overview, ViewOverview};
use srlg_alerts::usual::{HOUR_MS, HourPeaks, HourSeries, HourStore as _, STORED_HOURS, WEEK};
use srlg_alerts::{AlertId, Status};
use srlg_input::ViewOptions;
use srlg_notify::store::Store;
use srlg_notify::store::series::{MINUTE_MS, Minute, Series};
use srlg_system::now_ms;
use srlg_web::server::Web;

use super::made::{ask, get, overview, start_with};
use crate::sinks::made::notifications;

fn stored(hosts: u16) -> (Store, Vec<Notification>) {
    let (store, notifications) = (Store::open(None).unwrap(), notifications(hosts));
    store.add(&notifications, &[]).unwrap();
    (store, notifications)
}

fn json(web: &Web, path: &str) -> Value {
    let (status, _, body) = get(web, path);
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn id(number: u64) -> AlertId {
    format!("{number:016x}").parse().unwrap()
}

/// Returns an active alert whose last notification is five slices old.
fn open(notification: &Notification, cardinality: f64) -> OpenAlert {
    let window = NotifiedWindow { cardinality, peak: 9e3, ..notification.main };
    let windows = vec![window, NotifiedWindow { window_ms: 600_000, ..window }];
    let (now_ms, line) = (notification.now_ms + 5_000, [1, 2, cardinality as u32].into());
    let rates = Rates { packets_per_second: Some(1_234), ..Rates::default() };
    let live = LiveState { now_ms, windows, line, rates, peak_rates: rates };
    OpenAlert { notification: Arc::new(notification.clone()), live: Some(live) }
}

#[test]
fn an_incident_of_two_windows_is_one_row_with_the_counts_of_the_last_slice() {
    let (store, notifications) = stored(1);
    let with = |cardinality| {
        let alerts = [open(&notifications[0], cardinality)].into();
        Overview { alerts, ..overview(now_ms()) }
    };
    let (web, overviews) = start_with(with(4_321.0), &store);
    for cardinality in [4_321.0, 8_000.0, 17.0] {
        overviews.send_replace(Arc::new(with(cardinality)));
        let alerts = json(&web, "/api/v1/alerts");
        let alerts = alerts.as_array().unwrap();
        assert_eq!(alerts.len(), 1);
        let alert = &alerts[0];
        assert_eq!((&alert["cardinality"], &alert["peak"]), (&json!(cardinality), &json!(9e3)));
        assert_eq!(alert["packets_per_second"], 1_234);
        assert_eq!(alert["windows"].as_array().unwrap().len(), 2);
        assert_eq!(alert["now_ms"], notifications[0].now_ms + 5_000);
        assert_eq!(alert["notified_ms"], notifications[0].now_ms);
        assert_eq!(alert["line"], json!([1, 2, cardinality as u32]));
        assert_eq!(
            (&alert["id"], &alert["text"]),
            (&json!(notifications[0].id), &json!(notifications[0].text))
        );
        assert_eq!(json(&web, "/api/v1/status")["alerts"][0], *alert);
        let id = notifications[0].id;
        assert_eq!(json(&web, &format!("/api/v1/incidents/{id}"))["alert"], *alert);
    }
}

#[test]
fn a_page_gets_200_alerts_and_the_api_all() {
    let (store, notifications) = stored(1);
    let alert = |at: u64| open(&Notification { id: id(at), ..notifications[0].clone() }, at as f64);
    let alerts = (0..300).map(alert).collect();
    let (web, _overviews) = start_with(Overview { alerts, ..overview(now_ms()) }, &store);
    for path in ["/api/v1/alerts", "/api/v1/status"] {
        let answer = json(&web, path);
        let alerts = answer.as_array().or_else(|| answer["alerts"].as_array()).unwrap();
        assert_eq!(alerts.len(), 300, "{path}");
    }
    let mut lines = BufReader::new(ask(web.address(), "/events", "localhost")).lines();
    let event = lines.find_map(|line| line.unwrap().strip_prefix("data: ").map(str::to_owned));
    let page: Value = serde_json::from_str(&event.unwrap()).unwrap();
    assert_eq!(page["alerts"].as_array().unwrap().len(), 200);
}

#[test]
fn incidents_are_paged_and_filtered() {
    let (store, notifications) = stored(5);
    let (web, _overviews) = start_with(overview(now_ms()), &store);
    let of = |page: &Value| -> Vec<String> {
        let incidents = page["incidents"].as_array().unwrap();
        incidents.iter().map(|it| it["host"].as_str().unwrap().to_owned()).collect()
    };
    let mut hosts: Vec<String> = notifications[..5].iter().map(|it| it.host.to_string()).collect();
    hosts.reverse();
    let all = json(&web, "/api/v1/incidents");
    assert_eq!((of(&all), &all["next"]), (hosts.clone(), &Value::Null));
    let first = json(&web, "/api/v1/incidents?limit=3");
    assert_eq!((of(&first), &first["next"]), (hosts[..3].to_vec(), &json!(3)));
    let second = json(&web, "/api/v1/incidents?limit=3&before=3");
    assert_eq!((of(&second), &second["next"]), (hosts[3..].to_vec(), &Value::Null));
    let host = &hosts[1];
    let (view, kind) = (&notifications[0].view, notifications[0].kind);
    let one =
        format!("/api/v1/incidents?host={host}&view={view}&kind={kind}&from=0&severity=warning");
    assert_eq!(of(&json(&web, &one)), std::slice::from_ref(host));
    let incident = &json(&web, &one)["incidents"][0];
    assert_eq!(
        (&incident["is_over"], &incident["start_ms"]),
        (&json!(true), &json!(notifications[0].start_ms))
    );
    for path in ["to=1", "view=none", "network=192.0.2.0/24", "port=tcp/1", "severity=critical"] {
        assert_eq!(of(&json(&web, &format!("/api/v1/incidents?{path}"))), [""; 0], "{path}");
    }
}

#[test]
fn an_incident_has_all_its_notifications_and_a_host_all_its_incidents() {
    let (store, notifications) = stored(2);
    let (web, _overviews) = start_with(overview(now_ms()), &store);
    let of_first: Vec<&Notification> =
        notifications.iter().filter(|it| it.id == notifications[0].id).collect();
    let detail = json(&web, &format!("/api/v1/incidents/{}", notifications[0].id));
    assert_eq!(detail["alert"], Value::Null);
    assert_eq!(detail["notifications"], json!(of_first));
    assert_eq!(of_first.last().unwrap().status, Status::End);
    let path = format!("/api/v1/hosts/{}", notifications[0].host);
    let host = json(&web, &path);
    assert_eq!(host["host"], json!(notifications[0].host));
    assert_eq!(host["incidents"].as_array().unwrap().len(), 1);
    assert_eq!(host["incidents"][0]["id"], json!(notifications[0].id));
    assert_eq!((&host["counts"], &host["alerts"]), (&json!([]), &json!([])));
    // The overview has this host in the view that lists it among its largest hosts.
    let largest = json(&web, "/api/v1/hosts/192.0.2.7?view=fan-in");
    assert_eq!(largest["counts"][0]["cardinality"], 2_000.0);
    // The pages of incidents and hosts exist for any id and address.
    for path in ["/incident/0000000000000000", "/host/2001:db8::1?view=x"] {
        assert!(get(&web, path).2.contains("src=\"../detail.js\""), "{path}");
    }
}

#[test]
fn series_have_a_value_a_minute_and_null_in_gaps() {
    let store = Store::open(None).unwrap();
    let exporter = "198.51.100.1".parse().unwrap();
    for minute in [100_000, 100_001, 100_004] {
        let values = [
            (Series::SuperPoints("fan-in".to_owned()), 7.0),
            (Series::Largest("fan-in".to_owned()), minute as f64),
            (Series::Contacts, 50.0),
            (Series::Records(exporter), 3.0),
        ];
        store.add_minute(Minute { minute, values: values.into() }, 100).unwrap();
    }
    let (web, _overviews) = start_with(overview(now_ms()), &store);
    let (from, to) = (100_000 * MINUTE_MS, 100_005 * MINUTE_MS);
    let values =
        json(&web, &format!("/api/v1/series?view=fan-in&exporter={exporter}&from={from}&to={to}"));
    let expected = json!({
        "start_ms": from,
        "step_ms": MINUTE_MS,
        "contacts": [50.0, 50.0, null, null, 50.0, null],
        "super_points": [7.0, 7.0, null, null, 7.0, null],
        "largest": [100_000.0, 100_001.0, null, null, 100_004.0, null],
        "records": [3.0, 3.0, null, null, 3.0, null],
        // No slice of this program closed in the period.
        "recent": {
            "start_ms": to, "step_ms": 1_000, "contacts": [], "super_points": [], "largest": [], "records": [],
        },
    });
    assert_eq!(values, expected);
    let month = json(&web, &format!("/api/v1/series?from={}&to={to}", to - 30 * 1_440 * MINUTE_MS));
    assert_eq!(month["step_ms"], 30 * MINUTE_MS);
    let hour = json(&web, "/api/v1/series?view=fan-in");
    assert_eq!(hour["largest"].as_array().unwrap().len(), 61);
}

#[test]
fn bad_parameters_are_refused_in_one_line() {
    let (web, _overviews) = start_with(overview(now_ms()), &Store::open(None).unwrap());
    let mut texts = String::new();
    for (path, status) in [
        ("incidents?hosts=x", 400),
        ("incidents?host=x", 400),
        ("incidents?network=x", 400),
        ("incidents?port=x", 400),
        ("incidents?kind=x", 400),
        ("incidents?severity=x", 400),
        ("incidents?from=x", 400),
        ("incidents?limit=0", 400),
        ("incidents?limit=1001", 400),
        ("incidents/x", 400),
        ("incidents/0000000000000000", 404),
        ("incidents/0000000000000000/series", 404),
        ("hosts/x", 400),
        ("hosts/192.0.2.1?x=1", 400),
        ("hosts/192.0.2.1?view=none", 404),
        ("series?view=x", 404),
        ("series?exporter=x", 400),
        ("series?from=2&to=1", 400),
    ] {
        let (found, _, body) = get(&web, &format!("/api/v1/{path}"));
        assert_eq!(found, status, "{path}: {body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        texts += &format!("{path}\n  {}\n", body["error"].as_str().unwrap());
    }
    insta::assert_snapshot!(texts);
}

/// Stores 30 days until `last` with the counts of 16,384 hosts each, and reads what is usual at the next hour.
fn keep_hours(store: &Store, last: u64) {
    let series = HourSeries::new("fan-in", &ViewOptions::default(), 60_000);
    let mut slowest = Duration::ZERO;
    for hour in last - STORED_HOURS..=last {
        let mut peaks = HourPeaks::new(hour);
        peaks.counted_ms = HOUR_MS;
        for number in 0..16_384_u32 {
            let host = std::net::Ipv4Addr::from(0x0a00_0000 + number);
            peaks.add(host.into(), f64::from(number % 1_000));
        }
        let started = Instant::now();
        store.keep(&series, &peaks).unwrap();
        slowest = slowest.max(started.elapsed());
    }
    println!("storing an hour takes at most {slowest:?}");
    let started = Instant::now();
    for week in 1..=4 {
        let then = last + 1 - week * WEEK;
        assert_eq!(store.hours(&series, then - 1..=then + 1).unwrap().len(), 3);
    }
    println!("reading what is usual takes {:?}", started.elapsed());
}

/// Stores series of ten minutes for `incidents` incidents, in turns of 100 active alerts, and of a day for the last one.
/// Counts and rates vary by up to 10 %. Returns the longest time that storing ten seconds takes.
fn keep_series(store: &Store, incidents: u64) -> Duration {
    let mut slowest = Duration::ZERO;
    let mut random = 1_u64;
    let mut varied = |value: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        value + value * (random >> 33) / 10 / (1 << 31)
    };
    let mut points = |owner: u64, seconds: std::ops::Range<u64>| -> Vec<OwnedPoint> {
        let (owner, size) = (id(owner), 1 + owner % 40);
        let point = |second| OwnedPoint {
            owner,
            point: AlertPoint {
                time_ms: 1_700_000_000_000 + second * 1_000,
                peers: Some(varied(1_000 * size)),
                packets_per_second: Some(varied(20_000 * size)),
                bits_per_second: Some(varied(90_000_000 * size)),
            },
        };
        seconds.map(point).collect()
    };
    for first in (0..incidents).step_by(100) {
        // Only the last incidents are stored as often as the program does, because the others would take minutes.
        let step = if first + 100 < incidents { 100 } else { 10 };
        for start in (0..600).step_by(step) {
            let seconds = start..start + step as u64;
            let added: Vec<OwnedPoint> =
                (first..first + 100).flat_map(|it| points(it, seconds.clone())).collect();
            assert_eq!(store.add_points(1_000, &added), 0);
            let started = Instant::now();
            store.store_points().unwrap();
            if step == 10 {
                slowest = slowest.max(started.elapsed());
            }
        }
    }
    assert_eq!(store.add_points(1_000, &points(incidents - 1, 600..86_400)), 0);
    store.store_points().unwrap();
    slowest
}

/// `cargo test -p srlg-cli --test site thirty -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn thirty_days_of_a_busy_site_answer_within_100_ms() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let (incidents, days, now) = (10_000_u64, 30_u64, now_ms());
    let bytes = || std::fs::metadata(srlg_notify::store::path(folder.path())).unwrap().len() as f64;
    let template: Notification =
        serde_json::from_str(include_str!("../../../../alerts/src/notification/sample.json"))
            .unwrap();
    let origin = &template.origins.known["203.0.113.9"];
    for at in 0..incidents {
        let start_ms = now - days * 86_400_000 * (incidents - at) / incidents;
        let host =
            std::net::Ipv4Addr::from(0x0a00_0000 + (at as u32).wrapping_mul(2_654_435) % 65_536);
        let peers =
            (0..32).map(|peer| std::net::Ipv4Addr::from(0xcb00_0000 + 32 * at as u32 + peer));
        let origins = PeerOrigins {
            known: peers.clone().map(|peer| (peer.to_string(), origin.clone())).collect(),
            top_as: vec![template.origins.top_as[0].clone(); 8],
            ..template.origins.clone()
        };
        let of = |status, age_ms| Notification {
            id: id(at),
            status,
            host: std::net::IpAddr::from(host).into(),
            peers: peers.clone().map(|peer| std::net::IpAddr::from(peer).into()).collect(),
            origins: origins.clone(),
            start_ms,
            now_ms: start_ms + age_ms,
            until_ms: (status == Status::End).then_some(start_ms + age_ms),
            ..template.clone()
        };
        let notifications =
            [of(Status::Start, 0), of(Status::Update, 60_000), of(Status::End, 600_000)];
        store.add(&notifications, &[]).unwrap();
    }
    let last = now / MINUTE_MS;
    let (mut slowest, mut total) = (Duration::ZERO, Duration::ZERO);
    for minute in last - days * 1_440..=last {
        let views = ["fan-in", "fan-out", "outside"].map(str::to_owned);
        let of_views = views.into_iter().flat_map(|view| {
            let value = (minute * 7_919 % 90_001) as f64;
            [(Series::SuperPoints(view.clone()), value % 300.0), (Series::Largest(view), value)]
        });
        let exporters = (0..20).map(|at| {
            (
                Series::Records([198, 51, 100, at].into()),
                (minute * u64::from(at + 1) % 30_011) as f64,
            )
        });
        let contacts = [(Series::Contacts, (minute * 31 % 300_007) as f64)];
        let values = of_views.chain(exporters).chain(contacts).collect();
        let started = Instant::now();
        store.add_minute(Minute { minute, values }, days * 1_440).unwrap();
        slowest = slowest.max(started.elapsed());
        total += started.elapsed();
    }
    let writes = (days * 1_440) as u32;
    println!("writing a minute takes {:?} on average, at most {slowest:?}", total / writes);
    let before = bytes();
    println!("the file takes {:.1} MB", before / 1e6);
    let slowest = keep_series(&store, incidents);
    let ratio = bytes() / before;
    println!("storing ten seconds of 100 active alerts takes at most {slowest:?}");
    println!(
        "with the series of incidents, it takes {:.1} MB, {ratio:.2} times as much",
        bytes() / 1e6
    );
    assert!(ratio <= 1.3);
    keep_hours(&store, now / HOUR_MS);
    println!("with the hours of one view, it takes {:.1} MB", bytes() / 1e6);
    let view = ViewOverview { name: "fan-in".to_owned(), ..ViewOverview::default() };
    let overview = Overview { views: vec![view], ..overview(now) };
    let (web, _overviews) = start_with(overview, &store);
    let (day, month) = (now - 86_400_000, now - days * 86_400_000);
    let middle = now - 15 * 86_400_000;
    let id = store.incidents(&Default::default()).unwrap()[5_000].id;
    for path in [
        format!("incidents?from={day}&to={now}"),
        format!("incidents?from={month}&to={}", month + 86_400_000),
        format!("incidents?from={middle}&to={}&limit=1000", middle + 86_400_000),
        "incidents?host=10.0.77.1".to_owned(),
        "incidents?network=10.0.77.0/24&kind=scan".to_owned(),
        "incidents?label=none".to_owned(),
        "incidents?port=tcp/1".to_owned(),
        format!("incidents/{id}"),
        format!("incidents/{id}/series"),
        format!("incidents/{:016x}/series", incidents - 1),
        "hosts/10.0.77.1".to_owned(),
        format!("series?view=fan-in&from={day}&to={now}"),
        format!("series?view=fan-in&from={month}&to={now}"),
        format!("series?exporter=198.51.100.7&from={month}&to={now}"),
    ] {
        // The first request may have to read from the disk.
        let times: Vec<Duration> = (0..5)
            .map(|_| {
                let started = Instant::now();
                json(&web, &format!("/api/v1/{path}"));
                started.elapsed()
            })
            .collect();
        let slowest = times.iter().max().unwrap();
        println!("{:>6.1} ms {path}", slowest.as_secs_f64() * 1e3);
        assert!(*slowest < Duration::from_millis(100), "{path}");
    }
}
