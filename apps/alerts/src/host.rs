//! Alert state of one host of a view, for all windows of its rule.
//!
//! Invariant: an alert starts once, when the first window becomes active. The alert ends once, at the latest when no
//! window is active any more. An active alert may be reported several times.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use srlg_input::contact::Name;

use crate::alert::{Severity, Why, WindowCount};
use crate::near_miss::NearMiss;
use crate::rules::Rule;
use crate::rules::{Terms, Thresholds};
use crate::sighting::Sighting;
use crate::usual::Usual;
use crate::witnesses::{SilentSource, Witnesses};

/// A host that recently passed its threshold or has an active alert.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostState {
    /// States of the windows, by their length in slices.
    windows: BTreeMap<u32, WindowState>,
    pub(crate) active: Option<Active>,
}

/// An active alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Active {
    pub(crate) rule: String,
    pub(crate) start_ms: u64,
    /// Highest severity so far.
    pub(crate) severity: Severity,
    /// Time of the last notification, in milliseconds since the Unix epoch.
    notified_ms: u64,
    /// Time since which the counts of all ended windows have been low; 0 if no window has ended.
    until_ms: u64,
    /// Silent witnesses. The list is empty unless they prevent confirmation of the end.
    pub(crate) silent: Vec<SilentSource>,
}

/// Reliability of a host's counts in one slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceTrust<'a> {
    /// Whether the input is lost, so that no window becomes active.
    pub(crate) is_input_lost: bool,
    /// Number of slices since the last data gap.
    pub(crate) whole_slices: u32,
    pub(crate) witnesses: &'a Witnesses,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct WindowState {
    /// One bit for each of the last `of_slices` slices. A bit is set if the count reached the threshold in its slice.
    /// The lowest bit stands for the newest slice.
    hits: u32,
    /// Counts of the window, if it has been active during the alert.
    history: Option<WindowHistory>,
    /// Largest count that reached the threshold since the host was first tracked.
    #[serde(skip)]
    most: f64,
    /// Threshold that `most` reached.
    #[serde(skip)]
    threshold: f64,
    #[serde(skip)]
    most_hits: u32,
}

/// Counts of an alert within one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct WindowHistory {
    is_active: bool,
    threshold: f64,
    /// Smallest usual count while the window has been active, or `None` if nothing was usual.
    #[serde(default)]
    usual: Option<Usual>,
    severity: Severity,
    peak: f64,
    peak_ms: u64,
    /// Largest count at the time of a notification.
    notified_count: f64,
    /// Time since which the count has been below the level at which the window ends.
    below_since_ms: Option<u64>,
    /// Time since which the count has been low and the window has had neither a data gap nor a silent witness.
    whole_since_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    Start,
    Update(Why),
    /// The alert ends. The counts have been low since the given time.
    End(u64, Why),
}

enum WindowChange {
    Start,
    /// The window ends. The count has been low since the given time.
    End(u64),
    /// The window would end, but a silent witness prevents confirmation.
    Unconfirmed,
}

impl HostState {
    /// Returns whether the host recently passed a threshold and has no alert.
    pub(crate) fn is_pending(&self) -> bool {
        self.active.is_none() && !self.is_idle()
    }

    /// Returns whether the host has no alert and did not recently pass a threshold.
    pub(crate) fn is_idle(&self) -> bool {
        self.active.is_none() && self.windows.values().all(|window| window.hits == 0)
    }

