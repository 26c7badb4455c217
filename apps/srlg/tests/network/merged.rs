//! Three probes and a collector produce the same results as one node that sees everything, bit for bit, whichever
//! process is killed.

use crate::collecting::{Collector, start_probe};
use crate::input::Random;
use crate::net::{Net, PROBES, VERSION, run};
use crate::network_traffic::{OneNode, SPREAD};
use crate::process::Process;
use std::time::Duration;

const SLICES: std::ops::Range<u64> = 5000..5040;

fn start_probes(net: &Net, more: &[&str]) -> Vec<Process> {
    (0..PROBES.len()).map(|probe| start_probe(net, probe, SLICES, more)).collect()
}

fn assert_good_end(probe: &mut Process) {
    let (code, said) = probe.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn hosts_below_the_threshold_at_each_of_three_probes_are_super_points_of_the_network() {
    let one = OneNode::of(&[0, 1, 2], SLICES);
    let spread: Vec<_> = SPREAD.map(srlg_traffic::family::ip).collect();
    let mut found = one.hosts();
    found.sort();
    assert_eq!(found, spread);
    for probe in 0..3 {
        assert_eq!(OneNode::of(&[probe], SLICES).hosts(), [] as [std::net::IpAddr; 0]);
    }
    let Some(net) = Net::start() else { return };
    let mut collector = Collector::start(&net, &[]);
    start_probes(&net, &[]).iter_mut().for_each(assert_good_end);
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&net, &one);
}

#[test]
fn a_probe_that_waits_for_the_collectors_disk_ends_when_everything_is_on_it() {
    let Some(net) = Net::start() else { return };
    let collector = Collector::start(&net, &["--checkpoint-every", "1"]);
    start_probes(&net, &["--wait-durable"]).iter_mut().for_each(assert_good_end);
    for probe in PROBES {
        let spool = std::fs::read_dir(net.spool().join(probe).join(VERSION.to_string())).unwrap();
        assert_eq!(spool.count(), 1, "the newest slice");
    }
    drop(collector);
}

/// Kills random processes with SIGKILL at random times until all slices are processed.
#[test]
fn a_network_with_kills_has_the_result_of_one_node() {
    let rounds = std::env::var("SRLG_KILL_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap());
    let one = OneNode::of(&[0, 1, 2], SLICES);
    for round in 0..rounds {
        let Some(net) = Net::start() else { return };
        kill_round(net, round, &one);
    }
}

fn kill_round(mut net: Net, round: u64, one: &OneNode) {
    let mut random = Random(round << 32);
    let mut collector = Collector::start(&net, &["--checkpoint-every", "3"]);
    let pace = ["--pace", "40"];
    let mut probes = start_probes(&net, &pace);
    let (mut running, mut kills): (Vec<usize>, u64) = ((0..PROBES.len()).collect(), 0);
    while !running.is_empty() {
        // The time grows with each kill, so that the processes make progress even on a busy machine.
        std::thread::sleep(Duration::from_millis(random.below(120 + 2 * kills)));
        kills += 1;
        match random.below(5) {
            0 => net.broker.restart().unwrap(),
            1 | 2 => {
                collector.kill();
                collector = Collector::start(&net, &["--checkpoint-every", "3"]);
            }
            victim => {
                let victim = running[(victim + random.below(99)) as usize % running.len()];
                probes[victim].kill();
                probes[victim] = start_probe(&net, victim, SLICES, &pace);
            }
        }
        running.retain(|&probe| match probes[probe].wait(Duration::ZERO) {
            Some(status) => {
                assert!(status.success(), "round {round}: {}", probes[probe].end().1);
                false
            }
            None => true,
        });
    }
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&net, one);
}

#[test]
fn a_collector_that_comes_when_everything_is_over_gives_the_same_answer() {
    let Some(net) = Net::start() else { return };
    // The stream must exist. Usually a collector creates it.
    run(net.stream());
    start_probes(&net, &[]).iter_mut().for_each(assert_good_end);
    let mut collector = Collector::start(&net, &[]);
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&net, &OneNode::of(&[0, 1, 2], SLICES));
}
