//! Counts of messages by outcome, and log lines about rejected messages.
//!
//! Invariant: the names of probes come from the configuration, and the reasons for rejections are fixed. Therefore
//! unknown senders cannot cause an unlimited number of time series or log lines.

use std::collections::BTreeMap;
use std::time::Duration;

use tracing::warn;

use super::arrival::Rejection;
use srlg_alerts::status::overview::MessageCounts;
use srlg_system::pacing::Every;

/// Minimum time between two log lines about the same reason.
const SILENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Tally {
    names: Vec<String>,
    pub(super) counts: Vec<MessageCounts>,
    pub(super) refused: BTreeMap<&'static str, u64>,
    lines: BTreeMap<&'static str, LogLimit>,
}

/// Rate limit of the log lines about one reason.
#[derive(Debug)]
struct LogLimit {
    due: Every,
    left_out: u64,
}

impl Tally {
    pub(super) fn new(names: &[String]) -> Self {
        let counts = vec![MessageCounts::default(); names.len()];
        Self { names: names.to_vec(), counts, refused: BTreeMap::new(), lines: BTreeMap::new() }
    }

    /// Counts a rejected message. `probe` is the sender, or `None` if the sender is not a probe of this network.
    pub(super) fn rejected(&mut self, probe: Option<usize>, rejection: &Rejection) {
        let reason = rejection.reason();
        let name = probe.map(|probe| {
            self.counts[probe].refused += 1;
            self.names[probe].clone()
        });
        *self.refused.entry(reason).or_default() += 1;
        if let Some(others) = self.due_line(reason) {
            let name = name.unwrap_or_else(|| "an unknown sender".to_owned());
            let more = if others > 0 {
                format!(" (similar lines suppressed: {others})")
            } else {
                String::new()
            };
            warn!("rejected a message of {name}, reason {reason}: {rejection}{more}");
        }
    }

    /// Returns the number of suppressed log lines about `reason`, if a line is due.
    fn due_line(&mut self, reason: &'static str) -> Option<u64> {
        let first = || LogLimit { due: Every::new(SILENCE), left_out: 0 };
        let line = self.lines.entry(reason).or_insert_with(first);
        if line.due.is_due() {
            return Some(std::mem::take(&mut line.left_out));
        }
        line.left_out += 1;
        None
    }
}
