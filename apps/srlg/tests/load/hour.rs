//! Memory during an hour of traffic with attacks.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::{memory_bytes, next};

/// Length of the replay in seconds, and number of contacts per second apart from attacks.
const SECONDS: u64 = 3_600;
const CONTACTS: u64 = 1_000;

/// Time after which memory must not grow, in seconds. By then, windows are full, attacks of all kinds have ended at
/// least once, and checkpoints of all views have been written.
const SETTLED: u64 = 1_200;

/// Start of the traffic, in milliseconds since the Unix epoch.
const START_MS: u64 = 1_780_000_000_000;

struct Traffic {
    random: u64,
    lines: String,
}

impl Traffic {
    fn next(&mut self) -> u32 {
        (next(&mut self.random) >> 32) as u32
    }

    /// Returns a random address, one of the first `hosts` addresses of `first`.0.0.0/8.
    fn address(&mut self, first: u8, hosts: u32) -> String {
        let [_, b, c, d] = (self.next() % hosts).to_be_bytes();
        format!("{first}.{b}.{c}.{d}")
    }

    fn contact(&mut self, second: u64, from: &str, to: &str) {
        writeln!(self.lines, "{},{from},{to}", START_MS + second * 1_000).unwrap();
    }

    /// Writes the traffic of one second. In the first 20 seconds of each minute, a new host is flooded, another new
    /// host scans, and a network is flooded.
    fn second(&mut self, second: u64) {
        self.lines.clear();
        for _ in 0..CONTACTS {
            let (from, to) = (self.address(80, 1 << 20), self.address(10, 1 << 12));
            self.contact(second, &from, &to);
        }
        let [_, _, b, c] = ((second / 60) as u32).to_be_bytes();
        if second % 60 < 20 {
            for _ in 0..300 {
                let peer = self.address(81, 1 << 24);
                self.contact(second, &peer, &format!("10.{b}.{c}.200"));
                let target = self.address(10, 1 << 16);
                self.contact(second, &format!("198.{b}.{c}.9"), &target);
            }
            for host in 0..64 {
                for _ in 0..80 {
                    let peer = self.address(82, 1 << 24);
                    self.contact(second, &peer, &format!("10.77.{c}.{host}"));
                }
            }
        }
    }
}

fn forget_peak(process: u32) {
    fs::write(format!("/proc/{process}/clear_refs"), "5").unwrap();
}

#[test]
#[ignore = "takes a minute of CPU time"]
fn an_hour_takes_no_more_than_its_first_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let alerts = folder.path().join("alerts");
    let views = ["fan-in", "fan-out", "outside"].map(|name| {
        let [role, measure] = match name {
            "fan-in" => ["destination", "inside"],
            "fan-out" => ["source", "inside"],
            _ => ["source", "outside"],
        };
        format!("[[view]]\nname = '{name}'\nrole = '{role}'\nmeasure = '{measure}'\npairs = 200_000\nmemory = 4_000_000\n")
    });
    let config = format!(
        "inside = ['10.0.0.0/8']\nslice = '4s'\ncheckpoint = '1s'\nhttp = '127.0.0.1:0'\nstate = '{}'\n{}[[rule]]\nname = 'all'\nthresholds = {{ 60s = 1000 }}\n",
        folder.path().join("state").display(),
        views.concat()
    );
    fs::write(folder.path().join("srlg.toml"), config).unwrap();
    let mut monitor = Command::new(env!("CARGO_BIN_EXE_srlg"))
        // The systemd unit sets the same variable, so that glibc returns the memory of checkpoints.
        .env("MALLOC_MMAP_THRESHOLD_", "131072")
        .args(["run", "--input", "-", "--config"])
        .arg(folder.path().join("srlg.toml"))
        .stdout(fs::File::create(&alerts).unwrap())
        .stdin(Stdio::piped())
        .stderr(fs::File::create(folder.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    let mut pipe = monitor.stdin.take().unwrap();
    pipe.write_all(b"time_ms,src,dst\n").unwrap();
    let mut traffic = Traffic { random: 1, lines: String::new() };
    let mut settled = 0;
    for second in 0..SECONDS {
        traffic.second(second);
        pipe.write_all(traffic.lines.as_bytes()).unwrap();
        // Peaks are compared, because writing a checkpoint briefly needs more memory.
        if second == SETTLED {
            settled = memory_bytes(monitor.id(), "VmHWM");
            forget_peak(monitor.id());
        }
    }
    let most = memory_bytes(monitor.id(), "VmHWM");
    drop(pipe);
    assert!(monitor.wait().unwrap().success());
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let starts = fs::read_to_string(alerts).unwrap().matches("\"status\":\"start\"").count();
    println!("{}", log.lines().take(3).collect::<Vec<_>>().join("\n"));
    println!(
        "\n| replayed, s | alerts | peak in the first {SETTLED} s, MB | later peak, MB |\n|---|---|---|---|"
    );
    let [settled_mb, most_mb] = [settled, most].map(|bytes| bytes as f64 / 1e6);
    println!("| {SECONDS} | {starts} | {settled_mb:.1} | {most_mb:.1} |");
    // Each minute has a flood, a scan and a flood of 64 hosts of a network.
    assert!(starts >= 66 * (SECONDS / 60) as usize - 66, "{starts}");
    assert!(
        most as f64 <= 1.05 * settled as f64,
        "{most} bytes, {settled} in the first {SETTLED} s"
    );
}
