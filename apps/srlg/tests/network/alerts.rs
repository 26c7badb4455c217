//! Alerts of the whole network. Each alert starts once and ends once, whichever process is killed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use srlg_host::IpPair;

use crate::collecting::{Collector, alerts_of};
use crate::input::Random;
use crate::messages::{Message, of_pairs, publish, publish_slowly};
use crate::net::{Net, config, run};

/// Slices with the attack, and the subsequent slices without it.
const ON: std::ops::Range<u64> = 9000..9030;
const OFF: std::ops::Range<u64> = 9030..9070;

/// Number of new peers of the target that each router sees per slice. In the window of 20 slices, each router sees 100
/// peers, and the network sees 300 peers.
const NEW_PER_ROUTER: u32 = 5;
const TARGET: u32 = 0x0A00_0001;

fn of_slice(probe: usize, slice: u64) -> Vec<Message> {
    let first = 0xC000_0000 | (probe as u32) << 20 | (slice as u32 * NEW_PER_ROUTER) & 0xF_FFFF;
    let is_on = ON.contains(&slice);
    let peers = first..first + if is_on { NEW_PER_ROUTER } else { 0 };
    let pairs: Vec<_> = peers.map(|peer| IpPair { inside: TARGET, peer }).collect();
    of_pairs(config(), probe, slice, &pairs, 1 << 20)
}

fn messages(probes: &[usize], slices: impl Iterator<Item = u64>) -> Vec<Message> {
    let of_probes =
        |slice| probes.iter().flat_map(move |&probe| of_slice(probe, slice)).collect::<Vec<_>>();
    slices.flat_map(of_probes).collect()
}

fn all() -> Vec<Message> {
    messages(&[0, 1, 2], ON.chain(OFF))
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lines_of(net: &Net) -> Vec<Value> {
    lines(&alerts_of(&net.folder().join("state")))
}

/// Asserts that all lines belong to the same alert, that only the first line is a start, and that only the last line is
/// an end.
fn assert_told_once(lines: &[Value]) {
    let told =
        |status: &str| lines.iter().filter(|line| line["status"] == status).collect::<Vec<_>>();
    let ([start], [end]) = (&told("start")[..], &told("end")[..]) else { panic!("{lines:?}") };
    assert!(start["host"] == "10.0.0.1" && lines[0] == **start, "{lines:?}");
    assert!(lines.iter().all(|line| line["id"] == start["id"]), "{lines:?}");
    assert!(*lines.last().unwrap() == **end, "{lines:?}");
}

/// Returns the notifications of a collector that starts in an empty folder and reads the whole stream.
fn at_once(net: &Net) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let [state, reports] = ["state", "reports"].map(|name| folder.path().join(name));
    let until = (OFF.end - 1).to_string();
    let mut args = vec!["--state", state.to_str().unwrap(), "--until-slice", &until];
    args.extend(["--reports", reports.to_str().unwrap()]);
    let (code, said) = Collector::start(net, &args).end();
    assert_eq!(code, Some(0), "{said}");
    lines(&alerts_of(&state))
}

#[test]
fn a_kill_between_start_and_end_leaves_one_start_and_one_end_of_one_id() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let messages = all();
    let (before, after) = messages.split_at(messages.len() / 2);
    run(publish(&net, before));
    let every = ["--checkpoint-every", "7"];
    let mut collector = Collector::start(&net, &every);
    collector.status(|status| status["alerts"] == 1);
    collector.kill();
    let mut collector = Collector::start(&net, &every);
    run(publish(&net, after));
    collector.wait_for_slice(OFF.end - 1);
    assert_eq!(collector.stop().0, Some(0));
    let lines = lines_of(&net);
    assert_told_once(&lines);
    assert_eq!(lines[0]["peers"].as_array().unwrap().len(), 32);
    assert_eq!(lines[0]["view"], "all");
}

#[test]
fn alerts_of_a_collector_that_is_killed_again_and_again_are_those_of_one_that_was_not() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let messages = all();
    let until = (OFF.end - 1).to_string();
    let (mut random, mut kills) = (Random(19), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| run(publish_slowly(&net, &messages)));
        loop {
            let every = (1 + random.below(9)).to_string();
            let mut collector =
                Collector::start(&net, &["--checkpoint-every", &every, "--until-slice", &until]);
            let patience = Duration::from_millis(20 + random.below(30 + 20 * kills));
            if collector.ends_within(patience) {
                break;
            }
            collector.kill();
            kills += 1;
        }
    });
    assert!(kills > 1, "the collector stopped before two kills");
    assert_told_once(&lines_of(&net));
    assert_eq!(lines_of(&net), at_once(&net));
}

#[test]
fn an_alert_does_not_end_while_a_probe_is_missing() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let middle = OFF.start + 20;
    run(publish(&net, &messages(&[0, 1, 2], ON)));
    run(publish(&net, &messages(&[0, 1], OFF.start..middle)));
    let mut collector = Collector::start(&net, &["--deadline", "1s"]);
    collector.wait_for_slice(middle - 1);
    collector.status(|status| {
        // The file may have the alert later than the status.
        status["running"] == middle && status["alerts"] == 1 && !lines_of(&net).is_empty()
    });
    let lines = lines_of(&net);
    assert!(lines.iter().all(|line| line["status"] != "end"), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(
        last["now_ms"].as_u64() < Some(OFF.start * 1000)
            || last["missing_sites"] == serde_json::json!(["c"]),
        "{last}"
    );
    // The missing messages arrive, followed by all others.
    run(publish(&net, &messages(&[2], OFF.start..middle)));
    run(publish(&net, &messages(&[0, 1, 2], middle..OFF.end)));
    collector.wait_for_slice(OFF.end - 1);
    assert_eq!(collector.stop().0, Some(0));
    let lines = lines_of(&net);
    assert_told_once(&lines);
    assert!(lines.last().unwrap()["now_ms"].as_u64().unwrap() > middle * 1000, "{lines:?}");
}
