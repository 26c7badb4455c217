//! The delays between attempts that fail.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The delays between attempts to reach another program. The delay doubles after each failure, up to a limit. Each
/// delay is shortened at random by up to half, so that many programs do not repeat their attempts at the same moment.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// Creates delays that grow from `first` to `longest`.
    #[must_use]
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// Counts a failure, and returns the delay before the next attempt.
    pub fn delay(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.after(self.failures)
    }

    /// Forgets all failures, after a success.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }

    /// Returns a delay for clients that count their consecutive `failures` themselves. Without a failure, the delay is
    /// 0.
    #[must_use]
    pub fn after(&self, failures: u32) -> Duration {
        // The keys of the hasher are random.
        let random = RandomState::new().hash_one(failures) >> 32;
        self.full(failures).mul_f64(1.0 - random as f64 / 2_f64.powi(33))
    }

    /// Returns the delay after consecutive `failures`, before it is shortened.
    fn full(&self, failures: u32) -> Duration {
        match failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => self.first.saturating_mul(1 << doublings.min(30)).min(self.longest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_limit_and_start_again_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(15));
        for (failures, full) in (1..).zip([0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]) {
            assert_eq!(backoff.full(failures).as_secs_f64(), full);
            let delay = backoff.delay().as_secs_f64();
            assert!(full / 2.0 <= delay && delay <= full, "{delay} s instead of {full} s");
        }
        assert_eq!(backoff.full(u32::MAX), Duration::from_secs(15));
        assert_eq!(backoff.after(0), Duration::ZERO);
        backoff.reset();
        assert!(backoff.delay() <= Duration::from_millis(500));
    }

    #[test]
    fn delays_of_several_programs_differ() {
        let delay = || Backoff::new(Duration::from_secs(1), Duration::from_secs(1)).delay();
        let first = delay();
        assert!((0..100).any(|_| delay() != first));
    }
}