    /// Processes a slice that ended at `now_ms`; `sighting` returns the count within a window. Low counts end a window
    /// only if it has no data gap and no witness is silent.
    pub(crate) fn step(
        &mut self,
        rule: &Rule,
        sighting: impl Fn(u32) -> Sighting,
        now_ms: u64,
        trust: SliceTrust<'_>,
    ) -> Option<Change> {
        let (mut has_joined, mut has_lost, mut until_ms, mut unconfirmed) = (false, false, 0, 0);
        self.windows.retain(|length, window| {
            let is_of_rule = rule.windows.contains_key(length);
            has_lost |= !is_of_rule && window.stop();
            // If a window was removed from the rule, its counts stay part of the alert until the alert ends.
            is_of_rule || window.history.is_some()
        });
        for (length, terms) in &rule.windows {
            let window = self.windows.entry(*length).or_default();
            match window.step(terms, sighting(*length), now_ms, *length, trust) {
                Some(WindowChange::Start) => has_joined = true,
                Some(WindowChange::End(since_ms)) => until_ms = until_ms.max(since_ms),
                Some(WindowChange::Unconfirmed) => unconfirmed += 1,
                None => {}
            }
        }
        let is_unconfirmed = unconfirmed > 0 && unconfirmed == self.active_histories().count();
        let below_since_ms = self.below_since_ms();
        let is_active = self.histories_mut().any(|history| history.is_active);
        let severity = self.histories_mut().map(|history| history.severity).max();
        let step = match &mut self.active {
            None => {
                let (rule, start_ms, severity) = (rule.name.clone(), now_ms, severity?);
                self.active = Some(Active {
                    rule,
                    start_ms,
                    severity,
                    notified_ms: now_ms,
                    until_ms: 0,
                    silent: Vec::new(),
                });
                Change::Start
            }
            Some(active) => {
                active.until_ms = active.until_ms.max(until_ms);
                if !is_active {
                    // A window that was removed from the rule had a sufficient count until now.
                    return Some(match has_lost {
                        true => Change::End(now_ms, Why::Rule),
                        false => Change::End(active.until_ms, Why::Below),
                    });
                }
                if let Some(since_ms) = below_since_ms
                    && now_ms.saturating_sub(since_ms) >= rule.unconfirmed_after_ms()
                {
                    return Some(Change::End(since_ms, Why::Unconfirmed));
                }
                let was_unconfirmed = !active.silent.is_empty();
                if is_unconfirmed {
                    active.silent.clone_from(&trust.witnesses.silent);
                    return (!was_unconfirmed).then_some(Change::Update(Why::Unconfirmed));
                }
                active.silent.clear();
                let severity = severity.unwrap_or(active.severity);
                let doubled = |(length, window): (&u32, &WindowState)| {
                    let history = window.history.as_ref();
                    history.is_some_and(|it| {
                        it.is_active && sighting(*length).cardinality >= 2.0 * it.notified_count
                    })
                };
                let why = if severity > active.severity {
                    Why::Severity
                } else if has_joined {
                    Why::Window
                } else if self.windows.iter().any(doubled) {
                    Why::Peak
                } else if was_unconfirmed {
                    match trust.witnesses.silent.is_empty() {
                        true => Why::Resumed,
                        false => Why::Above,
                    }
                } else if !trust.is_input_lost
                    && now_ms.saturating_sub(active.notified_ms) >= rule.repeat_ms()
                {
                    Why::Repeat
                } else {
                    return None;
                };
                active.severity = active.severity.max(severity);
                active.notified_ms = now_ms;
                Change::Update(why)
            }
        };
        for (length, window) in &mut self.windows {
            if let Some(history) = &mut window.history {
                history.notified_count = history.notified_count.max(sighting(*length).cardinality);
            }
        }
        Some(step)
    }

    pub(crate) fn set_forward(&mut self, step_ms: u64) {
        if let Some(active) = &mut self.active {
            active.notified_ms += step_ms;
        }
        for history in self.histories_mut() {
            for since_ms in [&mut history.below_since_ms, &mut history.whole_since_ms] {
                *since_ms = since_ms.map(|since_ms| since_ms + step_ms);
            }
        }
    }

    /// Returns the counts within all windows that have been active during the alert, sorted like
    /// [`Alert::windows`](crate::Alert::windows).
    pub(crate) fn counts(&self, sighting: impl Fn(u32) -> Sighting) -> Vec<WindowCount> {
        let windows = self.windows.iter();
        let histories =
            windows.filter_map(|(length, window)| Some((*length, window.history.as_ref()?)));
        let counts = histories.map(|(length, history)| history.count(length, sighting(length)));
        by_severity(counts.collect())
    }

    /// Returns how close the host came to an alert, or `None` if no count reached the threshold. If the rule has
    /// several windows, the window whose count reached the threshold in the most slices is used.
    pub(crate) fn near_miss(&self, host: Name, rule: &Rule) -> Option<NearMiss> {
        let (length, window) = self.windows.iter().max_by_key(|(_, window)| window.most_hits)?;
        let &Terms { for_slices, of_slices, .. } = rule.windows.get(length)?;
        let WindowState { most: cardinality, threshold, most_hits: slices, .. } = *window;
        (slices > 0).then_some(NearMiss {
            host,
            cardinality,
            threshold,
            slices,
            for_slices,
            of_slices,
        })
    }

    fn active_histories(&self) -> impl Iterator<Item = &WindowHistory> {
        let histories = self.windows.values().filter_map(|window| window.history.as_ref());
        histories.filter(|history| history.is_active)
    }

    /// Returns the time since which the counts of all active windows have been low, in milliseconds since the Unix
    /// epoch. If any count is high, returns `None`.
    pub(crate) fn below_since_ms(&self) -> Option<u64> {
        let since: Option<Vec<u64>> = self.active_histories().map(|it| it.below_since_ms).collect();
        since?.into_iter().max()
    }

    fn histories_mut(&mut self) -> impl Iterator<Item = &mut WindowHistory> {
        self.windows.values_mut().filter_map(|window| window.history.as_mut())
    }
}

/// Sorts counts of windows: active windows first, then by descending severity, then by ascending length.
pub(crate) fn by_severity(mut counts: Vec<WindowCount>) -> Vec<WindowCount> {
    counts.sort_by_key(|count| (Reverse((count.is_active, count.severity)), count.slices));
    counts
}

