//! Tests of the web page, the metrics and the API over HTTP connections.

mod acting;
mod connections;
mod csv;
mod files;
mod history;
mod made;
pub(crate) mod problems;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use srlg_alerts::status::overview::{
    BrokerOverview, DatagramCounts, InputOverview, NetworkOverview, Overview, ProbeOverview,
    SiteOverview, SpoolOverview,
};
use srlg_input::contact::Sampling;
use srlg_input::live::ConnectionCounts;
use srlg_notify::store::Store;
use srlg_system::now_ms;
use srlg_web::server::{Visitors, Web};
use tokio::sync::watch::channel;

use made::{answer, ask, get, network, overview, sampling, send, start};

#[test]
fn programs_read_alerts_super_points_and_the_status() {
    let (web, _overviews) = start(overview(now_ms()));
    let json = |path: &str| -> Value { serde_json::from_str(&get(&web, path).2).unwrap() };
    assert_eq!(json("/api/v1/alerts"), Value::Array(Vec::new()));
    assert_eq!(json("/api/v1/status")["views"][0]["super_points"], 2);
    assert_eq!(json("/api/v1/top?view=fan-in").as_array().unwrap().len(), 2);
    let top = json("/api/v1/top?view=fan-in&limit=1");
    assert_eq!((top.as_array().unwrap().len(), &top[0]["host"]), (1, &"192.0.2.7".into()));
    let (status, head, body) = get(&web, "/healthz");
    assert_eq!((status, body.as_str()), (200, "ok"));
    assert!(head.contains("cache-control: no-store"), "{head}");
}

#[test]
fn unknown_losses_are_null_and_no_metric() {
    let mut overview = overview(now_ms());
    overview.exporters[0].lost = None;
    let (web, _overviews) = start(overview);
    let (_, _, text) = get(&web, "/metrics");
    assert!(text.contains("srlg_records_total{") && !text.contains("srlg_lost_total{"), "{text}");
    let (_, _, status) = get(&web, "/api/v1/status");
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["exporters"][0]["lost"], Value::Null);
}

#[test]
fn metrics_have_no_address_but_those_of_exporters() {
    let (web, overviews) = start(overview(now_ms()));
    let (_, _, text) = get(&web, "/metrics");
    for line in [
        "srlg_slices_total{view=\"fan-in\"} 7",
        "srlg_alerts{view=\"fan-in\",severity=\"major\"} 1",
        "srlg_lost_total{exporter=\"198.51.100.1\"} 5",
        "srlg_templates{exporter=\"198.51.100.1\"} 2",
        "srlg_exporter_problems_total{exporter=\"198.51.100.1\",reason=\"held\"} 6",
        "srlg_exporter_problems_total{exporter=\"198.51.100.1\",reason=\"too-late\"} 0",
        "srlg_problem{reason=\"held\"} 0",
        "srlg_clock_skew_seconds{exporter=\"198.51.100.1\"} -1.5",
        "srlg_notifications_total{sink=\"hook\",result=\"failed\"} 4",
        "srlg_sampling_rate{exporter=\"198.51.100.1\"} 10",
        "srlg_config_last_reload_successful 1",
        "srlg_exporters 1",
    ] {
        assert!(text.lines().any(|it| it == line), "no {line} in {text}");
    }
    assert!(!text.contains("192.0.2.7"));
    overviews.send_replace(Arc::new(Overview { exporters: Vec::new(), ..overview(now_ms()) }));
    assert!(
        !get(&web, "/metrics").2.contains("198.51.100.1"),
        "metrics of removed exporters must disappear"
    );
}

