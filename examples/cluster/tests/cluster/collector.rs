//! The collector and a real broker: whatever comes, in whatever order, and whatever dies, its reports are
//! those of one node that saw everything.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::{self, stream};
use serde_json::Value;
use srlg_cluster::subjects::{ALL_DELTAS, PART_HEADER, Part, STREAM, delta, message_id};
use srlg_host::{Config, Device, SlidingDetector};

use crate::input::{Random, pairs};
use crate::net::{Net, PROBES, run};
use crate::node::Node;

const FIRST: u64 = 1000;

/// A message for the stream.
#[derive(Clone)]
struct Sent {
    probe: String,
    part: String,
    id: String,
    payload: Vec<u8>,
}

/// What `probe` sends of a slice, in parts of so many bytes.
fn sent(config: Config, probe: usize, slice: u64, bytes: usize) -> Vec<Sent> {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.skip_to(slice).unwrap();
    detector.ingest(&pairs(probe as u64, slice)).unwrap();
    let parts = detector.take_delta(1).unwrap().into_parts(bytes).unwrap();
    let count = parts.len() as u32;
    let message = |(number, payload)| {
        let (part, probe) = (Part { number, count }, PROBES[probe].to_owned());
        Sent { id: message_id(&probe, slice, part), part: part.to_string(), probe, payload }
    };
    (1..).zip(parts).map(message).collect()
}

/// What all probes send of so many slices, in order.
fn all_sent(config: Config, slices: u64) -> Vec<Sent> {
    let of_slice =
        |slice| (0..PROBES.len()).flat_map(move |probe| sent(config, probe, slice, 1 << 20));
    (FIRST..FIRST + slices).flat_map(of_slice).collect()
}

/// Reports of one node that saw everything: hosts, cardinalities and errors by slice.
fn expected(config: Config, slices: u64) -> BTreeMap<u64, Vec<(String, f64, f64)>> {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.skip_to(FIRST).unwrap();
    let mut reports = BTreeMap::new();
    for slice in FIRST..FIRST + slices {
        (0..3).for_each(|probe| detector.ingest(&pairs(probe, slice)).unwrap());
        let report = detector.close_slice().unwrap();
        let point = |point: &srlg_host::SuperPoint| {
            (point.host.to_string(), point.cardinality, point.std_error)
        };
        reports.insert(slice, report.super_points.iter().map(point).collect());
    }
    reports
}

/// The test's own end of everything.
struct Bench {
    net: Net,
    reports: PathBuf,
}

impl Bench {
    fn new() -> Option<Self> {
        let net = Net::start()?;
        let reports = net.folder().join("reports.ndjson");
        let bench = Self { net, reports };
        run(bench.make_stream());
        Some(bench)
    }

    /// A stream that soon takes repetitions: that of the default would drop them for two minutes.
    async fn make_stream(&self) {
        let link = self.net.link("collector").await;
        let config = stream::Config {
            name: STREAM.to_owned(),
            subjects: vec![ALL_DELTAS.to_owned()],
            duplicate_window: Duration::from_millis(100),
            ..stream::Config::default()
        };
        jetstream::new(link.client).create_stream(config).await.unwrap();
    }

    fn collector(&self, more: &[&str]) -> Node {
        let (folder, broker) = (self.net.folder().to_str().unwrap(), self.net.broker.address());
        let state = self.net.folder().join("state");
        let mut args =
            vec!["collector", "--folder", folder, "--broker", &broker, "--device", "cpu"];
        args.extend(["--state", state.to_str().unwrap(), "--deadline", "30s"]);
        args.extend(["--reports", self.reports.to_str().unwrap()]);
        args.extend(more);
        Node::start(args)
    }

    async fn send(&self, messages: &[Sent]) {
        let mut links = BTreeMap::new();
        for probe in PROBES {
            links.insert(probe.to_owned(), jetstream::new(self.net.link(probe).await.client));
        }
        for Sent { probe, part, id, payload } in messages {
            let mut headers = HeaderMap::new();
            headers.insert(PART_HEADER, part.as_str());
            headers.insert(async_nats::header::NATS_MESSAGE_ID, id.as_str());
            let stream = &links[probe];
            let sent = stream.publish_with_headers(delta(probe), headers, payload.clone().into());
            sent.await.unwrap().await.unwrap();
        }
    }

    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.reports).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn assert_equal_to_one_node(&self, slices: u64) {
        let lines = self.lines();
        let found: BTreeMap<u64, Vec<(String, f64, f64)>> =
            lines.iter().map(|line| (line["slice"].as_u64().unwrap(), points(line))).collect();
        assert_eq!(lines.len(), found.len(), "each slice once");
        let expected = expected(self.net.network.config, slices);
        assert!(expected.values().any(|points| points.len() > 10));
        assert_eq!(found, expected);
        assert!(lines.iter().all(|line| line["closed"] == "complete"));
    }
}

