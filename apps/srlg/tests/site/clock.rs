//! If the system clock is set during an attack, the alert stays active.
//!
//! The tests need libfaketime (scripts/faketime.sh). If libfaketime is missing, the tests print a message and are
//! skipped. If `SRLG_REQUIRE_FAKETIME` is set, the tests fail instead.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::exporter::{Exporter, Pair};
use crate::faketime::Clock;
use crate::running::Site;

struct Stepped {
    clock: Clock,
    site: Site,
    exporter: Exporter,
    flood: Vec<Pair>,
    folder: PathBuf,
}

impl Stepped {
    /// Starts the program. Returns `None` if libfaketime is missing.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let clock = Clock::new(&path)?;
        let config = format!(
            "inside = ['10.0.0.0/8']\nhttp = '127.0.0.1:0'\nstate = '{0}/state'\n\
             [input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n\
             [[view]]\nname = 'in'\nrole = 'destination'\npairs = 10_000\nmemory = 1_000_000\n\
             [[rule]]\nname = 'r'\nthresholds = {{ 2s = 100, 6s = 150 }}\nhold = '1s'\n\
             [[sink]]\ntype = 'file'\npath = '{0}/alerts'\n",
            path.display()
        );
        fs::write(path.join("srlg.toml"), config).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_srlg"));
        clock.give(program.args(["run", "--config"]).arg(path.join("srlg.toml")));
        let site = Site::run(folder, &mut program);
        let exporter = Exporter::new(site.exports);
        let peer = |at: u8| Ipv4Addr::new(198, 51, 100, at);
        let flood = (0..200).map(|at| [peer(at), Ipv4Addr::new(10, 0, 0, 1)]).collect();
        Some(Self { clock, site, exporter, flood, folder: path })
    }

    /// Exports the flood for at least `seconds` seconds, and until `is_done` returns true.
    fn flood(&mut self, seconds: u64, is_done: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while started.elapsed().as_secs() < seconds || !is_done(self) {
            assert!(
                started.elapsed().as_secs() < seconds + 60,
                "{:?}\n{}",
                self.statuses(),
                self.site.log()
            );
            self.exporter.export(&self.flood, Duration::from_millis(100));
        }
    }

    fn statuses(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("alerts")).unwrap_or_default();
        // The last line may be incomplete.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let notifications = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        notifications
            .map(|notification| notification["status"].as_str().unwrap().to_owned())
            .collect()
    }

    fn has_sent(&self, status: &str) -> bool {
        self.statuses().iter().any(|sent| sent == status)
    }

    /// Returns the end of the last closed slice, in milliseconds since the Unix epoch.
    fn last_slice_ms(&self) -> u64 {
        self.site.status()["now_ms"].as_u64().unwrap()
    }

    /// Asserts that the alert is still active. Then stops the flood, and asserts that the alert started and ended
    /// exactly once.
    fn finish(mut self) {
        assert!(!self.has_sent("end"), "{:?}\n{}", self.statuses(), self.site.log());
        let (started, before_ms) = (Instant::now(), self.last_slice_ms());
        while !self.has_sent("end") {
            assert!(started.elapsed().as_secs() < 60, "no end: {}", self.site.log());
            // Some traffic continues, so that there is no data gap.
            self.exporter.export(&self.flood[..1], Duration::from_millis(100));
        }
        assert!(self.last_slice_ms() > before_ms);
        let sent = self.statuses();
        let count = |status: &str| sent.iter().filter(|it| *it == status).count();
        assert_eq!((count("start"), count("end")), (1, 1), "{sent:?}");
        let health = self.site.get("/healthz");
        assert!(health == "ok" || health.starts_with("degraded: "), "{health}");
    }
}

const HOUR_S: i64 = 3_600;
const BACK_S: i64 = 120;

/// Duration of a flood, in seconds: longer than the longest window plus the hold time.
const AFTER_S: u64 = 8;

#[test]
fn an_alert_stays_active_when_the_clock_is_set_an_hour_forward_and_two_minutes_back_and_right_again()
 {
    let Some(mut stepped) = Stepped::start() else { return };
    stepped.flood(AFTER_S, |it| it.has_sent("start"));
    let before_ms = stepped.last_slice_ms();
    stepped.clock.set(HOUR_S);
    stepped.flood(AFTER_S, |it| it.last_slice_ms() > before_ms + 1_000 * HOUR_S as u64);
    stepped.clock.set(HOUR_S - BACK_S);
    stepped.flood(AFTER_S, |_| true);
    stepped.clock.set(HOUR_S);
    stepped.flood(AFTER_S, |_| true);
    stepped.finish();
}

/// After the clock is set forward, flows seem older than they are until the program compares the exporter's clock with
/// the new time.
#[test]
fn an_alert_stays_active_when_the_clock_is_set_forward_by_less_than_a_minute() {
    let Some(mut stepped) = Stepped::start() else { return };
    stepped.flood(AFTER_S, |it| it.has_sent("start"));
    stepped.clock.set(40);
    stepped.flood(2 * AFTER_S, |_| true);
    stepped.finish();
}

#[test]
#[ignore = "takes three minutes"]
fn an_alert_stays_active_when_a_clock_that_was_set_back_has_caught_up() {
    let Some(mut stepped) = Stepped::start() else { return };
    stepped.flood(AFTER_S, |it| it.has_sent("start"));
    let before_ms = stepped.last_slice_ms();
    stepped.clock.set(-BACK_S);
    stepped.flood(BACK_S as u64, |it| it.last_slice_ms() > before_ms);
    stepped.flood(AFTER_S, |_| true);
    stepped.finish();
}
