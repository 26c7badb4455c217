//! [`Tally`]: what became of every message, counted, and told where it is of use.
//!
//! Invariant: names come from the network and reasons from this program: what a stranger sends makes neither new series
//! nor more than a line of log in a while.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tracing::warn;

use super::arrival::Rejection;
use crate::show::board::MessageCounts;

/// Between two lines about the same reason.
const SILENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Tally {
    names: Vec<String>,
    pub(super) counts: Vec<MessageCounts>,
    pub(super) refused: BTreeMap<&'static str, u64>,
    told: BTreeMap<&'static str, LastLine>,
}

/// When a reason was told last, and how often it came since.
#[derive(Debug)]
struct LastLine {
    at: Instant,
    since: u64,
}

impl Tally {
    pub(super) fn new(names: &[String]) -> Self {
        let counts = vec![MessageCounts::default(); names.len()];
        Self { names: names.to_vec(), counts, refused: BTreeMap::new(), told: BTreeMap::new() }
    }

    /// Counts a message that is not merged; `probe` where it is of one of the network.
    pub(super) fn rejected(&mut self, probe: Option<usize>, rejection: &Rejection) {
        let reason = rejection.reason();
        let name = probe.map(|probe| {
            self.counts[probe].refused += 1;
            self.names[probe].clone()
        });
        *self.refused.entry(reason).or_default() += 1;
        if let Some(others) = self.may_tell(reason) {
            let name = name.unwrap_or_else(|| "a stranger".to_owned());
            let more = if others > 0 { format!(" ({others} more since)") } else { String::new() };
            warn!("a message of {name} is refused, {reason}: {rejection}{more}");
        }
    }

    /// Whether a line about `reason` is due; if so, how many there would have been since the last one.
    fn may_tell(&mut self, reason: &'static str) -> Option<u64> {
        let now = Instant::now();
        let told = self.told.get_mut(reason);
        if let Some(told) = told {
            told.since += 1;
            if now - told.at < SILENCE {
                return None;
            }
        }
        let before = self.told.insert(reason, LastLine { at: now, since: 0 });
        Some(before.map_or(0, |told| told.since - 1))
    }
}
