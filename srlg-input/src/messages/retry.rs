//! The delays between attempts to reach a broker or to fetch a schema.

use std::time::Duration;

/// The initial and the maximum delay.
const DELAYS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(15)];

/// Returns the delay before the next attempt, after `failures` consecutive failures.
pub(crate) fn delay(failures: u32) -> Duration {
    let [first, longest] = DELAYS;
    let doublings = failures.saturating_sub(1).min(10);
    (first * (1 << doublings)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_quarter_of_a_minute() {
        let seconds = [1, 2, 3, 4, 5, 6, 7, u32::MAX].map(|failures| delay(failures).as_secs_f64());
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]);
    }
}