fn points(line: &Value) -> Vec<(String, f64, f64)> {
    let point = |point: &Value| {
        let number = |name: &str| point[name].as_f64().unwrap();
        (point["host"].as_str().unwrap().to_owned(), number("cardinality"), number("std_error"))
    };
    line["super_points"].as_array().unwrap().iter().map(point).collect()
}

/// The address that a collector says it answers at.
fn address(node: &mut Node) -> String {
    let line = node.wait_for_line("status and metrics at http://");
    line.split("http://").nth(1).unwrap().trim().to_owned()
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The status, once `is` says that it is the one.
fn status(address: &str, is: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..3000 {
        let status = serde_json::from_str(&get(address, "/status")).unwrap();
        if is(&status) {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the status has not become what it should: {}", get(address, "/status"));
}

fn until(slices: u64) -> String {
    (FIRST + slices - 1).to_string()
}

#[test]
fn shuffled_repeated_and_cut_deltas_make_the_reports_of_one_node() {
    let Some(bench) = Bench::new() else { return };
    let (config, slices) = (bench.net.network.config, 12);
    let mut messages: Vec<Sent> = (FIRST..FIRST + slices)
        .flat_map(|slice| (0..3).flat_map(move |probe| sent(config, probe, slice, 1200)))
        .collect();
    assert!(messages.iter().any(|message| message.part.ends_with("/2")));
    let again: Vec<Sent> = messages.iter().step_by(3).cloned().collect();
    messages.extend(again);
    let mut random = Random(4);
    // All have to speak of the first slice before anything closes.
    for at in (10..messages.len()).rev() {
        messages.swap(at, 9 + random.below(at as u64 - 8) as usize);
    }
    run(bench.send(&messages));
    let (code, said) = bench.collector(&["--until-slice", &until(slices)]).end();
    assert_eq!(code, Some(0), "{said}");
    bench.assert_equal_to_one_node(slices);
}

#[test]
fn a_collector_that_is_killed_again_and_again_reports_each_slice_once() {
    let Some(bench) = Bench::new() else { return };
    let slices = 60;
    let messages = all_sent(bench.net.network.config, slices);
    let mut random = Random(5);
    let mut kills = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| run(bench.send(&messages)));
        loop {
            let every = (1 + random.below(5)).to_string();
            let more = ["--checkpoint-every", &every, "--until-slice", &until(slices)];
            let mut collector = bench.collector(&more);
            if let Some(status) = collector.wait(Duration::from_millis(20 + random.below(130))) {
                assert_eq!(status.code(), Some(0), "{}", collector.end().1);
                break;
            }
            collector.kill();
            kills += 1;
        }
    });
    assert!(kills > 1, "it was too fast to be killed");
    bench.assert_equal_to_one_node(slices);
}

#[test]
fn a_damaged_checkpoint_is_replaced_by_the_one_before_and_the_stream() {
    let Some(bench) = Bench::new() else { return };
    let messages = all_sent(bench.net.network.config, 30);
    run(bench.send(&messages));
    let (code, said) = bench.collector(&["--until-slice", &until(17)]).end();
    assert_eq!(code, Some(0), "{said}");
    let mut checkpoints: Vec<PathBuf> = fs::read_dir(bench.net.folder().join("state"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "srlg"))
        .collect();
    checkpoints.sort();
    assert_eq!(checkpoints.len(), 2);
    let mut bytes = fs::read(&checkpoints[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&checkpoints[1], bytes).unwrap();
    let (code, said) = bench.collector(&["--until-slice", &until(30)]).end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("a checkpoint is damaged, and kept as"), "{said}");
    bench.assert_equal_to_one_node(30);
}

#[test]
fn a_broker_that_is_killed_costs_nothing() {
    let Some(mut bench) = Bench::new() else { return };
    let messages = all_sent(bench.net.network.config, 24);
    let mut collector = bench.collector(&["--until-slice", &until(24)]);
    for part in messages.chunks(24) {
        run(bench.send(part));
        bench.net.broker.restart().unwrap();
    }
    let (code, said) = collector.end();
    assert_eq!(code, Some(0), "{said}");
    bench.assert_equal_to_one_node(24);
}

#[test]
fn a_stream_that_is_made_anew_is_read_from_its_beginning() {
    let Some(mut bench) = Bench::new() else { return };
    let messages = all_sent(bench.net.network.config, 20);
    let (before, after) = messages.split_at(31);
    run(bench.send(before));
    let mut collector = bench.collector(&["--until-slice", &until(20), "--http", "0"]);
    let address = address(&mut collector);
    status(&address, |status| status["running"] == FIRST + 10);
    run(async {
        let link = bench.net.link("collector").await;
        jetstream::new(link.client).delete_stream(STREAM).await.unwrap();
        bench.make_stream().await;
    });
    bench.net.broker.restart().unwrap();
    collector.wait_for("the stream was made anew");
    run(bench.send(after));
    let (code, said) = collector.end();
    assert_eq!(code, Some(0), "{said}");
    bench.assert_equal_to_one_node(20);
}

