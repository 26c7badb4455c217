//! The packets of one pair: when they come, without a list of them.
//!
//! Packet `i` of `n` lies at a random place in the `i`-th of `n` equal parts of the flow's length. Its time depends on
//! nothing but the flow, which can be put away between two packets and costs nothing.

use super::rng::{Rng, mix};
use srlg_core::IpPair;

/// Ticks per slice: the resolution of packet times.
pub(crate) const TICKS: u32 = 256;

/// Fewest seconds between the first and the last packet, before the cap (model A).
const SHORTEST_SECONDS: f64 = 0.5;
/// Most seconds between the first and the last packet (model A).
const LONGEST_SECONDS: f64 = 900.0;
/// Pareto tail of packets and of lengths (model A).
const TAIL: f64 = 0.8;

/// How flows are drawn: in ticks and packets.
#[derive(Clone, Copy)]
pub(crate) struct FlowModel {
    ticks_per_second: f64,
    most_packets: f64,
}

impl FlowModel {
    /// Flows whose packets have about the given mean, in slices of `slice_seconds`.
    ///
    /// A Pareto variate of tail 0.8 from 1, capped at C and rounded down, has the mean
    /// `sum over k = 1..C of k^-0.8 = 5 C^0.2 + zeta(0.8)` (Euler and Maclaurin), and
    /// zeta(0.8) = -4.4375; solved for C. A mean of 46 is C = 100,000, the model A.
    pub(crate) fn new(mean_packets: u32, slice_seconds: f64) -> Self {
        let root = (f64::from(mean_packets) + 4.4375) / 5.0;
        Self {
            ticks_per_second: f64::from(TICKS) / slice_seconds,
            most_packets: root * root * root * root * root,
        }
    }

    /// A flow of `pair` that begins at the tick `start`.
    pub(crate) fn draw(self, rng: &mut Rng, pair: IpPair, start: u32) -> Flow {
        let packets = rng.pareto(1.0, TAIL, self.most_packets) as u32;
        // A single packet is when the flow begins: it has no length.
        let length = match packets {
            1 => 0.0,
            _ => rng.pareto(SHORTEST_SECONDS, TAIL, LONGEST_SECONDS) * self.ticks_per_second,
        };
        Flow::new(pair, start, length as u32, packets)
    }
}

/// The packets of a pair that are still to come.
#[derive(Clone, Copy)]
pub(crate) struct Flow {
    pub(crate) pair: IpPair,
    /// Tick at which the flow begins.
    start: u32,
    /// Ticks from its beginning to its end.
    length: u32,
    packets: u32,
    /// Packets already sent: the index of the next one.
    sent: u32,
}

impl Flow {
    /// A flow of `packets` packets over `length` ticks from the tick `start`.
    pub(crate) const fn new(pair: IpPair, start: u32, length: u32, packets: u32) -> Self {
        Self { pair, start, length, packets, sent: 0 }
    }

    /// Slice of the next packet, or `None` when all are sent.
    #[inline]
    pub(crate) fn next_slice(&self) -> Option<u32> {
        (self.sent < self.packets).then(|| self.packet_tick() / TICKS)
    }

    /// Counts one packet as sent.
    #[inline]
    pub(crate) fn send(&mut self) {
        self.sent += 1;
    }

    /// Last tick at which a packet may come.
    pub(crate) fn end(&self) -> u32 {
        self.start.saturating_add(self.length)
    }

    #[inline]
    fn packet_tick(&self) -> u32 {
        let name = u64::from(self.pair.inside) << 32 | u64::from(self.pair.opposite);
        let jitter = mix(name ^ mix(u64::from(self.sent))) >> 48;
        // Fixed point with 16 binary places: place of the packet in parts of the length.
        let place = u64::from(self.sent) << 16 | jitter;
        let offset = (place * u64::from(self.length) / u64::from(self.packets)) >> 16;
        self.start.saturating_add(offset as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn packets_come_in_order_within_the_flow() {
        let mut rng = Rng::new(5, 0);
        let model = FlowModel::new(46, 1.0);
        for index in 0..2_000 {
            let mut flow = model.draw(&mut rng, IpPair { inside: index, opposite: 9 }, index * 100);
            let mut previous = flow.start;
            while flow.next_slice().is_some() {
                let tick = flow.packet_tick();
                assert!(previous <= tick && tick <= flow.end());
                previous = tick;
                flow.send();
            }
        }
    }

    #[test]
    fn mean_number_of_packets_is_the_wanted_one() {
        for mean in [1, 10, 46] {
            let mut rng = Rng::new(11, 0);
            let model = FlowModel::new(mean, 1.0);
            let flows = 400_000;
            let sum: u64 = (0..flows)
                .map(|_| u64::from(model.draw(&mut rng, IpPair::default(), 0).packets))
                .sum();
            let measured = sum as f64 / f64::from(flows);
            // E[X^2] <= 2/1.2 C^1.2 gives a standard deviation below 1300 at a mean of 46:
            // 2.1 for the mean of 400,000 draws, four of which are 18 %.
            assert_abs_diff_eq!(measured / f64::from(mean), 1.0, epsilon = 0.18);
        }
    }
}
