//! Several systems doing the same work in turns, so that ratios hold on a machine that others
//! slow down now and then.
//!
//! In every round each [`Entrant`] runs once, alone, in the same order; the round before the first warms up and does not
//! count.

use crate::sample::Sample;
use anyhow::Result;

/// Who does the work.
pub(super) trait Entrant {
    /// Forgets the last round, and does the work once; the seconds of the work alone.
    fn round(&mut self) -> Result<f64>;

    /// Bytes that it holds after a round.
    fn memory_bytes(&self) -> usize;
}

/// An entrant and its times.
pub(super) struct Place<'a> {
    pub(super) system: String,
    pub(super) threads: u32,
    /// Rounds that count, at most: some systems take long.
    pub(super) most_rounds: u32,
    pub(super) seconds: Vec<f64>,
    pub(super) entrant: Box<dyn Entrant + 'a>,
}

impl<'a> Place<'a> {
    pub(super) fn new(system: impl Into<String>, threads: u32, entrant: impl Entrant + 'a) -> Self {
        Self {
            system: system.into(),
            threads,
            most_rounds: u32::MAX,
            seconds: Vec::new(),
            entrant: Box::new(entrant),
        }
    }

    /// Work per second.
    pub(super) fn rate(&self, work: f64) -> Sample {
        Sample::rate(work, &self.seconds)
    }
}

/// `rounds` of all places.
pub(super) fn run(places: &mut [Place<'_>], rounds: u32) -> Result<()> {
    for round in 0..=rounds {
        for place in places.iter_mut().filter(|place| round <= place.most_rounds) {
            let seconds = place.entrant.round()?;
            if round > 0 {
                place.seconds.push(seconds);
            }
        }
    }
    Ok(())
}

/// How many times as fast as the fastest of `others` a place was, in the rounds of all.
pub(super) fn ratio(place: &Place<'_>, others: &[&Place<'_>]) -> Sample {
    let rounds = others.iter().map(|other| other.seconds.len()).min().unwrap_or(0);
    let ratio = |(round, own): (usize, &f64)| {
        let fastest = others.iter().map(|other| other.seconds[round]).fold(f64::INFINITY, f64::min);
        fastest / own
    };
    Sample::of(place.seconds.iter().take(rounds).enumerate().map(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes one second longer every time.
    struct Tiring(f64);

    impl Entrant for Tiring {
        fn round(&mut self) -> Result<f64> {
            self.0 += 1.0;
            Ok(self.0)
        }

        fn memory_bytes(&self) -> usize {
            0
        }
    }

    #[test]
    fn all_take_turns_and_slow_ones_leave_early() {
        let mut places = [Place::new("a", 1, Tiring(0.0)), Place::new("b", 1, Tiring(10.0))];
        places[1].most_rounds = 2;
        run(&mut places, 3).unwrap();
        assert_eq!(places[0].seconds, [2.0, 3.0, 4.0]);
        assert_eq!(places[1].seconds, [12.0, 13.0]);
    }

    #[test]
    fn ratios_are_of_the_same_round_and_to_the_fastest_in_it() {
        let mut places = ["own", "one", "other"].map(|name| Place::new(name, 1, Tiring(0.0)));
        places[0].seconds = vec![1.0, 2.0, 1.0];
        places[1].seconds = vec![5.0, 6.0, 9.0];
        places[2].seconds = vec![4.0, 8.0];
        let [own, one, other] = &places;
        assert_eq!(ratio(own, &[one]), Sample::of([5.0, 3.0, 9.0]));
        assert_eq!(ratio(own, &[one, other]), Sample::of([4.0, 3.0]));
    }
}
