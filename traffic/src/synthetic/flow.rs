//! Flows whose packet times are computed instead of stored.
//!
//! A flow is divided into n equal parts, where n is its number of packets. Packet i is sent at a pseudo-random time in
//! part i. This time depends only on the flow and on i.

use super::rng::{Rng, mix};
use srlg_core::Ipv4Pair;

/// Number of ticks per slice. Packet times have a resolution of one tick.
pub(crate) const TICKS: u32 = 256;

/// Minimum duration of a flow with more than one packet, in seconds (model A).
const SHORTEST_SECONDS: f64 = 0.5;
/// Maximum duration of a flow, in seconds (model A).
const LONGEST_SECONDS: f64 = 900.0;
/// Pareto tail index of the packet counts and of the durations (model A).
const TAIL: f64 = 0.8;

/// Distribution of the packet counts and durations of flows.
#[derive(Clone, Copy)]
pub(crate) struct FlowModel {
    ticks_per_second: f64,
    most_packets: f64,
}

impl FlowModel {
    /// Creates a distribution with a mean of about `mean_packets` packets per flow, for slices of `slice_seconds`
    /// seconds.
    ///
    /// The packet count is a Pareto variate with tail index 0.8 and minimum 1, capped at C and rounded down. Its mean
    /// is `sum over k = 1..C of k^-0.8 = 5 C^0.2 + zeta(0.8)` (Euler-Maclaurin formula), where zeta(0.8) = -4.4375.
    /// This equation is solved for C. A mean of 46 gives C = 100,000, as in model A.
    pub(crate) fn new(mean_packets: u32, slice_seconds: f64) -> Self {
        let root = (f64::from(mean_packets) + 4.4375) / 5.0;
        Self {
            ticks_per_second: f64::from(TICKS) / slice_seconds,
            most_packets: root * root * root * root * root,
        }
    }

    pub(crate) fn draw(self, rng: &mut Rng, pair: Ipv4Pair, start: u32) -> Flow {
        let packets = rng.pareto(1.0, TAIL, self.most_packets) as u32;
        // A flow with one packet has length 0.
        let length = match packets {
            1 => 0.0,
            _ => rng.pareto(SHORTEST_SECONDS, TAIL, LONGEST_SECONDS) * self.ticks_per_second,
        };
        Flow::new(pair, start, length as u32, packets)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Flow {
    pub(crate) pair: Ipv4Pair,
    /// Tick at which the flow starts.
    start: u32,
    /// Length of the flow, in ticks.
    length: u32,
    packets: u32,
    /// Number of packets that have been sent. It is also the index of the next packet.
    sent: u32,
}

impl Flow {
    pub(crate) const fn new(pair: Ipv4Pair, start: u32, length: u32, packets: u32) -> Self {
        Self { pair, start, length, packets, sent: 0 }
    }

    /// Returns the slice of the next packet, or `None` if all packets have been sent.
    #[inline]
    pub(crate) fn next_slice(&self) -> Option<u32> {
        (self.sent < self.packets).then(|| self.packet_tick() / TICKS)
    }

    #[inline]
    pub(crate) fn send(&mut self) {
        self.sent += 1;
    }

    /// Returns the last tick at which a packet may be sent.
    pub(crate) fn end(&self) -> u32 {
        self.start.saturating_add(self.length)
    }

    #[inline]
    fn packet_tick(&self) -> u32 {
        let name = u64::from(self.pair.inside) << 32 | u64::from(self.pair.peer);
        let jitter = mix(name ^ mix(u64::from(self.sent))) >> 48;
        // The time of the packet in parts of the length is a fixed-point number with 16 fractional bits.
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
            let mut flow = model.draw(&mut rng, Ipv4Pair { inside: index, peer: 9 }, index * 100);
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
                .map(|_| u64::from(model.draw(&mut rng, Ipv4Pair::default(), 0).packets))
                .sum();
            let measured = sum as f64 / f64::from(flows);
            // E[X^2] <= 2/1.2 C^1.2 gives a standard deviation below 1300 at a mean of 46. The mean of 400,000 draws
            // has a standard deviation of 2.1. The bound of 18 % is four standard deviations.
            assert_abs_diff_eq!(measured / f64::from(mean), 1.0, epsilon = 0.18);
        }
    }
}