#[test]
fn reported_states_of_sites_have_metrics() {
    let fra = SiteOverview {
        name: "fra".to_owned(),
        spool: Some(SpoolOverview { slices: 12, unsent: 3, lost: 4 }),
        datagrams: Some(DatagramCounts { received: 90, refused: 3, dropped: 1 }),
        ..SiteOverview::default()
    };
    let sites = vec![fra, SiteOverview { name: "ams".to_owned(), ..SiteOverview::default() }];
    let network = NetworkOverview { sites, ..NetworkOverview::default() };
    let (web, _overviews) = start(Overview { network: Some(network), ..overview(now_ms()) });
    let (_, _, text) = get(&web, "/metrics");
    const REPORTED: [&str; 4] =
        ["_spool_", "_lost_slices_", "_probe_datagrams_", "_probe_dropped_"];
    let of_reports = |line: &&str| REPORTED.iter().any(|name| line.contains(name));
    let lines: BTreeSet<&str> =
        text.lines().filter(|line| !line.starts_with('#')).filter(of_reports).collect();
    let expected = [
        "srlg_probe_datagrams_total{probe=\"fra\"} 90",
        "srlg_probe_dropped_total{probe=\"fra\",reason=\"kernel\"} 1",
        "srlg_probe_dropped_total{probe=\"fra\",reason=\"sender\"} 3",
        "srlg_probe_lost_slices_total{probe=\"fra\"} 4",
        "srlg_probe_spool_slices{probe=\"fra\"} 12",
        "srlg_probe_spool_unsent_slices{probe=\"fra\"} 3",
    ];
    assert_eq!(lines, expected.into());
    let (_, _, text) = get(&web, "/api/v1/status");
    let status: Value = serde_json::from_str(&text).unwrap();
    let sites = &status["network"]["sites"];
    assert_eq!(sites[0]["spool"], json!({ "slices": 12, "unsent": 3, "lost": 4 }));
    assert_eq!(sites[0]["datagrams"], json!({ "received": 90, "refused": 3, "dropped": 1 }));
    assert_eq!((&sites[1]["spool"], &sites[1]["datagrams"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_broker_that_cannot_be_read_is_on_the_page_and_in_the_metrics() {
    let broker = BrokerOverview {
        source: "kafka://broker:9092/flows".to_owned(),
        partitions: 4,
        messages: 1_000,
        unused: [("malformed", 7), ("no-hosts", 2)].into(),
        lag: 30,
        expired: 5,
        dropped: 2,
        retries: 3,
        error: Some("partition 2: no answer for 10 s".to_owned()),
    };
    let (web, _overviews) = start(Overview { broker: Some(broker), ..overview(now_ms()) });
    let (_, _, text) = get(&web, "/metrics");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("srlg_broker_")).collect();
    let expected = [
        "srlg_broker_dropped_total 2",
        "srlg_broker_expired_total 5",
        "srlg_broker_failing 1",
        "srlg_broker_lag_messages 30",
        "srlg_broker_messages_total 1000",
        "srlg_broker_partitions 4",
        "srlg_broker_retries_total 3",
        "srlg_broker_unused_total{reason=\"malformed\"} 7",
        "srlg_broker_unused_total{reason=\"no-hosts\"} 2",
    ];
    let sorted = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert_eq!(sorted(&lines), sorted(&expected));
    let (_, _, text) = get(&web, "/api/v1/status");
    let status: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status["health"]["level"], "warn");
    let health = status["health"]["text"].as_str().unwrap();
    assert!(health.contains("partition 2: no answer for 10 s"), "{health}");
    assert_eq!(status["broker"]["lag"], 30);
}

/// Returns the metrics of a collector that reads from a broker and from TCP connections, followed by those of a probe.
fn all_metrics() -> String {
    let broker =
        Some(BrokerOverview { unused: [("malformed", 1)].into(), ..BrokerOverview::default() });
    let connections = Some(ConnectionCounts::default());
    let input = InputOverview { connections, ..InputOverview::default() };
    let collector = Overview { network: Some(network()), broker, input, ..overview(now_ms()) };
    let probe = Overview { probe: Some(ProbeOverview::default()), ..overview(now_ms()) };
    let metrics = |overview| {
        let (web, _overviews) = start(overview);
        get(&web, "/metrics").2
    };
    metrics(collector) + &metrics(probe)
}

#[test]
fn the_documentation_lists_every_metric_with_its_labels() {
    let text = all_metrics();
    let exported: BTreeSet<String> =
        text.lines().filter(|line| line.starts_with("srlg_")).map(name_and_labels).collect();
    let page = include_str!("../../../../../docs/operating.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `srlg_")?.split('`').next());
    let documented: BTreeSet<String> = rows.map(|row| format!("srlg_{row}")).collect();
    assert_eq!(documented, exported);
}

/// Returns the metric name and the label names of a line, such as `name{label,label}`.
fn name_and_labels(line: &str) -> String {
    // Values of labels contain no quotation marks.
    let names: String = line.split('"').step_by(2).collect();
    names.split(' ').next().unwrap_or_default().replace('=', "")
}

#[test]
fn metrics_have_labels_of_1024_exporters_at_most() {
    let mut many = overview(now_ms());
    many.exporters = vec![many.exporters[0].clone(); 1_500];
    for (address, exporter) in (0x0a00_0000_u32..).zip(&mut many.exporters) {
        exporter.address = std::net::Ipv4Addr::from(address).into();
    }
    let samplings = [sampling([4, 2000, 0]), sampling([0, 0, 0]), Sampling::default()];
    for (exporter, sampling) in many.exporters.iter_mut().zip(samplings) {
        exporter.sampling = sampling;
    }
    let (web, _overviews) = start(many);
    let (_, _, text) = get(&web, "/metrics");
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(lines("srlg_records_total{"), 1_024);
    assert_eq!(lines("srlg_exporters 1500"), 1);
    assert_eq!(
        lines("srlg_sampling_rate{"),
        1_022,
        "the sampling rate must be unknown for two exporters"
    );
    assert_eq!(lines("srlg_sampling_rate{exporter=\"10.0.0.0\"} 2000"), 1);
}

#[test]
fn the_page_has_200_of_12000_exporters_with_all_silent_ones() {
    let mut many = overview(now_ms());
    many.exporter_count = 12_000;
    many.exporters = vec![many.exporters[0].clone(); many.exporter_count];
    for (number, exporter) in (0_u32..).zip(&mut many.exporters) {
        exporter.address = std::net::Ipv4Addr::from(0x0a00_0000 + number).into();
        exporter.records = u64::from(number);
        exporter.is_silent = number == 7;
    }
    let (web, _overviews) = start(many);
    let (_, _, text) = get(&web, "/api/v1/status");
    assert!(text.len() <= 100_000, "{}", text.len());
    let status: Value = serde_json::from_str(&text).unwrap();
    let shown = status["exporters"].as_array().unwrap();
    let records: Vec<u64> = shown.iter().map(|it| it["records"].as_u64().unwrap()).collect();
    assert_eq!(records, [7].into_iter().chain(12_000 - 199..12_000).collect::<Vec<_>>());
    assert_eq!(status["exporter_count"], 12_000);
    assert!(status["health"]["text"].as_str().unwrap().contains("10.0.0.7"), "{text}");
}

#[test]
fn a_stalled_monitor_is_not_healthy() {
    let closed =
        |ago_ms: u64| Overview { closed_ms: now_ms() - ago_ms, ..overview(now_ms() - 60_000) };
    let (web, overviews) = start(closed(11_000));
    let (status, _, body) = get(&web, "/healthz");
    let seconds: Option<u64> = body.split(' ').find_map(|word| word.parse().ok());
    assert!(status == 503 && seconds >= Some(11), "{body}");
    let status_of = |overview: Overview| {
        overviews.send_replace(Arc::new(overview));
        get(&web, "/healthz").0
    };
    assert_eq!(status_of(Overview { is_live: false, ..closed(11_000) }), 200);
    let status: Value = serde_json::from_str(&get(&web, "/api/v1/status").2).unwrap();
    assert_eq!(status["health"]["level"], "good");
    overviews.send_replace(Arc::new(closed(11_000)));
    let status: Value = serde_json::from_str(&get(&web, "/api/v1/status").2).unwrap();
    assert_eq!(status["health"]["level"], "bad");
    // The age of the data does not matter, because a restart would not make the data newer.
    assert_eq!(status_of(closed(0)), 200);
    // A collector closes a slice later if a probe is silent.
    let waiting = |ago_ms| Overview { deadline_ms: 10_000, ..closed(ago_ms) };
    assert_eq!([11_000, 21_000].map(|ago_ms| status_of(waiting(ago_ms))), [200, 503]);
}

#[test]
fn the_status_the_page_and_healthz_agree_on_the_health() {
    let (web, overviews) = start(overview(now_ms()));
    let of = |overview: Overview| {
        overviews.send_replace(Arc::new(overview));
        let status: Value = serde_json::from_str(&get(&web, "/api/v1/status").2).unwrap();
        let (code, _, healthz) = get(&web, "/healthz");
        (code, healthz, status["health"].clone())
    };
    let good = json!({ "level": "good", "text": "counting" });
    assert_eq!(of(overview(now_ms())), (200, "ok".to_owned(), good));
    let failing = Overview { is_checkpoint_failing: true, ..overview(now_ms()) };
    let text = "cannot write a checkpoint";
    let bad = json!({ "level": "warn", "text": text });
    assert_eq!(of(failing), (200, format!("degraded: {text}"), bad));
}

#[test]
fn others_than_this_machine_are_refused() {
    let (web, _overviews) = start(overview(now_ms()));
    let port = web.address().port();
    for host in ["localhost", &format!("127.0.0.1:{port}"), "[::1]:1", "127.9.9.9"] {
        assert_eq!(answer(ask(web.address(), "/", host)).0, 200, "{host}");
    }
    for host in ["evil.example", "192.0.2.1", "localhost.evil.example:80", ""] {
        assert_eq!(answer(ask(web.address(), "/api/v1/status", host)).0, 421, "{host}");
    }
    let (_, head, page) = get(&web, "/");
    assert!(
        head.contains("content-security-policy: default-src 'none'") && head.contains("nosniff")
    );
    assert!(!page.contains("http://") && !page.contains("https://"));
    let (_, latest) = channel(Arc::new(Overview::default()));
    let (everywhere, store) = ("0.0.0.0:0".parse().unwrap(), Store::open(None).unwrap());
    let error = Web::start(everywhere, Visitors::default(), latest.clone(), &store).unwrap_err();
    insta::assert_snapshot!(error);
    let public =
        Visitors { is_public: true, names: vec!["srlg.example".to_owned()], ..Visitors::default() };
    let open = Web::start(everywhere, public, latest.clone(), &store).unwrap();
    let at = SocketAddr::from(([127, 0, 0, 1], open.address().port()));
    for (host, status) in [("SRLG.example:80", 200), ("192.0.2.1", 200), ("any.example", 421)] {
        assert_eq!(answer(ask(at, "/", host)).0, status, "{host}");
    }
    let error =
        Web::start(web.address(), Visitors::default(), latest, &store).unwrap_err().to_string();
    assert!(error.contains(&web.address().to_string()), "{error}");
}

#[test]
fn every_refusal_is_json() {
    let (web, _overviews) = start(overview(now_ms()));
    let mut texts = String::new();
    for (request, status) in [
        ("GET /x HTTP/1.1\r\nHost: localhost", 404),
        ("POST /api/v1/status HTTP/1.1\r\nHost: localhost", 405),
        ("GET /api/v1/top HTTP/1.1\r\nHost: localhost", 400),
        ("GET /api/v1/top?view=fan-in&limit=x HTTP/1.1\r\nHost: localhost", 400),
        ("GET /api/v1/top?view=x HTTP/1.1\r\nHost: localhost", 404),
        ("GET / HTTP/1.1\r\nHost: x.example", 421),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: x.example", 421),
    ] {
        let (found, head, body) = answer(send(web.address(), request));
        assert_eq!(found, status, "{request}");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert!(head.contains("nosniff") && head.contains("no-store"), "{head}");
        let body: Value = serde_json::from_str(&body).unwrap();
        texts += &format!("{}\n", body["error"].as_str().unwrap());
    }
    insta::assert_snapshot!(texts);
}

/// Without CORS headers, browsers do not show a response to a page from another site.
#[test]
fn pages_of_other_sites_cannot_read_responses() {
    let (web, _overviews) = start(overview(now_ms()));
    let cross = "HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example";
    let preflight = "Access-Control-Request-Method: POST";
    for (request, expected) in [
        (format!("GET /api/v1/status {cross}"), 200),
        (format!("GET /events {cross}\r\nAccept: text/html"), 200),
        (format!("OPTIONS /api/v1/status {cross}\r\n{preflight}"), 405),
        (format!("OPTIONS /api/v1/incidents/0123456789abcdef/acts {cross}\r\n{preflight}"), 405),
    ] {
        let lines = BufReader::new(send(web.address(), &request)).lines().map(Result::unwrap);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let head = head.join("\n").to_lowercase();
        assert!(head.starts_with(&format!("http/1.1 {expected}")), "{request}: {head}");
        assert!(head.contains("cross-origin-resource-policy: same-origin"), "{head}");
        assert!(head.contains("frame-ancestors 'none'"), "{head}");
        assert!(!head.contains("access-control-"), "{head}");
    }
}
