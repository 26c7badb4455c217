//! Tests of the engine without a broker, including the speed of merging.

use std::path::Path;
use std::time::Instant;

use async_nats::HeaderMap;
use srlg_host::state::Delta;
use srlg_host::{Config as Sizes, Device, Ipv4Pair};
use tokio::sync::mpsc;

use super::*;
use crate::collect::{Args, open};
use crate::network::payload::{Payload, ViewState};
use crate::network::subjects::{self, PART_HEADER, Part, SAMPLING_HEADER};
use crate::network::{Network, NetworkVersion, VersionId};
use crate::service::Service;
use srlg_notify::alert_store::AlertStore;
use srlg_notify::delivery::Delivery;

const VERSION: VersionId = VersionId { number: 1, tag: 7 };

/// Writes a configuration with a window of `window` seconds to `folder`, and returns its network.
fn network(folder: &Path, probes: &[String], window: u32) -> Network {
    let text = format!(
        "state = '{0}/state'\ncheckpoint = '10s'\n[network]\nprobes = {probes:?}\nfolder = '{0}'\n\
         [[view]]\nname = 'all'\n[[rule]]\nname = 'all'\nthresholds = {{ {window}s = 89 }}\n",
        folder.display()
    );
    let path = folder.join("srlg.toml");
    std::fs::write(&path, text).unwrap();
    Network::of(&Config::read(&path).unwrap(), 1)
}

fn engine(folder: &Path) -> Engine {
    let reports = Some(folder.join("reports.ndjson"));
    let args = Args { config: folder.join("srlg.toml"), reports, until_slice: None };
    let config = Config::read(&args.config).unwrap();
    let version = NetworkVersion { id: VERSION, first_slice: 0, network: Network::of(&config, 1) };
    let options = config.network().unwrap().clone();
    let plan = Plan::new(config.general.checkpoint, options, version);
    let alert_store = AlertStore::open(Some(&folder.join("state"))).unwrap();
    let (delivery, service) = (Delivery::start(alert_store, &[]).unwrap(), Service::new().unwrap());
    open(&args, config, plan, 0, delivery, service).unwrap().0
}

fn message(probe: &str, delta: &Delta, sequence: u64) -> Event {
    sampled(probe, delta, sequence, None)
}

fn sampled(probe: &str, delta: &Delta, sequence: u64, sampling: Option<&str>) -> Event {
    let part = Part { number: 1, count: 1 };
    let mut headers = HeaderMap::new();
    headers.insert(PART_HEADER, part.to_string());
    if let Some(sampling) = sampling {
        headers.insert(SAMPLING_HEADER, sampling);
    }
    let states = vec![ViewState { view: 0, bytes: delta.to_bytes().unwrap().into() }];
    let payload = Payload { version: VERSION, slice: delta.slice(), states };
    Event::Message(Message {
        subject: subjects::slice(probe),
        headers,
        payload: payload.pack(1 << 20).remove(0).into(),
        sequence,
        time: 0,
        unread: 0,
    })
}

/// Returns a delta with about 55,000 recorders.
fn delta(config: Sizes, slice: u64, probe: u32) -> Delta {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.skip_to(slice).unwrap();
    let from = (slice as u32 % 10 * 200 + probe) * 100_000;
    let pair = |peer: u32| Ipv4Pair { inside: peer.wrapping_mul(0x9E37_79B9), peer };
    detector.ingest(&(from..from + 26_000).map(pair).collect::<Vec<_>>()).unwrap();
    detector.delta(1).unwrap()
}

#[test]
#[ignore = "a measurement: cargo test --release -p srlg-cli --lib engine -- --ignored --nocapture"]
fn deltas_of_50_000_recorders_merge_200_times_a_second() {
    let probes: Vec<String> = (0..200).map(|probe| format!("p{probe}")).collect();
    let folder = tempfile::tempdir().unwrap();
    let network = network(folder.path(), &probes, 300);
    let config = network.views[0].sizes;
    let engine = engine(folder.path());
    let mut messages = Vec::new();
    for slice in 0..2 {
        for (probe, name) in (0..).zip(&probes) {
            let delta = delta(config, 1000 + slice, probe);
            assert!(delta.recorders() >= 50_000);
            messages.push(message(name, &delta, messages.len() as u64 + 1));
        }
    }
    let (count, (sender, events)) = (messages.len(), mpsc::channel(messages.len()));
    messages.into_iter().for_each(|message| sender.try_send(message).unwrap());
    drop(sender);
    let begun = Instant::now();
    engine.run(events).unwrap();
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    println!("\n| what | measured |\n|---|---|");
    println!(
        "| deltas of 50,000 recorders, 200 probes, with closes and checkpoints, one thread | {rate:.0}/s |"
    );
    assert!(rate >= 200.0, "{rate} deltas/s");
}

