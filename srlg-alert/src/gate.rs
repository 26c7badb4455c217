//! A limit on the notices that a sink takes in a minute.

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

#[cfg(test)]
mod tests {
    use super::Gate;

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
}
