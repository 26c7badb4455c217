//! A token bucket, which limits the number of messages per minute.
//!
//! A full bucket has the tokens of one minute. A message takes one token, and tokens come back at an even rate. The
//! bucket is stored as the time at which it will be full again (the generic cell rate algorithm).

/// Length of a minute, in microseconds.
const MINUTE_US: u64 = 60_000_000;

#[derive(Clone, Debug)]
pub(super) struct TokenBucket {
    /// Time until a token comes back, in microseconds.
    cost_us: u64,
    /// Time at which the bucket is full again, in microseconds since the Unix epoch.
    full_us: u64,
}

/// The share of a full bucket that messages of a class may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    All,
    ThreeQuarters,
    Half,
}

impl TokenBucket {
    /// Creates a full bucket with `most` tokens, at least 1.
    pub(super) fn new(most: u32) -> Self {
        Self { cost_us: MINUTE_US / u64::from(most.max(1)), full_us: 0 }
    }

    /// Takes a token at `now_ms`, in milliseconds since the Unix epoch, unless `share` of the bucket is used up.
    /// Returns whether it took one. A message takes the token of an untouched bucket in any case.
    pub(super) fn take(&mut self, now_ms: u64, share: Share) -> bool {
        let now_us = now_ms.saturating_mul(1_000);
        // If the system clock was set back, the bucket counts as empty.
        self.full_us = self.full_us.min(now_us.saturating_add(MINUTE_US));
        let used_us = self.full_us.saturating_sub(now_us);
        let room_us = MINUTE_US - self.cost_us;
        let room_us = match share {
            Share::All => room_us,
            Share::ThreeQuarters => room_us / 4 * 3,
            Share::Half => room_us / 2,
        };
        let takes = used_us <= room_us;
        if takes {
            self.full_us = now_us + used_us + self.cost_us;
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bucket: &mut TokenBucket, now_ms: u64, share: Share) -> usize {
        (0..1_000).filter(|_| bucket.take(now_ms, share)).count()
    }

    #[test]
    fn tokens_come_back_evenly_and_classes_share_them() {
        let mut bucket = TokenBucket::new(60);
        let second = |second: u64| 1_000_000 + second * 1_000;
        let mut takes = |at: u64, share| taken(&mut bucket, second(at), share);
        assert_eq!(takes(0, Share::Half), 30);
        assert_eq!(takes(0, Share::ThreeQuarters), 15);
        assert_eq!(takes(0, Share::All), 15);
        assert_eq!([1, 2, 4].map(|at| takes(at, Share::All)), [1, 1, 2]);
        assert_eq!(takes(14, Share::ThreeQuarters), 0);
        assert_eq!(takes(24, Share::ThreeQuarters), 5);
        assert_eq!(takes(200, Share::All), 60);
        assert_eq!(taken(&mut TokenBucket::new(1), 0, Share::Half), 1);
        assert_eq!(taken(&mut TokenBucket::new(u32::MAX), 0, Share::Half), 1_000);
    }

    #[test]
    fn a_clock_that_is_set_back_delays_messages_by_a_minute_at_most() {
        let mut bucket = TokenBucket::new(2);
        assert_eq!(taken(&mut bucket, 7_200_000, Share::All), 2);
        assert_eq!(taken(&mut bucket, 3_600_000, Share::All), 0);
        assert_eq!(taken(&mut bucket, 3_660_000, Share::All), 2);
    }
}
