//! Helpers that keep logs and notifications short: a rate limit, changes alone, one line in a while.

use std::time::{Duration, Instant};

const MINUTE_MS: u64 = 60_000;

/// A rate limit that counts the notices beyond it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    most: u32,
    minute_ms: u64,
    passed: u32,
    /// Notices that were held in this minute, and in those before.
    held: u64,
    held_before: u64,
}

impl Gate {
    /// Makes a gate that lets `most` notices a minute pass.
    #[must_use]
    pub const fn new(most: u32) -> Self {
        Self { most, minute_ms: 0, passed: 0, held: 0, held_before: 0 }
    }

    /// Returns whether a notice may pass at `now_ms`, milliseconds since the Unix epoch. One that may not is held.
    pub fn admit(&mut self, now_ms: u64) -> bool {
        self.held_until(now_ms);
        let passes = self.passed < self.most;
        self.passed += u32::from(passes);
        self.held += u64::from(!passes);
        passes
    }

    /// Returns how many notices were held in minutes that are over at `now_ms`, since [`forget_held`](Self::forget_held).
    pub fn held_until(&mut self, now_ms: u64) -> u64 {
        if now_ms.saturating_sub(self.minute_ms) >= MINUTE_MS {
            (self.minute_ms, self.passed) = (now_ms, 0);
            self.held_before += std::mem::take(&mut self.held);
        }
        self.held_before
    }

    /// Forgets the notices that were held in minutes that are over.
    pub fn forget_held(&mut self) {
        self.held_before = 0;
    }
}

/// A condition of which only the changes matter. At first it does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnChange(bool);

impl OnChange {
    /// Sets whether the condition holds, and returns that if it has changed.
    pub fn change_to(&mut self, holds: bool) -> Option<bool> {
        (std::mem::replace(&mut self.0, holds) != holds).then_some(holds)
    }
}

/// An error that is logged once, while it stays the same.
#[derive(Debug, Default)]
pub struct Trouble(Option<String>);

impl Trouble {
    /// Returns the text of `error` if it is another one than before.
    pub fn change_to(&mut self, error: &anyhow::Error) -> Option<&str> {
        let text = format!("{error:#}");
        let is_new = self.0.as_ref() != Some(&text);
        self.0 = Some(text);
        self.0.as_deref().filter(|_| is_new)
    }

    /// Ends the trouble, and returns whether there was any.
    pub fn end(&mut self) -> bool {
        self.0.take().is_some()
    }
}

/// A period after which something is due again.
#[derive(Clone, Copy, Debug)]
pub struct Every {
    period: Duration,
    last: Option<Instant>,
}

impl Every {
    /// Makes a period that is due at once.
    #[must_use]
    pub const fn new(period: Duration) -> Self {
        Self { period, last: None }
    }

    /// Makes a period that starts now.
    #[must_use]
    pub fn from_now(period: Duration) -> Self {
        Self { period, last: Some(Instant::now()) }
    }

    /// Returns whether the period is over; if it is, the next one starts.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= self.period);
        if is_due {
            self.last = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_beyond_the_rate_are_counted_until_they_are_forgotten() {
        let mut gate = Gate::new(2);
        let second = |second: u64| 1_000_000 + second * 1_000;
        assert_eq!([0, 1, 2, 59].map(|at| gate.admit(second(at))), [true, true, false, false]);
        assert_eq!((gate.admit(second(60)), gate.held_until(second(60))), (true, 2));
        assert_eq!([61, 62].map(|at| gate.admit(second(at))), [true, false]);
        gate.forget_held();
        assert_eq!([119, 120, 121].map(|at| gate.held_until(second(at))), [0, 1, 1]);
        gate.forget_held();
        assert_eq!(gate.held_until(second(180)), 0);
    }

    #[test]
    fn only_changes_are_returned() {
        let mut condition = OnChange::default();
        let changes = [false, true, true, false, false].map(|holds| condition.change_to(holds));
        assert_eq!(changes, [None, Some(true), None, Some(false), None]);
    }

    #[test]
    fn trouble_is_logged_when_it_is_new_and_when_it_ends() {
        let mut trouble = Trouble::default();
        let news = ["a", "a", "b"].map(|text| trouble.change_to(&anyhow::anyhow!(text)).is_some());
        assert_eq!(news, [true, false, true]);
        assert_eq!([trouble.end(), trouble.end()], [true, false]);
    }

    #[test]
    fn a_period_is_due_at_once_or_when_it_is_over() {
        let mut hour = Every::new(Duration::from_secs(3_600));
        assert_eq!([hour.is_due(), hour.is_due()], [true, false]);
        assert!(!Every::from_now(Duration::from_secs(3_600)).is_due());
        assert!(Every::from_now(Duration::ZERO).is_due());
    }
}