/// Returns the delta of one host with 200 peers.
fn small_delta(config: Sizes, slice: u64) -> Delta {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.skip_to(slice).unwrap();
    let pairs: Vec<_> = (0..200).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
    detector.ingest(&pairs).unwrap();
    detector.delta(1).unwrap()
}

#[test]
fn messages_that_do_not_fit_into_memory_together_are_decoded_one_after_another() {
    let folder = tempfile::tempdir().unwrap();
    let probes: Vec<String> = (0..16).map(|probe| format!("p{probe}")).collect();
    let config = network(folder.path(), &probes, 3).views[0].sizes;
    let mut engine = engine(folder.path());
    let most = 1 << 20;
    engine.plan.options.pending_mb = 1;
    engine.rule.limits.max_pending = most;
    engine.step(vec![message("p0", &small_delta(config, 999), 0)], Duration::ZERO).unwrap();
    // A slice that has not started holds all messages until it starts.
    let of_probe = |(number, name): (u32, &String)| {
        let delta = delta(config, 1001, number);
        let Event::Message(message) = message(name, &delta, u64::from(number) + 1) else {
            panic!()
        };
        (delta.body_bytes(), message)
    };
    let (bytes, messages): (Vec<_>, Vec<_>) = (0..).zip(&probes).map(of_probe).unzip();
    assert!(bytes.iter().sum::<usize>() > 3 * most);
    engine.read(messages).unwrap();
    assert!(engine.rule.pending() <= 2 * most, "{}", engine.rule.pending());
    assert_eq!(engine.tally.counts.iter().map(|counts| counts.in_time).sum::<u64>(), 17);
}

fn reports(folder: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(folder.join("reports.ndjson")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_collector_whose_last_slice_is_before_the_first_message_ends_without_a_report() {
    for (until, closed) in [(999, 0..0), (1001, 1000..1002)] {
        let folder = tempfile::tempdir().unwrap();
        let config = network(folder.path(), &["p".to_owned()], 3).views[0].sizes;
        let (sender, events) = mpsc::channel(8);
        sender.try_send(Event::Opened { created: 1, unread: 0, anew: false }).unwrap();
        for (number, slice) in (1..).zip(1000..1004) {
            sender.try_send(message("p", &small_delta(config, slice), number)).unwrap();
        }
        drop(sender);
        let mut engine = engine(folder.path());
        engine.until = Some(until);
        engine.run(events).unwrap();
        let reports = reports(folder.path());
        let slices = reports.iter().map(|report| report["slice"].as_u64().unwrap());
        assert!(slices.eq(closed), "{until}: {reports:?}");
    }
}

#[test]
fn reports_tell_the_sampling_of_their_window_after_a_restart_too() {
    let folder = tempfile::tempdir().unwrap();
    let config = network(folder.path(), &["p".to_owned()], 3).views[0].sizes;
    let mut number = 0;
    // Each run is followed by a restart. A delta with invalid sampling is rejected, and it arrives again.
    for run in [
        &[(1000, Some(r#"{"least":10,"most":10,"unknown":false}"#))][..],
        &[(1001, None), (1002, Some("1:10")), (1002, None)],
        &[(1003, None)],
    ] {
        let (sender, events) = mpsc::channel(8);
        sender.try_send(Event::Opened { created: 1, unread: 0, anew: false }).unwrap();
        for &(slice, sampling) in run {
            number += 1;
            let delta = small_delta(config, slice);
            sender.try_send(sampled("p", &delta, number, sampling)).unwrap();
        }
        drop(sender);
        engine(folder.path()).run(events).unwrap();
    }
    let reports = reports(folder.path());
    let found = reports.iter().map(|report| {
        let unsampled = &report["super_points"][0]["unsampled"];
        (
            report["slice"].as_u64().unwrap(),
            report["sampling"]["most"].as_u64(),
            unsampled.is_array(),
        )
    });
    let found: Vec<_> = found.collect();
    let expected = [
        (1000, Some(10), true),
        (1001, Some(10), true),
        (1002, Some(10), true),
        (1003, None, false),
    ];
    assert_eq!(found, expected);
}
