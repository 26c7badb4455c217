//! The stream must contain exactly the data of the input, whichever process is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use srlg_cli::network::Network;

use crate::disk::SmallDisk;
use crate::input::{assert_slices_are, csv, pairs};
use crate::net::{Net, keep, run};
use crate::network_traffic::{Random, network};
use crate::process::{PATIENCE, Process, numbers};

const SLICES: std::ops::Range<u64> = 1000..1060;

/// Starts probe `a` with the state folder `state`, an input file, and further keys of `[probe]`.
fn probe(net: &Net, state: &Path, input: &Path, keys: &str) -> Process {
    let input = input.display();
    net.start_probe("a", state, &format!("{keys}[input]\ninput = ['{input}']\n"))
}

fn file(net: &Net) -> PathBuf {
    csv(net.folder(), "a", |slice| pairs(1, slice), SLICES)
}

/// Asserts that the stream contains exactly the data of the input.
fn assert_complete(net: &Net) {
    assert_slices_are(&run(net.slices("a")), &net.network, |slice| pairs(1, slice), SLICES);
}

#[test]
fn a_file_is_sent_whole_in_parts_where_it_has_to_be() {
    for (part_bytes, most_pairs) in [(1024, 0), (1 << 20, 0), (1 << 20, 200), (1 << 20, 199)] {
        let network = Network { part_bytes, most_pairs, ..network() };
        let Some(net) = Net::of(network) else { return };
        run(net.stream());
        let (code, said) = probe(&net, &net.spool(), &file(&net), "").end();
        assert_eq!(code, Some(0), "{said}");
        assert_complete(&net);
        let has_parts = run(net.slices("a")).keys().any(|(_, part)| part.starts_with("2/"));
        assert_eq!(has_parts, part_bytes == 1024);
    }
}

#[test]
fn repeated_kills_of_a_probe_lose_nothing() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let (input, mut random) = (file(&net), Random(1));
    let mut kills = 0;
    loop {
        let mut probe = probe(&net, &net.spool(), &input, "pace = '20'\n");
        // The time grows with each kill, so that the probe makes progress even on a busy machine.
        let patience = Duration::from_millis(20 + random.below(80 + 50 * kills));
        if let Some(status) = probe.wait(patience) {
            assert_eq!(status.code(), Some(0), "{}", probe.end().1);
            break;
        }
        probe.kill();
        kills += 1;
    }
    assert!(kills > 1, "the probe stopped before two kills");
    assert_complete(&net);
}

#[test]
fn repeated_kills_of_the_broker_lose_nothing() {
    let Some(mut net) = Net::start() else { return };
    run(net.stream());
    let (input, mut random) = (file(&net), Random(2));
    let mut probe = probe(&net, &net.spool(), &input, "pace = '20'\n");
    let mut kills = 0;
    let status = loop {
        // The time grows with each kill, so that the probe makes progress even on a busy machine.
        let patience = Duration::from_millis(100 + random.below(200 + 20 * kills));
        if let Some(status) = probe.wait(patience) {
            break status;
        }
        net.broker.restart().unwrap();
        kills += 1;
    };
    assert!(status.success() && kills > 1, "{kills} kills: {}", probe.end().1);
    assert_complete(&net);
}

#[test]
fn a_probe_without_a_broker_spools_stops_on_request_and_sends_everything_later() {
    let Some(mut net) = Net::start() else { return };
    run(net.stream());
    net.broker.kill().unwrap();
    let (input, spool) = (file(&net), net.spool());
    keep(&spool, "a", &net.version());
    let mut first = probe(&net, &spool, &input, "keep = 100\n");
    first.wait_for(" 12000 ");
    first.terminate();
    let (code, said) = first.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.lines().any(|line| numbers(line) == [60, 0]),
        "60 slices, and none is sent: {said}"
    );
    net.broker.restart().unwrap();
    let (code, said) = probe(&net, &spool, &input, "keep = 100\n").end();
    assert_eq!(code, Some(0), "{said}");
    let nothing_new = [12_000, 0, 0, 60, 0, 0, 0];
    assert!(
        said.lines().any(|line| numbers(line) == nothing_new),
        "60 slices must be skipped: {said}"
    );
    assert_complete(&net);
}

#[test]
fn a_spool_on_a_full_disk_delays_the_probe_and_loses_nothing() {
    let Some(net) = Net::start() else { return };
    let Some(disk) = SmallDisk::new("256k") else { return };
    run(net.stream());
    let filler = disk.folder().join("filler");
    fs::write(&filler, vec![0; 200_000]).unwrap();
    let mut probe = probe(&net, disk.folder(), &file(&net), "keep = 100\n");
    let line = probe.wait_for("No space left on device");
    let slice = *numbers(&line).last().unwrap();
    fs::remove_file(&filler).unwrap();
    let (code, said) = probe.end();
    assert_eq!(code, Some(0), "{said}");
    let is_again = |line: &str| line.contains(" INFO ") && numbers(line) == [slice];
    assert!(said.lines().any(is_again), "slice {slice} must be in the spool: {said}");
    assert_complete(&net);
}

#[test]
fn slices_of_a_growing_capture_end_by_the_clock() {
    let slice_ms = 500;
    let Some(net) = Net::of(Network { slice_ms, ..network() }) else { return };
    run(net.stream());
    let mut probe = net.start_probe("a", &net.spool(), "[input]\ninput = ['-']\nlive = true\n");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    probe.write(&format!("time_ms,src,dst\n{now},10.0.0.1,192.0.2.1\n"));
    // The input has one packet and does not end, so only the clock closes these slices.
    let first = u64::try_from(now).unwrap() / slice_ms;
    let started = Instant::now();
    let payloads = loop {
        let payloads = run(net.slices("a"));
        if payloads.len() >= 5 {
            break payloads;
        }
        assert!(started.elapsed() < PATIENCE, "{payloads:?}");
        thread::sleep(Duration::from_millis(50));
    };
    let slices: Vec<u64> = payloads.keys().map(|&(slice, _)| slice).collect();
    // The first slice is the one in which the probe started.
    let began = slices[0];
    assert!(began.abs_diff(first) < 100, "{began}, {first}");
    assert_eq!(slices, (began..).take(slices.len()).collect::<Vec<_>>());
    probe.hang_up();
    let (code, said) = probe.end();
    assert_eq!(code, Some(0), "{said}");
}
