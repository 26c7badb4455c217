//! Helpers that keep logs short: only changes are logged, or one line per period.

use std::time::{Duration, Instant};

use tracing::{info, warn};

/// A condition whose changes are reported. The condition is initially false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnChange(bool);

impl OnChange {
    /// Sets whether the condition holds. Returns the new value if it differs from the previous value.
    pub fn change_to(&mut self, holds: bool) -> Option<bool> {
        (std::mem::replace(&mut self.0, holds) != holds).then_some(holds)
    }
}

/// The last error, which is logged only once while it stays the same.
#[derive(Debug, Default)]
pub struct LastError(Option<String>);

impl LastError {
    /// Returns the text of `error` if it differs from the text of the previous error.
    pub fn change_to(&mut self, error: &anyhow::Error) -> Option<&str> {
        let text = format!("{error:#}");
        let is_new = self.0.as_ref() != Some(&text);
        self.0 = Some(text);
        self.0.as_deref().filter(|_| is_new)
    }

    /// Clears the error and returns whether there was one.
    pub fn end(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// If `done` is an error that differs from the previous error, logs it after the text `failure`. Logs `recovery` on
    /// the first success after an error.
    pub fn log(&mut self, done: Result<(), anyhow::Error>, failure: &str, recovery: &str) {
        match done {
            Ok(()) if self.end() => info!("{recovery}"),
            Ok(()) => {}
            Err(error) => {
                if let Some(error) = self.change_to(&error) {
                    warn!("{failure}: {error}");
                }
            }
        }
    }
}

/// A timer that becomes due once per period.
#[derive(Clone, Copy, Debug)]
pub struct Every {
    period: Duration,
    last: Option<Instant>,
}

impl Every {
    /// Creates a timer that is due immediately.
    #[must_use]
    pub const fn new(period: Duration) -> Self {
        Self { period, last: None }
    }

    /// Creates a timer that is due after one period.
    #[must_use]
    pub fn from_now(period: Duration) -> Self {
        Self { period, last: Some(Instant::now()) }
    }

    /// Returns whether the timer is due. If it is due, a new period starts.
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
    fn only_changes_are_returned() {
        let mut condition = OnChange::default();
        let changes = [false, true, true, false, false].map(|holds| condition.change_to(holds));
        assert_eq!(changes, [None, Some(true), None, Some(false), None]);
    }

    #[test]
    fn a_problem_is_logged_when_it_is_new_and_when_it_ends() {
        let mut last_error = LastError::default();
        let news =
            ["a", "a", "b"].map(|text| last_error.change_to(&anyhow::anyhow!(text)).is_some());
        assert_eq!(news, [true, false, true]);
        assert_eq!([last_error.end(), last_error.end()], [true, false]);
    }

    #[test]
    fn a_period_is_due_at_once_or_when_it_is_over() {
        let mut hour = Every::new(Duration::from_secs(3_600));
        assert_eq!([hour.is_due(), hour.is_due()], [true, false]);
        assert!(!Every::from_now(Duration::from_secs(3_600)).is_due());
        assert!(Every::from_now(Duration::ZERO).is_due());
    }
}
