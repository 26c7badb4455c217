//! Three probes and a collector produce the same results as one node that sees everything, bit for bit, whichever
//! process is killed.

use std::time::Duration;

use srlg_cli::network::Network;

use crate::collecting::{Collector, start_probe};
use crate::net::Net;
use crate::network_traffic::{OneNode, PROBES, Random, network};
use crate::process::Process;

const SLICES: std::ops::Range<u64> = 5000..5040;

fn start_probes(net: &Net, keys: &str) -> Vec<Process> {
    (0..PROBES.len()).map(|probe| start_probe(net, probe, SLICES, keys)).collect()
}

/// Kills random processes with SIGKILL at random times until all slices are processed.
#[test]
fn a_network_with_kills_has_the_result_of_one_node() {
    let rounds = std::env::var("SRLG_KILL_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap());
    let one = OneNode::of(&[0, 1, 2], SLICES);
    for round in 0..rounds {
        // In every other round, the probes send lists of pairs in place of deltas.
        let most_pairs = if round % 2 == 0 { 0 } else { 100_000 };
        let Some(net) = Net::of(Network { most_pairs, ..network() }) else { return };
        kill_round(net, round, &one);
    }
}

fn kill_round(mut net: Net, round: u64, one: &OneNode) {
    let mut random = Random(round << 32);
    let mut collector = Collector::start(&net, &["--checkpoint-every", "3"]);
    let pace = "pace = '40'\n";
    let mut probes = start_probes(&net, pace);
    let (mut running, mut kills): (Vec<usize>, u64) = ((0..PROBES.len()).collect(), 0);
    while !running.is_empty() {
        // The time grows with each kill, so that the processes make progress even on a busy machine.
        std::thread::sleep(Duration::from_millis(random.below(120 + 10 * kills)));
        // The first three victims are one of each kind.
        let victim = if kills < 3 { 2 * kills } else { random.below(5) };
        kills += 1;
        match victim {
            0 => net.broker.restart().unwrap(),
            1 | 2 => {
                collector.kill();
                collector = Collector::start(&net, &["--checkpoint-every", "3"]);
            }
            _ => {
                let victim = running[random.below(running.len() as u64) as usize];
                probes[victim].kill();
                probes[victim] = start_probe(&net, victim, SLICES, pace);
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
    assert!(kills >= 3, "round {round}: the probes stopped before three kills");
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(one);
}
