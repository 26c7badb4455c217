//! Data gaps of an input: times in which no contact arrives.

use srlg_alerts::Condition;

/// Time without any contact after which the input counts as lost, so that silence does not end an alert.
pub(crate) const LOST_MS: u64 = 60_000;

/// Completeness of the slices of an input.
#[derive(Clone, Debug)]
pub(crate) struct Completeness {
    slice_ms: u64,
    /// Time of the newest contact, in milliseconds since the Unix epoch. If the first slice starts later, its start.
    newest_ms: u64,
    /// First slice after the last slice with missing contacts.
    seen_from: u64,
    /// Whether a contact has arrived since the first slice opened.
    has_contact: bool,
    /// Whether the input was lost at the last close.
    is_lost: bool,
}

impl Completeness {
    pub(crate) const fn new(slice_ms: u64) -> Self {
        Self { slice_ms, newest_ms: 0, seen_from: 0, has_contact: false, is_lost: false }
    }

    /// Returns the completeness of the same input in slices of another length.
    #[cfg(feature = "network")]
    pub(crate) const fn with_slices_of(self, slice_ms: u64) -> Self {
        Self { slice_ms, seen_from: 0, has_contact: false, ..self }
    }

    pub(crate) const fn newest_ms(&self) -> u64 {
        self.newest_ms
    }

    /// Returns the end of the last slice with missing contacts, in milliseconds since the Unix epoch.
    #[cfg(feature = "network")]
    pub(crate) const fn seen_from_ms(&self) -> u64 {
        self.seen_from.saturating_mul(self.slice_ms)
    }

    /// Returns whether no contact has arrived for a minute at `now_ms`.
    #[cfg(feature = "network")]
    pub(crate) const fn is_lost_at(&self, now_ms: u64) -> bool {
        self.newest_ms > 0 && now_ms.saturating_sub(self.newest_ms) >= LOST_MS
    }

    /// Notes that contacts are missing until the first slice opens.
    pub(crate) const fn miss_contacts(&mut self) {
        // The end of the gap is known when the first slice opens.
        self.seen_from = u64::MAX;
    }

    /// Opens `slice` as the first slice.
    pub(crate) fn start(&mut self, slice: u64) {
        if !self.is_lost {
            self.newest_ms = self.newest_ms.max(slice.saturating_mul(self.slice_ms));
        }
        if self.seen_from == u64::MAX {
            // The first slice may have started before its first contact.
            self.seen_from = slice + 1;
        }
    }

    /// Notes that a contact has arrived whose time is `time_ms`.
    pub(crate) fn record(&mut self, time_ms: u64) {
        self.newest_ms = self.newest_ms.max(time_ms);
        self.has_contact = true;
    }

    /// Notes that the slice after the end of a file is not a data gap.
    pub(crate) const fn pass_slice(&mut self) {
        self.newest_ms += self.slice_ms;
    }

    /// Notes that the clock was set forward by `step_ms` to `now_ms`. Contacts are missing up to and including the slice
    /// of `now_ms`.
    pub(crate) fn set_forward(&mut self, step_ms: u64, now_ms: u64) {
        self.seen_from = self.seen_from.max(now_ms / self.slice_ms + 1);
        // Contacts may have been counted since the step.
        self.newest_ms = (self.newest_ms + step_ms).min(now_ms);
    }

    /// Returns the condition in which `slice` closes. Before the first contact, it is not known whether contacts are
    /// missing.
    pub(crate) fn condition(&self, slice: u64) -> Condition {
        let end_ms = slice.saturating_add(1).saturating_mul(self.slice_ms);
        let whole_slices = (slice + 1).saturating_sub(self.seen_from);
        Condition {
            is_input_lost: end_ms.saturating_sub(self.newest_ms) >= LOST_MS,
            whole_slices: match self.has_contact {
                true => u32::try_from(whole_slices).unwrap_or(u32::MAX),
                false => 0,
            },
        }
    }

    /// Closes `slice` and returns its condition. If the input is lost or has not begun, contacts of the slice may be
    /// missing.
    pub(crate) fn close(&mut self, slice: u64) -> Condition {
        let condition = self.condition(slice);
        self.is_lost = condition.is_input_lost;
        if self.is_lost || !self.has_contact {
            self.seen_from = self.seen_from.max(slice + 1);
        }
        condition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(is_input_lost: bool, whole_slices: u32) -> Condition {
        Condition { is_input_lost, whole_slices }
    }

    #[test]
    fn an_input_is_lost_after_a_minute_without_contacts_and_its_slices_are_a_gap() {
        let mut input = Completeness::new(1_000);
        input.start(100);
        assert_eq!(input.close(100), condition(false, 0), "no contact has arrived yet");
        input.record(100_000);
        assert_eq!(input.close(158), condition(false, 58));
        assert_eq!(input.close(159), condition(true, 59));
        assert_eq!(input.close(160), condition(true, 1));
        input.record(161_500);
        assert_eq!(input.close(161), condition(false, 1));
        assert_eq!(input.close(170), condition(false, 10));
    }

    #[test]
    fn a_lost_input_stays_lost_in_slices_of_another_length() {
        let mut input = Completeness::new(1_000);
        input.start(100);
        for (slice, is_lost) in [(150, false), (170, true)] {
            input.close(slice);
            let mut next = input.clone().with_slices_of(500);
            next.start(2 * slice + 2);
            assert_eq!(next.close(2 * slice + 2).is_input_lost, is_lost);
        }
    }

    #[test]
    fn missed_contacts_and_steps_of_the_clock_are_gaps() {
        let mut input = Completeness::new(1_000);
        input.miss_contacts();
        input.start(100);
        input.record(100_000);
        assert_eq!(input.close(100), condition(false, 0));
        assert_eq!(input.close(101), condition(false, 1));
        input.set_forward(3_600_000, 3_702_500);
        assert_eq!(input.close(3_702), condition(false, 0));
        assert_eq!(input.close(3_703), condition(false, 1));
    }
}
