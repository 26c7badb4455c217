//! Recorded attacks, exported over loopback by softflowd from Debian.
//!
//! The test requires softflowd (scripts/exporters.sh), and recorded traffic in the folder that `SRLG_DATA` names. If
//! either is missing, the test is skipped with a message. If `SRLG_REQUIRE_EXPORTERS` is set, the test fails without
//! softflowd.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use approx::assert_abs_diff_eq;
use serde_json::Value;
use srlg_system::now_ms;
use srlg_traffic::packets::pcap;
use srlg_traffic::skip::skip_or_fail;
use srlg_traffic::trace::{Record, Trace, recorded};

struct Attack {
    /// Path of the capture, relative to the data folder.
    file: &'static str,
    victim: Ipv4Addr,
    threshold: f64,
}

const fn attack(file: &'static str, victim: u8, threshold: f64) -> Attack {
    Attack { file, victim: Ipv4Addr::new(10, 10, 10, victim), threshold }
}

const ATTACKS: [Attack; 5] = [
    attack("captures/pcap_usec_ddos_synack.pcap", 10, 1_024.0),
    attack("dev/ddos_synflood_spoofed.spt.zst", 10, 1_024.0),
    attack("dev/ddos_bacnet_iot.spt.zst", 1, 1_024.0),
    attack("dev/ddos_snmp_amp.spt.zst", 10, 1_024.0),
    attack("dev/ddos_dns_rrsig.spt.zst", 10, 100.0),
];

/// Converts `record` to a UDP packet without a link-layer header.
fn packet(record: &Record) -> Vec<u8> {
    let Record { source, destination, .. } = *record;
    let words = [0x4500_001c, 0, 0x4011_0000, source, destination, 0x03e8_0035, 0x0008_0000];
    words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
}

/// Returns the path of a capture of the attack, and the exact number of hosts that sent packets to the victim.
fn capture(attack: &Attack, path: &Path, folder: &Path) -> (PathBuf, f64) {
    if path.extension().is_some_and(|extension| extension == "pcap") {
        // The capture has this number of distinct sources.
        return (path.to_owned(), 7_055.0);
    }
    let records: Vec<Record> = Trace::open(path).unwrap().map(Result::unwrap).collect();
    let made = folder.join("attack.pcap");
    // With link type 101, packets start with the IP header. The packets are one microsecond apart.
    fs::write(&made, pcap(101, (0..).zip(records.iter().map(packet)))).unwrap();
    let to_victim = records.iter().filter(|record| record.destination == u32::from(attack.victim));
    let sources: HashSet<_> = to_victim.map(|record| record.source).collect();
    (made, sources.len() as f64)
}

/// Asserts that the monitor reports `attack` with a count within 3 % of the truth. Returns a row of the printed table,
/// which states the delay.
fn check_attack(attack: &Attack, path: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (capture, truth) = capture(attack, path, folder.path());
    let config = folder.path().join("srlg.toml");
    let text = format!(
        "inside = ['10.10.10.0/24']\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n\
         timestamps = 'received'\n[[rule]]\nname = 'default'\nthresholds = {{ 60s = {} }}\n",
        attack.threshold
    );
    fs::write(&config, text).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_srlg"))
        .args(["run", "--config"])
        .arg(config)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let line = lines.find(|line| line.contains(" 127.0.0.1:")).unwrap();
    let to = line.rsplit(' ').next().unwrap();
    let before_ms = now_ms();
    let status = Command::new("softflowd")
        .args(["-d", "-a", "-v", "9", "-m", "100000", "-c", "none", "-n", to])
        .arg("-p")
        .arg(folder.path().join("pid"))
        .arg("-r")
        .arg(capture)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let passed_ms = now_ms();
    let mut alerts = BufReader::new(child.stdout.take().unwrap()).lines();
    let start: Value = serde_json::from_str(&alerts.next().unwrap().unwrap()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let host = attack.victim.to_string();
    assert_eq!((&start["status"], &start["host"]), (&"start".into(), &host.into()));
    assert_eq!((&start["view"], &start["kind"]), (&"fan-in".into(), &"flood".into()));
    let start_ms = start["start_ms"].as_u64().unwrap();
    assert!(start_ms > before_ms);
    let count = start["cardinality"].as_f64().unwrap();
    assert_abs_diff_eq!(count / truth, 1.0, epsilon = 0.03);
    assert!(count > attack.threshold, "{count} of {truth}");
    let after_ms = start_ms.saturating_sub(passed_ms);
    format!("| {} | {after_ms} ms | {count:.0} | {truth} |", attack.file)
}

#[test]
fn attacks_are_reported_and_counted() {
    let has = Command::new("softflowd").arg("-h").output().is_ok();
    if !has {
        let missing = "softflowd is missing; run scripts/exporters.sh";
        return skip_or_fail("SRLG_REQUIRE_EXPORTERS", missing);
    }
    let Some(data) = recorded(".") else { return };
    thread::scope(|scope| {
        let data = &data;
        let runs: Vec<_> = ATTACKS
            .iter()
            .map(|attack| scope.spawn(|| check_attack(attack, &data.join(attack.file))))
            .collect();
        println!(
            "\n| attack | started after the last export | estimated count | true count |\n|---|---|---|---|"
        );
        runs.into_iter().for_each(|run| println!("{}", run.join().unwrap()));
    });
}