impl WindowState {
    /// Deactivates the window and returns whether it was active.
    fn stop(&mut self) -> bool {
        self.hits = 0;
        let Some(history) = &mut self.history else { return false };
        (history.below_since_ms, history.whole_since_ms) = (None, None);
        std::mem::take(&mut history.is_active)
    }

    fn step(
        &mut self,
        terms: &Terms,
        sighting: Sighting,
        now_ms: u64,
        length: u32,
        trust: SliceTrust<'_>,
    ) -> Option<WindowChange> {
        let Sighting { cardinality, std_error, is_lower_bound, usual, .. } = sighting;
        let usual = match &self.history {
            // The change of the hour does not end an alert, because the threshold does not rise with what is usual.
            Some(history) if history.is_active => lesser(history.usual, usual),
            _ => usual,
        };
        let thresholds = terms.thresholds(usual);
        if !trust.is_input_lost {
            self.hits = self.hits << 1 | u32::from(sighting.is_hit(terms));
            self.hits &= u32::MAX >> (32 - terms.of_slices);
            if sighting.is_hit(terms) {
                if cardinality > self.most {
                    (self.most, self.threshold) = (cardinality, thresholds.start);
                }
                self.most_hits = self.most_hits.max(self.hits.count_ones());
            }
        }
        let is_at = self.hits & 1 == 1 && self.hits.count_ones() >= terms.for_slices;
        let starts = is_at && !trust.is_input_lost;
        match &mut self.history {
            None if starts => {
                self.history = Some(WindowHistory::new(thresholds, usual, sighting, now_ms));
            }
            Some(history) if starts || history.is_active => {
                history.usual = usual;
                history.update(thresholds, sighting, now_ms);
            }
            _ => {}
        }
        let history = self.history.as_mut()?;
        if !history.is_active {
            history.is_active = starts;
            (history.below_since_ms, history.whole_since_ms) = (None, None);
            return starts.then_some(WindowChange::Start);
        }
        let threshold = thresholds.start;
        let down = (terms.down * threshold).min(threshold - 4.0 * std_error);
        if is_lower_bound || cardinality >= down {
            (history.below_since_ms, history.whole_since_ms) = (None, None);
            return None;
        }
        let below_ms = *history.below_since_ms.get_or_insert(now_ms);
        let is_for_long = |since_ms| now_ms.saturating_sub(since_ms) >= terms.hold_ms;
        let SliceTrust { whole_slices, witnesses, .. } = trust;
        let is_silent = !witnesses.silent.is_empty();
        if is_silent || length > whole_slices.min(witnesses.whole_slices) {
            history.whole_since_ms = None;
            return (is_silent && is_for_long(below_ms)).then_some(WindowChange::Unconfirmed);
        }
        let whole_ms = *history.whole_since_ms.get_or_insert(now_ms);
        // A witness that has not been seen since then may be silent.
        let ends = is_for_long(whole_ms) && witnesses.seen_ms >= below_ms;
        (ends && self.stop()).then_some(WindowChange::End(whole_ms))
    }
}

/// Returns the smaller one of two usual counts. Nothing is less than an unknown one, which raises no threshold.
fn lesser(one: Option<Usual>, other: Option<Usual>) -> Option<Usual> {
    one.zip(other).map(|(one, other)| if one.most < other.most { one } else { other })
}

impl WindowHistory {
    fn new(thresholds: Thresholds, usual: Option<Usual>, sighting: Sighting, now_ms: u64) -> Self {
        let Sighting { cardinality, is_lower_bound, .. } = sighting;
        Self {
            is_active: false,
            threshold: thresholds.start,
            usual,
            severity: Severity::of(cardinality, is_lower_bound, thresholds.severity),
            peak: cardinality,
            peak_ms: now_ms,
            notified_count: 0.0,
            below_since_ms: None,
            whole_since_ms: None,
        }
    }

    fn update(&mut self, thresholds: Thresholds, sighting: Sighting, now_ms: u64) {
        let Sighting { cardinality, is_lower_bound, .. } = sighting;
        if cardinality > self.peak {
            (self.peak, self.peak_ms) = (cardinality, now_ms);
        }
        self.threshold = thresholds.start;
        let severity = Severity::of(cardinality, is_lower_bound, thresholds.severity);
        self.severity = self.severity.max(severity);
    }

    fn count(&self, slices: u32, sighting: Sighting) -> WindowCount {
        WindowCount {
            slices,
            is_active: self.is_active,
            cardinality: sighting.cardinality,
            std_error: sighting.std_error,
            is_lower_bound: sighting.is_lower_bound,
            threshold: self.threshold,
            usual: sighting.usual,
            severity: self.severity,
            peak: self.peak,
            peak_ms: self.peak_ms,
        }
    }
}
