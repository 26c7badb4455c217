//! A monitor in simulated time.

use srlg_alerts::notification::Notification;
use srlg_cli::config::Config;
use srlg_cli::measure::monitor::Monitor;
use srlg_cli::traffic::Traffic;

/// A monitor, and the traffic of its site.
pub(crate) struct Simulated {
    monitor: Monitor,
    pub(crate) traffic: Traffic,
    /// Time of the first second, in milliseconds since the Unix epoch.
    pub(crate) start_ms: u64,
    /// Number of seconds that have passed.
    pub(crate) second: u64,
    pub(crate) notified: Vec<Notification>,
}

impl Simulated {
    pub(crate) fn new(config: &str, seed: u64) -> Self {
        Self {
            monitor: Monitor::new(&Config::parse(config).unwrap(), seed).unwrap(),
            traffic: Traffic::new(seed),
            // The phase of the minute depends on the seed.
            start_ms: 1_750_000_000_000 + seed * 7_919 % 60 * 1_000,
            second: 0,
            notified: Vec::new(),
        }
    }

    /// Lets a second pass, with the traffic that `add` adds. Returns the new notifications.
    pub(crate) fn pass_second(&mut self, add: impl FnOnce(&mut Traffic)) -> &[Notification] {
        let time_ns = (self.start_ms + self.second * 1_000) * 1_000_000;
        self.second += 1;
        self.monitor.advance(time_ns).unwrap();
        self.traffic.begin(time_ns);
        self.traffic.stay_alive();
        add(&mut self.traffic);
        for contact in self.traffic.take() {
            self.monitor.ingest(&contact).unwrap();
        }
        let known = self.notified.len();
        self.notified.extend(self.monitor.notifications().unwrap());
        &self.notified[known..]
    }
}
