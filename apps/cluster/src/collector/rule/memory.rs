//! [`RuleState`]: what of a rule has to be in a checkpoint, as JSON.
//!
//! Shape: probes by name, so that a network may get others between two runs. Invariant: nothing of
//! slices that are not closed is in it, for that is delivered again
//! ([`replay_after`](CloseRule::replay_after)).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CloseRule, Limits, Moment, Parts};

/// The state of a rule in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct RuleState {
    /// The running slice, once there is one.
    pub(in super::super) running: Option<u64>,
    silent: u64,
    probes: BTreeMap<String, ProbeState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProbeState {
    /// The slice that it spoke of last.
    newest: Option<u64>,
    known_from: u64,
    /// Closed slices of the window that it has not delivered, and what it has of them.
    owed: BTreeMap<u64, Parts>,
}

impl<T> CloseRule<T> {
    /// What to keep, with the names of the probes.
    pub(in super::super) fn state(&self, names: &[String]) -> RuleState {
        let mut owed = vec![BTreeMap::new(); names.len()];
        for (&(slice, probe), parts) in &self.owed {
            owed[probe].insert(slice, parts.clone());
        }
        let of_probe = |(probe, owed)| ProbeState {
            newest: self.front.newest(probe),
            known_from: self.known_from[probe],
            owed,
        };
        let probes = owed.into_iter().enumerate().map(of_probe);
        let probes = names.iter().cloned().zip(probes).collect();
        RuleState { running: self.running, silent: self.silent, probes }
    }

    /// The rule that `state` is of.
    pub(in super::super) fn restore(names: &[String], limits: Limits, state: &RuleState) -> Self {
        let mut rule = Self::new(names.len(), limits);
        rule.running = state.running;
        rule.silent = state.silent;
        for (probe, name) in names.iter().enumerate() {
            let Some(kept) = state.probes.get(name) else {
                // Nothing is known of what a new probe delivered before: nothing it says is a repetition.
                rule.known_from[probe] = state.running.unwrap_or(0);
                continue;
            };
            rule.known_from[probe] = kept.known_from;
            let owed = kept.owed.iter().map(|(&slice, parts)| ((slice, probe), parts.clone()));
            rule.owed.extend(owed);
            // It has a say until it had the time to speak: else the first to speak would be the network.
            if let Some(slice) = kept.newest {
                rule.front.hear(probe, slice, Moment::ZERO);
            }
        }
        rule
    }

    /// The last slice up to which everything of `probe` was delivered, of those that are closed.
    pub(in super::super) fn covered(&self, probe: usize) -> Option<u64> {
        let first_owed = self.owed.keys().find(|&&(_, owing)| owing == probe);
        let covered = match first_owed {
            Some(&(slice, _)) => slice.checked_sub(1)?,
            None => self.running?.checked_sub(1)?,
        };
        (covered >= self.known_from[probe]).then_some(covered)
    }
}
