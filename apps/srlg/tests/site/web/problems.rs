//! Tests that the web page, the API, the metrics and the log report exports that `srlg run` cannot use.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use srlg_system::now_ms;
use srlg_traffic::export::{V9Header, set};

use crate::running::Site;

pub(crate) const UPTIME_MS: u32 = 100_000_000;

pub(crate) fn v9(number: u32, domain: u32, sets: &[u8]) -> Vec<u8> {
    let time_s = (now_ms() / 1_000) as u32;
    V9Header { records: 1, uptime_ms: UPTIME_MS, time_s, number, domain }.with(sets)
}

/// Types and lengths of the template fields: the two addresses, the packet count, and the uptime at the last packet.
const FIELDS: [[u16; 2]; 4] = [[8, 4], [12, 4], [2, 4], [21, 4]];

pub(crate) fn template() -> Vec<u8> {
    let fields = FIELDS.into_iter().flatten();
    let words = [256, FIELDS.len() as u16].into_iter().chain(fields);
    set(0, &words.flat_map(u16::to_be_bytes).collect::<Vec<u8>>())
}

/// Returns a data set with one flow from 198.51.100.`peer` to 10.0.0.1. The flow ended at uptime `last_ms`.
pub(crate) fn flow(peer: u8, last_ms: u32) -> Vec<u8> {
    let hosts = [198, 51, 100, peer, 10, 0, 0, 1];
    set(256, &[&hosts[..], &1_u32.to_be_bytes(), &last_ms.to_be_bytes()].concat())
}

fn send(site: &Site, datagrams: impl Iterator<Item = Vec<u8>>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for (number, datagram) in datagrams.enumerate() {
        socket.send_to(&datagram, site.exports).unwrap();
        // Pauses keep the data within a small receive buffer.
        if number % 16 == 15 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn problems(overview: &Value) -> Vec<(&str, u64, &Value)> {
    let problems = overview["problems"].as_array().unwrap().iter();
    problems
        .map(|it| (it["kind"].as_str().unwrap(), it["count"].as_u64().unwrap(), &it["exporters"]))
        .collect()
}

#[test]
fn exports_that_cannot_be_decoded_are_shown() {
    let site = Site::start();
    // The input has garbage without a valid version, datagrams of an unknown version, data without a template, and
    // truncated datagrams.
    let garbage = (0..460_u32).map(|it| vec![0xa5; 40 + it as usize % 900]);
    let version = (0..460).map(|_| [&[0, 8][..], &[0; 60]].concat());
    let waiting = (0..460).map(|number| v9(number, number % 8, &flow(1, UPTIME_MS - 1_000)));
    let cut = (0..460).map(|number| v9(number, 9, &template())[..26].to_vec());
    send(&site, garbage.chain(version).chain(waiting).chain(cut));
    let mut warnings = site.wait_for_warnings(3);
    // On a busy machine, some kinds may appear one overview later than others.
    warnings.sort();
    insta::assert_snapshot!(warnings.join("\n"));

    let own = json!(["127.0.0.1"]);
    let status = site.status();
    let held = ("held", 460, &own);
    assert_eq!(problems(&status)[..2], [("version", 920, &own), ("cut", 460, &own)]);
    assert!(problems(&status).contains(&held), "{status}");
    assert_eq!(status["problems"], site.page()["problems"]);
    let exporter = &status["exporters"][0];
    assert_eq!((&exporter["datagrams"], &exporter["records"]), (&json!(1_840), &json!(0)));
    assert_eq!(exporter["skew_ms"], 0);
    let age_ms = |name: &str| now_ms() - exporter[name].as_u64().unwrap();
    assert!(age_ms("last_seen_ms") < 60_000 && age_ms("waiting_since_ms") < 60_000);

    let metrics = site.get("/metrics");
    let of = "exporter=\"127.0.0.1\",reason";
    for line in [
        "srlg_problem{reason=\"version\"} 920",
        "srlg_problem{reason=\"held\"} 460",
        "srlg_problem{reason=\"too-late\"} 0",
        &format!("srlg_exporter_problems_total{{{of}=\"cut\"}} 460"),
    ] {
        assert!(metrics.lines().any(|it| it == line), "no {line} in {metrics}");
    }

    // The waiting data sets are decoded, and the problem is over.
    send(&site, (0..8).map(|domain| v9(500, domain, &template())));
    let started = Instant::now();
    while problems(&site.status()).iter().any(|(kind, ..)| *kind == "held") {
        assert!(started.elapsed().as_secs() < 60, "{}", site.log());
    }
    assert_eq!(site.status()["exporters"][0]["waiting_since_ms"], Value::Null);
}

#[test]
fn flows_that_are_older_than_the_window_are_shown() {
    let site = Site::start();
    // Current flows start the first slice. The next flows ended a day before their export.
    let now = (0..10).map(|peer| v9(0, 0, &[template(), flow(peer, UPTIME_MS - 1_000)].concat()));
    let old = (0..200).map(|peer| v9(1, 0, &flow(peer, 1_000)));
    send(&site, now.chain(old));
    let warnings = site.wait_for_warnings(1);
    insta::assert_snapshot!(warnings.join("\n"));
    let status = site.status();
    assert_eq!(problems(&status), [("too-late", 200, &json!(["127.0.0.1"]))]);
    assert_eq!(status["exporters"][0]["problems"]["too-late"], 200);
    assert_eq!(status["exporters"][0]["contacts"], 210);
    let line = "srlg_exporter_problems_total{exporter=\"127.0.0.1\",reason=\"too-late\"} 200";
    assert!(site.get("/metrics").lines().any(|it| it == line));
}
