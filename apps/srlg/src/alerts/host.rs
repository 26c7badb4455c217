//! The states of one host under one rule.
//!
//! Invariant: an alert starts once, then may be told again, and ends once.

use serde::{Deserialize, Serialize};

use crate::alerts::alert::{Severity, Why};
use crate::alerts::terms::Terms;
use crate::alerts::tracker::Sighting;

/// A host that is pending, or the alert of which goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Host {
    /// The last slices, the newest in the lowest bit: whether the threshold was passed.
    hits: u32,
    pub(crate) active: Option<Active>,
}

/// An alert that goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Active {
    pub(crate) rule: String,
    /// θ when the alert was told last.
    pub(crate) threshold: f64,
    pub(crate) start_ms: u64,
    pub(crate) severity: Severity,
    pub(crate) peak: f64,
    pub(crate) peak_ms: u64,
    /// When it was told last, and the count then.
    told_ms: u64,
    told: f64,
    /// Since when the count is below the one at which it ends.
    below_since_ms: Option<u64>,
}

/// A change of the alert of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Start,
    Update(Why),
    /// And up to when there were as many.
    End(u64),
}

impl Host {
    /// Whether the threshold was passed lately, and the alert has not started.
    pub(crate) fn is_pending(&self) -> bool {
        self.hits != 0 && self.active.is_none()
    }

    /// Whether nothing is to be remembered.
    pub(crate) fn is_idle(&self) -> bool {
        self.hits == 0 && self.active.is_none()
    }

    /// Takes a slice that ended at `now_ms`. Where `may_fall` is false what is missing may be the fault of the
    /// measurement, and nothing ends.
    pub(crate) fn step(
        &mut self,
        rule: &str,
        terms: &Terms,
        sighting: Sighting,
        now_ms: u64,
        may_fall: bool,
    ) -> Option<Step> {
        let Sighting { cardinality, std_error, is_lower_bound, .. } = sighting;
        self.hits = self.hits << 1 | u32::from(sighting.is_hit(terms));
        self.hits &= u32::MAX >> (32 - terms.of_slices);
        let Some(active) = &mut self.active else {
            if self.hits.count_ones() < terms.for_slices {
                return None;
            }
            let severity = Severity::of(cardinality, is_lower_bound, terms.threshold);
            self.active = Some(Active {
                rule: rule.to_owned(),
                threshold: terms.threshold,
                start_ms: now_ms,
                severity,
                peak: cardinality,
                peak_ms: now_ms,
                told_ms: now_ms,
                told: cardinality,
                below_since_ms: None,
            });
            return Some(Step::Start);
        };
        let down = (terms.down * terms.threshold).min(terms.threshold - 4.0 * std_error);
        if is_lower_bound || cardinality >= down || !may_fall {
            active.below_since_ms = None;
        } else {
            let since = *active.below_since_ms.get_or_insert(now_ms);
            if now_ms.saturating_sub(since) >= terms.hold_ms {
                return Some(Step::End(since));
            }
        }
        active.tell(terms, sighting, now_ms).map(Step::Update)
    }
}

impl Active {
    /// Nothing is known of this slice: the time below begins anew.
    pub(crate) fn hold(&mut self) {
        self.below_since_ms = None;
    }

    /// Why the alert is to be told again, if it is.
    fn tell(&mut self, terms: &Terms, sighting: Sighting, now_ms: u64) -> Option<Why> {
        let Sighting { cardinality, is_lower_bound, .. } = sighting;
        if cardinality > self.peak {
            (self.peak, self.peak_ms) = (cardinality, now_ms);
        }
        self.threshold = terms.threshold;
        let severity = Severity::of(cardinality, is_lower_bound, terms.threshold);
        let why = if severity > self.severity {
            self.severity = severity;
            Why::Severity
        } else if cardinality >= 2.0 * self.told {
            Why::Peak
        } else if now_ms.saturating_sub(self.told_ms) >= terms.repeat_ms {
            Why::Repeat
        } else {
            return None;
        };
        (self.told_ms, self.told) = (now_ms, self.told.max(cardinality));
        Some(why)
    }
}
