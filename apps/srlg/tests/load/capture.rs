//! Processor time per captured packet, with one and with two capture threads.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::number_before;

/// Number of 64-byte frames. Each frame belongs to a different pair of hosts.
const FRAMES: u32 = 200_000;

/// Number of times that each of the two senders sends all frames.
const LOOPS: u32 = 20;

/// Number of rounds, each of which measures one thread and two threads.
const TURNS: usize = 7;

/// Script that runs the program in a network namespace. The script records the processor times of the program's
/// threads, before and after two senders on separate CPUs send all frames.
const SCRIPT: &str = r#"
set -e
for scope in all default; do echo 1 > /proc/sys/net/ipv6/conf/$scope/disable_ipv6; done
ip link add name sending numtxqueues 2 type veth peer name listening numrxqueues 2
for interface in sending listening; do ip link set dev $interface up; done
"$PROGRAM" run --config srlg.toml 2> log & program=$!
sleep 2
cat /proc/$program/task/*/schedstat > before
for cpu in 0 1; do
    taskset -c $cpu tcpreplay --preload-pcap --topspeed --loop=$LOOPS --intf1 sending frames.pcap > player$cpu 2>&1 & players="$players $!"
done
for player in $players; do wait $player; done
sleep 1
cat /proc/$program/task/*/schedstat > after
kill -INT $program
wait $program
"#;

fn frames() -> Vec<u8> {
    let mut file: Vec<u8> = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    for number in 0..FRAMES {
        file.extend([0, number, 64, 64].into_iter().flat_map(u32::to_le_bytes));
        let [_, a, b, c] = number.to_be_bytes();
        let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2, 8, 0];
        frame.extend([0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 198, a, b, c, 10, 0, b, c]);
        frame.extend([0x9c, 0x40, 0, 53, 0, 30, 0, 0]);
        frame.resize(64, 0);
        file.extend(frame);
    }
    file
}

/// Returns the processor time of all threads in a `schedstat` file, in nanoseconds.
fn spent_ns(file: &Path) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

/// Returns the processor time per packet of a process with `threads` capture threads, in nanoseconds.
fn packet_ns(folder: &Path, threads: u32) -> u64 {
    let config = format!(
        "inside = ['10.0.0.0/8']\n[input]\ninterface = 'listening'\ncapture-threads = {threads}\n\
         [[view]]\nname = 'fan-in'\nrole = 'destination'\n\
         [[rule]]\nname = 'all'\nthresholds = {{ 60s = 100000 }}\n"
    );
    fs::write(folder.join("srlg.toml"), config).unwrap();
    let status = Command::new("unshare")
        .args(["--net", "bash", "-c", SCRIPT])
        .env("PROGRAM", env!("CARGO_BIN_EXE_srlg"))
        .env("LOOPS", LOOPS.to_string())
        .current_dir(folder)
        .status()
        .unwrap();
    let log = fs::read_to_string(folder.join("log")).unwrap();
    assert!(status.success(), "{log}");
    let (taken, dropped) =
        (number_before(&log, " packets or rows, "), number_before(&log, " packets dropped"));
    assert_eq!(taken + dropped, u64::from(2 * LOOPS * FRAMES), "{log}");
    assert_eq!(number_before(&log, " contacts, "), taken);
    (spent_ns(&folder.join("after")) - spent_ns(&folder.join("before"))) / taken
}

#[test]
#[ignore = "a measurement: needs an idle machine, --release, root, tcpreplay and iproute2"]
fn a_captured_packet_by_one_thread_and_by_two() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("frames.pcap"), frames()).unwrap();
    println!("\n| | ns per packet, one thread | two threads | ratio |\n|---|---|---|---|");
    let turns = [(); TURNS].map(|()| [1, 2].map(|threads| packet_ns(folder.path(), threads)));
    let sorted = [0, 1].map(|threads| {
        let mut packets_ns = turns.map(|turn| turn[threads]);
        packets_ns.sort_unstable();
        packets_ns
    });
    for (name, at) in [("minimum", 0), ("median", TURNS / 2), ("maximum", TURNS - 1)] {
        let [one, two] = sorted.map(|packets_ns| packets_ns[at]);
        println!("| {name} of {TURNS} | {one} | {two} | {:.2} |", two as f64 / one as f64);
    }
}
