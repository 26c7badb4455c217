//! Tests of the rule with a simulated network: which messages are merged, and how often each slice closes.

mod cases;

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::network::subjects::Part;

/// Probe, slice and part of a message.
type Token = (usize, u64, u32);

const SECOND: Duration = Duration::from_secs(1);
const NOW: Moment = Moment::ZERO;
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(5),
    quiet: Duration::from_secs(7),
    max_skew: 20,
    max_pending: usize::MAX,
    window: 30,
};

fn arrival(probe: usize, slice: u64, sequence: u64) -> Arrival<Token> {
    part_of(probe, slice, Part { number: 1, count: 1 }, sequence)
}

fn part_of(probe: usize, slice: u64, part: Part, sequence: u64) -> Arrival<Token> {
    Arrival { probe, slice, part, sequence, bytes: 1, content: (probe, slice, part.number) }
}

/// A collector without a detector, which records the merged messages.
#[derive(Debug)]
struct Collector {
    rule: CloseRule<Token>,
    merged: BTreeSet<Token>,
    closed: Vec<Close>,
    refused: Vec<Refusal>,
    repeated: usize,
    last: u64,
}

impl Collector {
    fn new(probes: usize, limits: Limits) -> Self {
        Self::of(CloseRule::new(probes, limits), BTreeSet::new())
    }

    fn of(rule: CloseRule<Token>, merged: BTreeSet<Token>) -> Self {
        Self { rule, merged, closed: vec![], refused: vec![], repeated: 0, last: 0 }
    }

    fn take(&mut self, now: Moment, arrival: Arrival<Token>) {
        self.last = self.last.max(arrival.sequence);
        self.deliver(now, arrival);
        self.pass(now);
    }

    fn deliver(&mut self, now: Moment, arrival: Arrival<Token>) {
        match self.rule.deliver(now, arrival) {
            Verdict::Merge { content, late } => {
                assert_eq!(Some(content.1 + late), self.rule.running());
                self.merged.insert(content);
            }
            Verdict::Held => {}
            Verdict::Repeated => self.repeated += 1,
            Verdict::Refused(refusal) => self.refused.push(refusal),
        }
    }

    fn pass(&mut self, now: Moment) {
        while let Some(step) = self.rule.step(now) {
            match step {
                CollectorStep::Begin { waiting, .. } => {
                    waiting.into_iter().for_each(|arrival| self.deliver(now, arrival));
                }
                CollectorStep::Skip { slice, merge } => self.merge(slice, merge),
                CollectorStep::Close { close, merge } => {
                    self.merge(close.slice + 1, merge);
                    self.closed.push(close);
                }
            }
        }
    }

    fn merge(&mut self, slice: u64, merge: Vec<Token>) {
        for token in merge {
            assert_eq!(token.1, slice, "held until its slice runs");
            assert!(self.merged.insert(token));
        }
    }

    fn slices(&self) -> Vec<u64> {
        self.closed.iter().map(|closed| closed.slice).collect()
    }
}

/// Generates the messages of all probes for `slices` slices, in random order. Each probe's slice has one to three parts.
fn deliveries(probes: usize, slices: u64) -> impl Strategy<Value = Vec<Arrival<Token>>> {
    prop::collection::vec(1u32..4, probes * slices as usize)
        .prop_map(move |counts| {
            let messages = move |(i, count): (usize, u32)| {
                let (probe, slice) = (i % probes, (i / probes) as u64);
                (1..=count).map(move |number| part_of(probe, slice, Part { number, count }, 0))
            };
            counts.into_iter().enumerate().flat_map(messages).collect::<Vec<_>>()
        })
        .prop_shuffle()
        .prop_map(|mut arrivals| {
            arrivals.iter_mut().zip(1..).for_each(|(arrival, at)| arrival.sequence = at);
            arrivals
        })
}

fn networks() -> impl Strategy<Value = (usize, Vec<Arrival<Token>>)> {
    (1usize..5, 1u64..9)
        .prop_flat_map(|(probes, slices)| (Just(probes), deliveries(probes, slices)))
}

fn names(probes: usize) -> Vec<String> {
    (0..probes).map(|probe| format!("p{probe}")).collect()
}