#[test]
fn a_silent_probe_is_missing_after_the_deadline_and_late_when_it_speaks_again() {
    let Some(bench) = Bench::new() else { return };
    let config = bench.net.network.config;
    let of = |probe, slice| sent(config, probe, FIRST + slice, 1 << 20);
    let first: Vec<Sent> = [of(0, 0), of(1, 0), of(2, 0)].concat();
    run(bench.send(&first));
    let mut collector =
        bench.collector(&["--deadline", "300ms", "--until-slice", &until(3), "--http", "0"]);
    let address = address(&mut collector);
    status(&address, |status| status["running"] == FIRST + 1);
    run(bench.send(&[of(0, 1), of(1, 1)].concat()));
    status(&address, |status| status["running"] == FIRST + 2);
    run(bench.send(&of(2, 1)));
    status(&address, |status| status["probes"][2]["late"] == 1);
    run(bench.send(&[of(0, 2), of(1, 2), of(2, 2)].concat()));
    let (code, said) = collector.end();
    assert_eq!(code, Some(0), "{said}");
    let lines = bench.lines();
    assert_eq!(lines[1]["closed"], "deadline");
    assert_eq!(lines[1]["delivered"], serde_json::json!(["a", "b"]));
    let others = (&lines[1]["late"], &lines[1]["missing"]);
    let c = serde_json::json!(["c"]);
    assert!(others.0 == &c || others.1 == &c, "{others:?}");
    // What came late counts in its own slice: the next report is that of one node.
    assert_eq!(points(&lines[2]), expected(config, 3)[&(FIRST + 2)]);
}

#[test]
fn what_is_no_delta_of_this_network_is_counted_by_reason_and_harms_nothing() {
    let Some(bench) = Bench::new() else { return };
    let config = bench.net.network.config;
    let mut messages = all_sent(config, 30);
    let mut bad = Vec::new();
    let good = messages[3].clone();
    // Names of their own, lest the broker takes them for repetitions.
    let named = |id: &str, message: Sent| Sent { id: id.to_owned(), ..message };
    let of = |config, slice| sent(config, 0, slice, 1 << 20).remove(0);
    let mut damaged = good.clone();
    damaged.payload[40] ^= 1;
    bad.push(named("damaged", damaged));
    bad.push(named("nonsense", Sent { payload: b"nonsense".to_vec(), ..good.clone() }));
    bad.push(named("seed", of(Config { seed: 8, ..config }, FIRST + 1)));
    bad.push(named("sizes", of(Config { window: 21, ..config }, FIRST + 1)));
    bad.push(named("part", Sent { part: "2/1".to_owned(), ..good.clone() }));
    bad.push(named("b/1001/9", good));
    bad.push(of(config, FIRST + 1_000_000));
    messages.splice(3..3, bad);
    messages.extend(sent(config, 0, FIRST - 5, 1 << 20));
    run(bench.send(&messages));
    let mut collector = bench.collector(&["--http", "0"]);
    let address = address(&mut collector);
    let status = status(&address, |status| status["refused"]["too_old"] == 1);
    let refused = serde_json::json!({
        "corrupt": 2, "headers": 2, "other_seed": 1, "other_sizes": 1, "too_far_ahead": 1, "too_old": 1
    });
    assert_eq!(status["refused"], refused);
    assert_eq!(status["running"], FIRST + 30);
    let metrics = get(&address, "/metrics");
    assert!(metrics.contains("srlg_refused_total{probe=\"a\",reason=\"corrupt\"} 2"), "{metrics}");
    assert!(metrics.contains("srlg_slices_closed_total{cause=\"complete\"} 30"), "{metrics}");
    collector.terminate();
    let (code, said) = collector.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("a message of a is refused, corrupt"), "{said}");
    bench.assert_equal_to_one_node(30);
}

#[test]
fn two_collectors_cannot_have_the_same_folder() {
    let Some(bench) = Bench::new() else { return };
    let mut first = bench.collector(&["--http", "0"]);
    address(&mut first);
    let (code, said) = bench.collector(&[]).end();
    assert_eq!(code, Some(2));
    assert!(said.lines().count() == 1 && said.contains("in use by another process"), "{said}");
}

#[test]
fn a_collector_that_is_told_to_stop_goes_on_where_it_was() {
    let Some(bench) = Bench::new() else { return };
    let messages = all_sent(bench.net.network.config, 12);
    for part in messages.chunks(5) {
        run(bench.send(part));
        let mut collector = bench.collector(&["--http", "0"]);
        let address = address(&mut collector);
        status(&address, |status| status["reading"] == true && status["unread"] == 0);
        collector.terminate();
        let (code, said) = collector.end();
        assert_eq!(code, Some(0), "{said}");
        // Stopped before it has read anything: it must not pass over what it had not merged.
        let early = bench.collector(&["--broker", "localhost:1"]);
        drop(early);
    }
    let (code, said) = bench.collector(&["--until-slice", &until(12)]).end();
    assert_eq!(code, Some(0), "{said}");
    bench.assert_equal_to_one_node(12);
}
