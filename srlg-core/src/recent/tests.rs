//! Tests that recorders with recent touches or their echoes are recognised as recent, and that hardly any other
//! recorders are.

extern crate std;

use std::ops::Range;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::counter::Lines;
use crate::{ArrayParams, Config, Ipv4Pair, Recorder, Recorder16, Scheme};

#[test]
fn recent_are_the_words_of_recent_ages_and_beside_them_those_of_their_echoes() {
    let longer = Config { window: 1000, ..Config::default() };
    for config in [Config::default(), longer, Config::paper()] {
        let params = config.validate().unwrap();
        let delay = params.counter_sizes().echo_delay;
        for slices in [1, 2, config.window] {
            let span = params.span(77, slices);
            let [finder, counter] = params.recent_ranges(span);
            let counter = counter.of_width::<u16>();
            for word in 0..=u16::MAX {
                let age = u32::from(word) / params.counter_sizes().tags;
                let is_touch = age < span.ages;
                let may_be_echo = (delay..delay + span.ages).contains(&age);
                assert_eq!(counter.holds(&[u16::MAX, word], 1), is_touch, "{word}");
                assert_eq!(counter.holds(&[0, word], 1), is_touch || may_be_echo, "{word}");
            }
            for age in 0..2 * config.window {
                let word = u64::from(age) * params.finder().age_step();
                assert_eq!(finder.holds(&[0, word], 1), age < span.finder_ages, "{age}");
            }
            assert!(!finder.holds(&[0, u64::MAX], 1));
        }
    }
}

#[test]
fn lines_are_distinguished() {
    let range = RecentRange { recent: 10u16, echo: 1000 };
    let mut recorders = [1005; 3 * LINE as usize];
    recorders[LINE as usize + 7] = 9;
    let held: Vec<usize> = (0..recorders.len()).filter(|&at| range.holds(&recorders, at)).collect();
    assert!(held.into_iter().eq(LINE as usize..2 * LINE as usize));
}

fn contacts(ages: Range<u32>) -> impl Strategy<Value = Vec<(Ipv4Pair, u32)>> {
    let pair = (0u32..40, 0u32..400).prop_map(|(inside, peer)| Ipv4Pair { inside, peer });
    prop::collection::vec((pair, ages), 0..200)
}

proptest! {
    // Every recorder that changes must be in a delta. Without it, a node that merges deltas would miss its word.
    #[test]
    fn only_recorders_that_changed_are_recent(
        before in contacts(3..24),
        now in contacts(0..3),
    ) {
        let scheme = Scheme::Tagged { cell_bits: 12, lines: 40, tags: 64 };
        let config =
            Config { threshold: 32, window: 8, linear_width: 256, scheme, ..Config::default() };
        let params = config.validate().unwrap();
        let [_, range] = params.recent_ranges(params.span(77, 3)).map(RecentRange::of_width::<u16>);
        let tagged = params.counter().tagged().unwrap();
        let untouched = || Recorder16::new(Recorder16::UNTOUCHED);
        let recorders: Vec<Recorder16> = (0..tagged.recorders()).map(|_| untouched()).collect();
        let touch = |contacts: &[(Ipv4Pair, u32)]| {
            contacts.iter().for_each(|&(pair, age)| Lines::new(tagged, &recorders).touch(&[pair], age));
            recorders.iter().map(ReadRecorder::word).collect::<Vec<u16>>()
        };
        let (before, after) = (touch(&before), touch(&now));
        for line in (0..after.len()).step_by(LINE as usize) {
            let line = line..line + LINE as usize;
            let is_touched = before[line.clone()] != after[line.clone()];
            for at in line {
                let held = range.holds(&after, at);
                prop_assert!(held || before[at] == after[at], "{} {}", before[at], after[at]);
                prop_assert!(is_touched || !held, "{}", after[at]);
            }
        }
    }
}
