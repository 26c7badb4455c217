//! Generation of the packets of each slice from flows.
//!
//! [`Source`]s start flows, period by period. Each flow waits in the bucket of the slice in which its next packet is
//! due. It is therefore not processed in slices in which it sends no packets. The memory grows with the number of
//! waiting flows.

use super::Backbone;
use super::flow::{Flow, TICKS};
use super::peers::Peers;
use super::rng::Rng;
use srlg_core::Ipv4Pair;
use std::collections::VecDeque;

/// Purpose numbers of the random streams for shuffling and for planted hosts. No source of flows uses these numbers.
const SHUFFLE_STREAM: u64 = 2 << 40;
const PLANTED_STREAM: u64 = 3 << 40;

/// Maximum number of slices, including the period before the stream. 32-bit ticks can represent twice this number.
const MOST_SLICES: u32 = 1 << 23;

pub(crate) trait Source: Send {
    /// Passes each flow of period `number` to `begin`. Period 0 ends when the stream starts.
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow));
}

/// An iterator over the packets of each slice, created by [`Backbone::slices`] or
/// [`Model::slices`](super::Model::slices).
pub struct Slices {
    seed: u64,
    sources: Vec<Box<dyn Source>>,
    planted: Vec<Vec<Ipv4Pair>>,
    period: u32,
    /// Number of slices in which a planted host contacts each of its peers once.
    round: u32,
    /// Buckets of flows by the slice of their next packet. The front bucket belongs to the running slice.
    waiting: VecDeque<Vec<Flow>>,
    /// Number of the running slice. The stream starts with slice `period`, because flows of period 0 continue into the
    /// stream.
    slice: u32,
    end: u32,
}

impl Slices {
    /// Creates slices that contain the flows of `sources` and the planted hosts of `frame`. The fields `pairs` and
    /// `packets_per_pair` of `frame` are ignored.
    pub(super) fn of(frame: &Backbone, sources: Vec<Box<dyn Source>>) -> Self {
        assert!(frame.period > 0, "a period has at least one slice");
        let end = last_slice(frame).expect("the stream is longer than 2^23 slices");
        let mut slices = Self {
            seed: frame.seed,
            sources,
            planted: planted_pairs(frame),
            period: frame.period,
            round: frame.period.min(frame.slices).max(1),
            waiting: VecDeque::new(),
            slice: frame.period,
            end,
        };
        slices.begin_period(0);
        slices
    }

    /// Puts the flows that start in period `number` into their buckets.
    fn begin_period(&mut self, number: u32) {
        let (current, end, waiting) = (self.slice, self.end, &mut self.waiting);
        let mut begin = |mut flow: Flow| {
            // This cheap test skips flows that end before the running slice.
            if flow.end() / TICKS < current {
                return;
            }
            while flow.next_slice().is_some_and(|slice| slice < current) {
                flow.send();
            }
            wait(waiting, current, end, flow);
        };
        self.sources.iter().for_each(|source| source.period(number, &mut begin));
    }

    /// Appends the packets that flows send in the running slice, and moves the flows to their next buckets.
    fn background_packets(&mut self, packets: &mut Vec<Ipv4Pair>) {
        for mut flow in self.waiting.pop_front().unwrap_or_default() {
            while flow.next_slice() == Some(self.slice) {
                packets.push(flow.pair);
                flow.send();
            }
            wait(&mut self.waiting, self.slice + 1, self.end, flow);
        }
    }

    fn planted_packets(&self, packets: &mut Vec<Ipv4Pair>) {
        let turn = u64::from((self.slice - self.period) % self.round);
        for pairs in &self.planted {
            let share = |turn: u64| (pairs.len() as u64 * turn / u64::from(self.round)) as usize;
            packets.extend_from_slice(&pairs[share(turn)..share(turn + 1)]);
        }
    }
}

impl Iterator for Slices {
    type Item = Vec<Ipv4Pair>;

    fn next(&mut self) -> Option<Vec<Ipv4Pair>> {
        if self.slice >= self.end {
            return None;
        }
        if self.slice.is_multiple_of(self.period) {
            self.begin_period(self.slice / self.period);
        }
        let mut packets = Vec::new();
        self.background_packets(&mut packets);
        self.planted_packets(&mut packets);
        Rng::new(self.seed, SHUFFLE_STREAM + u64::from(self.slice)).shuffle(&mut packets);
        self.slice += 1;
        Some(packets)
    }
}

/// Returns the number of the first slice after the stream, or `None` if the stream exceeds [`MOST_SLICES`].
fn last_slice(model: &Backbone) -> Option<u32> {
    let end = model.slices.checked_add(model.period)?;
    let whole_periods = end.checked_next_multiple_of(model.period)?;
    (whole_periods <= MOST_SLICES).then_some(end)
}

/// Puts `flow` into the bucket of its next packet, or drops the flow if no packet is left before slice `end`.
fn wait(waiting: &mut VecDeque<Vec<Flow>>, front: u32, end: u32, flow: Flow) {
    let Some(slice) = flow.next_slice().filter(|&slice| slice < end) else { return };
    let bucket = (slice - front) as usize;
    if waiting.len() <= bucket {
        waiting.resize_with(bucket + 1, Vec::new);
    }
    waiting[bucket].push(flow);
}

fn planted_pairs(model: &Backbone) -> Vec<Vec<Ipv4Pair>> {
    let pairs = |(number, point): (usize, &super::PlantedHost)| {
        let mut rng = Rng::new(model.seed, PLANTED_STREAM + number as u64);
        let mut peers = Peers::new(point.kind, &mut rng);
        let draw = |_| Ipv4Pair { inside: point.host, peer: peers.draw(&mut rng) };
        (0..point.cardinality).map(draw).collect()
    };
    model.planted.iter().enumerate().map(pairs).collect()
}
