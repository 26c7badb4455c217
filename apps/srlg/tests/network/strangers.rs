//! Neither invalid messages from clients that have a key of the network nor clients of other networks may change any
//! results.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use srlg_cli::network::{VersionId, bucket};
use srlg_host::Config;

use crate::collecting::Collector;
use crate::messages::{publish, publish_slowly};
use crate::net::{Net, make_folder, run};
use crate::network_messages::{Message, of_slice, whole};
use crate::network_traffic::{OneNode, VERSION, sizes};
use crate::probe::ProbeConfig;
use crate::process::{PATIENCE, Process};

const SLICES: std::ops::Range<u64> = 7000..7030;

fn spool(lost: u64) -> Value {
    json!({ "slices": 5, "unsent": 3, "lost": lost })
}

fn report(version: VersionId, lost: u64) -> Vec<u8> {
    let datagrams = json!({ "received": 0, "refused": 0, "dropped": 0 });
    let input =
        json!({ "datagrams": datagrams, "newest_ms": 0, "is_lost": false, "seen_from_ms": 0 });
    let report = json!({
        "version": version, "slice": SLICES.start, "spool": spool(lost), "input": input, "hosts": []
    });
    report.to_string().into_bytes()
}

fn report_of_other_version() -> Vec<u8> {
    report(VersionId { tag: VERSION.tag + 1, ..VERSION }, 2)
}

fn garbage_reports() -> [Vec<u8>; 2] {
    let mut cut = report(VERSION, 3);
    cut.truncate(20);
    [cut, b"nonsense".to_vec()]
}

async fn send_reports(net: &Net, reports: impl IntoIterator<Item = Vec<u8>>) {
    let client = net.link("a").await.client;
    for report in reports {
        client.publish("srlg.report.a", report.into()).await.unwrap();
    }
    // The broker has received the reports when it answers.
    bucket::read(&client).await.unwrap();
}

/// Sends reports as probe `a` until the collector has received one. Returns the status of the collector.
fn report_until_heard(net: &Net, collector: &mut Collector) -> Value {
    let started = Instant::now();
    loop {
        run(send_reports(net, [report(VERSION, 1)]));
        let status = collector.status(|_| true);
        if !status["sites"][0]["spool"].is_null() {
            return status;
        }
        assert!(started.elapsed() < PATIENCE, "{status}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn invalid_reports_are_counted_and_change_nothing() {
    let Some(net) = Net::start() else { return };
    let mut collector = Collector::start(&net, &[]);
    let status = report_until_heard(&net, &mut collector);
    let spools = |status: &Value| [0, 1, 2].map(|site| status["sites"][site]["spool"].clone());
    assert_eq!(spools(&status), [spool(1), Value::Null, Value::Null]);
    assert_eq!(status["refused"], json!({}));
    run(send_reports(&net, [report_of_other_version()]));
    run(send_reports(&net, garbage_reports()));
    let status = collector.status(|status| status["refused"]["report"] == 2);
    assert_eq!(spools(&status), [spool(2), Value::Null, Value::Null]);
    assert_eq!(status["refused"], json!({ "report": 2 }));
    let overview: Value = serde_json::from_str(&collector.get("/api/v1/status")).unwrap();
    let problem = &overview["problems"][0];
    assert_eq!((&problem["kind"], &problem["count"]), (&json!("refused"), &json!(2)));
    assert_ne!(overview["health"]["level"], "good");
    let metrics = collector.get("/metrics");
    assert!(metrics.contains("srlg_refused_total{reason=\"report\"} 2"), "{metrics}");
    let (code, said) = collector.stop();
    assert_eq!(code, Some(0), "{said}");
    let warnings = said.lines().filter(|line| line.contains("rejected a report"));
    assert_eq!(warnings.count(), 1, "there must be one warning per minute: {said}");
}

/// Returns three kinds of invalid deltas for each slice: deltas of a detector with different sizes, garbage, and deltas
/// with an incorrect slice number. Each kind comes from its own probe.
fn bad_deltas() -> Vec<Message> {
    let old_sizes = Config { linear_width: 2048, ..sizes() };
    let bad = |slice| {
        let mut garbage = of_slice(sizes(), 1, slice, slice, 1 << 20);
        garbage[0].payload = b"nonsense".to_vec();
        let mut messages = of_slice(old_sizes, 0, slice, slice, 1 << 20);
        messages.append(&mut garbage);
        messages.append(&mut of_slice(sizes(), 2, slice, slice + 1_000, 1 << 20));
        messages
    };
    SLICES.flat_map(bad).collect()
}

/// Starts a probe with credentials of another network and asserts that it exits.
fn run_foreign_probe(net: &Net, folder: &Path) {
    let (state, broker) = (&folder.join("spool"), &net.broker.address());
    let tables = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n";
    let probe = ProbeConfig { name: "a", folder, broker, state, general: "", tables };
    let (code, said) = Process::start(&mut probe.command()).end();
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
}

#[test]
fn all_strangers_at_once_make_no_difference() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let mut collector = Collector::start(&net, &["--max-skew", "15"]);
    report_until_heard(&net, &mut collector);
    let (good, bad) = (whole(SLICES), bad_deltas());
    // The first slice of all probes sets the time of the collector.
    let (first, rest) = good.split_at(3);
    run(publish(&net, first));
    collector.status(|status| status["running"].is_u64());
    let other = tempfile::tempdir().unwrap();
    make_folder(other.path());
    let of_other_key = tempfile::tempdir().unwrap();
    for (from, file) in [(net.folder(), "ca.pem"), (other.path(), "a.nk")] {
        fs::copy(from.join(file), of_other_key.path().join(file)).unwrap();
    }
    thread::scope(|scope| {
        scope.spawn(|| run(publish_slowly(&net, rest)));
        scope.spawn(|| run(publish_slowly(&net, &bad)));
        scope.spawn(|| {
            for _ in SLICES {
                run(send_reports(&net, [report_of_other_version()]));
                run(send_reports(&net, garbage_reports()));
            }
        });
        for folder in [&other, &of_other_key] {
            scope.spawn(|| (0..3).for_each(|_| run_foreign_probe(&net, folder.path())));
        }
    });
    let count = SLICES.count();
    let refused = json!({
        "corrupt": count, "other_sizes": count, "report": 2 * count, "too_far_ahead": count
    });
    collector.status(|status| status["refused"] == refused);
    collector.wait_for_slice(SLICES.end - 1);
    let closed = format!("srlg_slices_closed_total{{cause=\"complete\"}} {count}\n");
    assert!(collector.get("/metrics").contains(&closed));
    let said = collector.assert_is(&OneNode::of(&[0, 1, 2], SLICES));
    assert!(said.lines().any(|line| line.contains(" of b, reason corrupt")), "{said}");
}
