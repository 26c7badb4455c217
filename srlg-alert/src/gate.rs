//! How many notices a sink takes in a minute.

use serde::{Deserialize, Serialize};

const MINUTE_MS: u64 = 60_000;

/// Lets a number of notices a minute pass, and counts those beyond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    most: u32,
    minute_ms: u64,
    passed: u32,
    held: u64,
}

/// Tells whether a notice may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The notice may pass.
    Pass,
    /// The notice may pass, and so many were held in a minute before, which is to be told.
    PassAfter(u64),
    /// The notice is counted, and no more.
    Held,
}

impl Gate {
    /// Makes a gate that lets `most` notices a minute pass.
    #[must_use]
    pub const fn new(most: u32) -> Self {
        Self { most, minute_ms: 0, passed: 0, held: 0 }
    }

    /// Asks whether a notice may pass at `now_ms`, milliseconds since the Unix epoch.
    pub fn admit(&mut self, now_ms: u64) -> Admission {
        let held = self.held_until(now_ms);
        if self.passed >= self.most {
            self.held += 1;
            return Admission::Held;
        }
        self.passed += 1;
        held.map_or(Admission::Pass, Admission::PassAfter)
    }

    /// Returns how many notices were held in a minute that is over at `now_ms`, once.
    pub fn held_until(&mut self, now_ms: u64) -> Option<u64> {
        if now_ms.saturating_sub(self.minute_ms) < MINUTE_MS {
            return None;
        }
        (self.minute_ms, self.passed) = (now_ms, 0);
        Some(std::mem::take(&mut self.held)).filter(|held| *held > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Admission, Gate};

    #[test]
    fn notices_beyond_the_rate_are_counted_and_told_of_once() {
        let mut gate = Gate::new(2);
        let second = |second: u64| 1_000_000 + second * 1_000;
        let asked = [0, 1, 2, 59].map(|at| gate.admit(second(at)));
        assert_eq!(asked, [Admission::Pass, Admission::Pass, Admission::Held, Admission::Held]);
        assert_eq!(gate.admit(second(60)), Admission::PassAfter(2));
        assert_eq!(gate.admit(second(61)), Admission::Pass);
        assert_eq!((gate.admit(second(62)), gate.held_until(second(119))), (Admission::Held, None));
        assert_eq!((gate.held_until(second(120)), gate.held_until(second(121))), (Some(1), None));
    }
}
