//! [`Tally`]: what became of every message, counted, and told where it is of use.
//!
//! Invariant: names come from the network and reasons from this program: what a stranger sends makes neither new series
//! nor more than a line of log in a while.

use std::collections::BTreeMap;
use std::time::Duration;

use tracing::warn;

use super::arrival::Rejection;
use crate::alerts::Every;
use crate::show::board::MessageCounts;

/// Between two lines about the same reason.
const SILENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Tally {
    names: Vec<String>,
    pub(super) counts: Vec<MessageCounts>,
    pub(super) refused: BTreeMap<&'static str, u64>,
    told: BTreeMap<&'static str, Line>,
}

/// When the next line about a reason is due, and how many were left out since the last one.
#[derive(Debug)]
struct Line {
    due: Every,
    left_out: u64,
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
        let first = || Line { due: Every::new(SILENCE), left_out: 0 };
        let line = self.told.entry(reason).or_insert_with(first);
        if line.due.is_due() {
            return Some(std::mem::take(&mut line.left_out));
        }
        line.left_out += 1;
        None
    }
}