/// Returns a rule whose running slice is 0.
fn begun(probes: usize) -> CloseRule<Token> {
    let mut rule = CloseRule::new(probes, LIMITS);
    rule.running = Some(0);
    rule
}

proptest! {
    #[test]
    fn in_any_order_each_slice_closes_once_with_all_that_was_delivered((probes, all) in networks()) {
        let mut collector = Collector::of(begun(probes), BTreeSet::new());
        let slices = all.iter().map(|arrival| arrival.slice).max().unwrap() + 1;
        for arrival in &all {
            collector.take(NOW, arrival.clone());
            for closed in &collector.closed {
                let of_slice = all.iter().filter(|arrival| arrival.slice == closed.slice);
                prop_assert!(of_slice.map(|arrival| arrival.content).all(|content| collector.merged.contains(&content)));
            }
        }
        prop_assert_eq!(collector.slices(), (0..slices).collect::<Vec<_>>());
        let everybody: Vec<usize> = (0..probes).collect();
        for closed in &collector.closed {
            prop_assert_eq!((closed.cause, &closed.delivered), (Cause::Complete, &everybody));
        }
        prop_assert_eq!(collector.merged.len(), all.len());
        prop_assert_eq!((collector.refused.len(), collector.repeated, collector.rule.pending()), (0, 0, 0));
        prop_assert_eq!(collector.rule.replay_after(collector.last), collector.last);
    }

    #[test]
    fn duplicates_are_counted_and_change_nothing(
        (probes, all) in networks(),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let mut collector = Collector::of(begun(probes), BTreeSet::new());
        all.iter().for_each(|arrival| collector.take(NOW, arrival.clone()));
        let (closed, merged) = (collector.closed.clone(), collector.merged.clone());
        again.iter().for_each(|index| collector.take(NOW, index.get(&all).clone()));
        prop_assert_eq!(collector.repeated, again.len());
        prop_assert_eq!((collector.closed, collector.merged), (closed, merged));
    }

    #[test]
    fn every_slice_closes_despite_losses(
        (probes, all) in networks(),
        lost in prop::collection::vec(any::<bool>(), 200),
        gaps in prop::collection::vec(0u64..3000, 200),
    ) {
        let mut collector = Collector::of(begun(probes), BTreeSet::new());
        let mut now = NOW;
        let mut highest = None;
        for ((arrival, &lost), &gap) in all.iter().zip(&lost).zip(&gaps) {
            now += Duration::from_millis(gap);
            if !lost {
                highest = highest.max(Some(arrival.slice));
                collector.take(now, arrival.clone());
            }
        }
        for _ in 0..14 {
            now += SECOND;
            collector.pass(now);
        }
        let expected: Vec<u64> = highest.map_or(vec![], |highest| (0..=highest).collect());
        prop_assert_eq!(collector.slices(), expected);
        prop_assert_eq!(collector.rule.pending(), 0);
    }

    #[test]
    fn a_collector_that_is_restored_ends_as_one_that_ran_through(
        (probes, all) in networks(),
        at in any::<prop::sample::Index>(),
        earlier in any::<prop::sample::Index>(),
    ) {
        let mut through = Collector::of(begun(probes), BTreeSet::new());
        all.iter().for_each(|arrival| through.take(NOW, arrival.clone()));

        let mut killed = Collector::of(begun(probes), BTreeSet::new());
        all[..at.index(all.len())].iter().for_each(|arrival| killed.take(NOW, arrival.clone()));
        let memory = killed.rule.state(&names(probes));
        let text = serde_json::to_string(&memory).unwrap();
        let rule = CloseRule::restore(&names(probes), LIMITS, &serde_json::from_str(&text).unwrap());
        // A snapshot contains merged messages; held messages are lost.
        let mut restored = Collector::of(rule, killed.merged.clone());
        restored.closed = killed.closed.clone();
        let replay = killed.rule.replay_after(killed.last);
        let first = earlier.index(replay as usize + 1);
        all[first..].iter().for_each(|arrival| restored.take(NOW, arrival.clone()));
        prop_assert_eq!((restored.closed, restored.merged), (through.closed, through.merged));
    }
}
