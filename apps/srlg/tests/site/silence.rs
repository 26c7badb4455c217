//! Silent exporters. If the only exporter that sees a flood falls silent, the alert does not end until this exporter
//! sends again.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use srlg_system::now_ms;

use crate::running::Site;
use crate::web::problems::{UPTIME_MS, flow, template, v9};

const CONFIG: &str = "inside = ['10.0.0.0/8']\nsilent-after = '5s'\n\
    [input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/8']\ntimestamps = 'received'\n\
    [[view]]\nname = 'fan-in'\nrole = 'destination'\npairs = 10_000\n\
    [[rule]]\nname = 'r'\nthresholds = { 4s = 100 }\nhold = '2s'\n";

/// Sends an export from `address` every 200 ms while `sends` is set. Returns when `ends` is set. Each export contains
/// one flow to 10.0.0.1 from each of `peers` hosts.
pub(crate) fn export(site: &Site, address: &str, peers: u8, sends: &AtomicBool, ends: &AtomicBool) {
    let socket = UdpSocket::bind(address).unwrap();
    socket.connect(site.exports).unwrap();
    for number in 0.. {
        if ends.load(Relaxed) {
            return;
        }
        if sends.load(Relaxed) {
            let flows = (0..peers).map(|peer| flow(peer, UPTIME_MS - 100));
            let sets: Vec<u8> = [template()].into_iter().chain(flows).flatten().collect();
            socket.send(&v9(number, 0, &sets)).unwrap();
        }
        thread::sleep(Duration::from_millis(200));
    }
}

fn silent(alerts: &[Value]) -> &Value {
    alerts.first().map_or(&Value::Null, |alert| &alert["silent"])
}

#[test]
fn an_alert_does_not_end_while_its_exporter_is_silent() {
    let site = Site::of(CONFIG);
    let (sends, never, ends) =
        (AtomicBool::new(true), AtomicBool::new(true), AtomicBool::new(false));
    let few = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| export(&site, "127.0.0.1:0", 1, &never, &ends));
        scope.spawn(|| export(&site, "127.0.0.2:0", 200, &sends, &ends));
        scope.spawn(|| export(&site, "127.0.0.2:0", 2, &few, &ends));
        let _ends = Ends(&ends);
        let started = site.alerts_when(|alerts| !alerts.is_empty());
        assert_eq!(started[0]["host"], "10.0.0.1");

        let stopped_ms = now_ms();
        sends.store(false, Relaxed);
        let held = site.alerts_when(|alerts| silent(alerts).is_array());
        assert_eq!(held[0]["id"], started[0]["id"]);
        assert_eq!(
            (&held[0]["status"], &held[0]["why"]),
            (&json!("update"), &json!("unconfirmed"))
        );
        let witness = &silent(&held)[0];
        assert_eq!(
            (silent(&held).as_array().unwrap().len(), &witness["source"]),
            (1, &json!("127.0.0.2"))
        );
        let since_ms = witness["since_ms"].as_u64().unwrap();
        assert!(since_ms.abs_diff(stopped_ms) < 5_000, "{since_ms} {stopped_ms}");
        assert!(held[0]["text"].as_str().unwrap().contains("127.0.0.2 silent since "), "{held:?}");
        // The window, the hold and the silence limit have passed, and the alert is still active.
        thread::sleep(Duration::from_secs(10));
        let page = site.page();
        assert_eq!(silent(page["alerts"].as_array().unwrap()), silent(&held));
        let health = json!({"level": "warn", "text": "no flow records from exporters 127.0.0.2"});
        assert_eq!(page["health"], health);
        let exporters = page["exporters"].as_array().unwrap();
        let is_silent: Vec<_> = exporters.iter().map(|it| &it["is_silent"]).collect();
        assert_eq!(is_silent, [&json!(false), &json!(true)]);
        assert!(site.has_metric("srlg_exporter_silent{exporter=\"127.0.0.2\"} 1"));
        assert!(site.has_metric("srlg_exporter_silent{exporter=\"127.0.0.1\"} 0"));
        assert!(site.has_metric("srlg_unconfirmed_alerts{view=\"fan-in\"} 1"));

        // The exporter sends again, without a flood. The window is complete after 4 s, and the alert ends 2 s later.
        let resumed_ms = now_ms();
        few.store(true, Relaxed);
        site.alerts_when(<[Value]>::is_empty);
        assert_eq!(site.page()["health"]["level"], "good");
        let warnings = site.warnings();
        assert!(warnings.iter().any(|line| line.contains("127.0.0.2")), "{warnings:?}");
        let path = format!("/api/v1/incidents/{}", started[0]["id"].as_str().unwrap());
        let incident: Value = serde_json::from_str(&site.get(&path)).unwrap();
        let [.., resumed, end] = &incident["notifications"].as_array().unwrap()[..] else {
            panic!("{incident}")
        };
        assert_eq!((&resumed["why"], &end["why"]), (&json!("resumed"), &json!("below")));
        assert!(end["now_ms"].as_u64().unwrap() - resumed_ms > 6_000, "{resumed_ms} {end}");
        assert!(site.has_metric("srlg_unconfirmed_alerts{view=\"fan-in\"} 0"));
    });
}

#[test]
fn an_exporter_that_never_sends_is_on_the_page_in_metrics_and_once_in_the_log() {
    let config = CONFIG.replace("'127.0.0.0/8'", "'127.0.0.1', '127.0.0.9', '127.0.1.0/24'");
    let site = Site::of(&config);
    let (sends, ends) = (AtomicBool::new(true), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| export(&site, "127.0.0.1:0", 1, &sends, &ends));
        let _ends = Ends(&ends);
        let started = Instant::now();
        let text = "no flow records from exporters 127.0.0.9";
        while site.page()["health"] != json!({ "level": "warn", "text": text }) {
            assert!(started.elapsed() < Duration::from_secs(60), "{}", site.page());
            thread::sleep(Duration::from_millis(200));
        }
        let status = site.status();
        let unheard = &status["exporters"][1];
        assert_eq!(status["exporters"].as_array().unwrap().len(), 2);
        assert_eq!(
            ["address", "datagrams", "last_seen_ms", "is_silent"].map(|key| &unheard[key]),
            [&json!("127.0.0.9"), &json!(0), &Value::Null, &json!(true)]
        );
        assert!(site.has_metric("srlg_exporter_silent{exporter=\"127.0.0.9\"} 1"));
        assert!(site.has_metric("srlg_exporter_silent{exporter=\"127.0.0.1\"} 0"));
        assert!(!site.get("/metrics").contains("last_seen_seconds{exporter=\"127.0.0.9\"}"));
        thread::sleep(Duration::from_secs(3));
        let warnings = site.warnings();
        let of_unheard = warnings.iter().filter(|line| line.contains("127.0.0.9")).count();
        assert_eq!(of_unheard, 1, "{warnings:?}");
    });
}

/// A guard that stops the exporters when it is dropped, even if the test fails.
pub(crate) struct Ends<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
