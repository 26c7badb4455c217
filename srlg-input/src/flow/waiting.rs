//! Data sets that came before their template.
//!
//! Invariant: no more than so many sets of a template and so many bytes in all; the oldest goes.

use std::collections::VecDeque;

use crate::flow::clock::Clock;
use crate::flow::options::DecoderOptions;

/// A set with the times of the datagram that it came in.
#[derive(Debug)]
pub(crate) struct Set {
    template: u16,
    pub(crate) clock: Clock,
    pub(crate) records: Box<[u8]>,
}

/// The sets that wait, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct WaitingSets {
    sets: VecDeque<Set>,
    bytes: usize,
}

impl Set {
    fn bytes(&self) -> usize {
        // The queue doubles.
        2 * size_of::<Self>() + self.records.len()
    }
}

impl WaitingSets {
    /// Holds `records` of `template` back; returns how many sets had to go, this one perhaps.
    pub(crate) fn push(
        &mut self,
        template: u16,
        clock: Clock,
        records: &[u8],
        options: &DecoderOptions,
    ) -> usize {
        let set = Set { template, clock, records: records.into() };
        self.bytes += set.bytes();
        self.sets.push_back(set);
        let before = self.sets.len();
        if self.sets.iter().filter(|set| set.template == template).count() > options.held_sets {
            let oldest = self.sets.iter().position(|set| set.template == template);
            let gone = oldest.and_then(|oldest| self.sets.remove(oldest));
            self.bytes -= gone.map_or(0, |set| set.bytes());
        }
        while self.bytes > options.held_bytes {
            let Some(gone) = self.sets.pop_front() else { break };
            self.bytes -= gone.bytes();
        }
        before - self.sets.len()
    }

    /// Takes out the sets that waited for `template`, the oldest first.
    pub(crate) fn take(&mut self, template: u16) -> Vec<Set> {
        if self.sets.iter().all(|set| set.template != template) {
            return Vec::new();
        }
        let (taken, rest) = self.sets.drain(..).partition(|set| set.template == template);
        self.sets = rest;
        self.bytes = self.sets.iter().map(Set::bytes).sum();
        taken.into()
    }
}

#[cfg(test)]
mod tests {
    use super::WaitingSets;
    use crate::flow::clock::Clock;
    use crate::flow::options::DecoderOptions;
    use crate::options::Timestamps;

    const CLOCK: Clock = Clock {
        export_ns: 0,
        cut_ns: 0,
        uptime_ms: None,
        received_ns: 0,
        skew_ns: 0,
        timestamps: Timestamps::Trusted,
    };

    fn first_bytes(held: &mut WaitingSets, template: u16) -> Vec<u8> {
        held.take(template).iter().map(|set| set.records[0]).collect()
    }

    #[test]
    fn sets_come_out_in_order_once() {
        let (mut held, options) = (WaitingSets::default(), DecoderOptions::default());
        for (template, byte) in [(256, 1), (257, 2), (256, 3)] {
            assert_eq!(held.push(template, CLOCK, &[byte; 9], &options), 0);
        }
        assert_eq!(first_bytes(&mut held, 256), [1, 3]);
        assert!(first_bytes(&mut held, 256).is_empty());
        assert_eq!(first_bytes(&mut held, 257), [2]);
        assert_eq!(held.bytes, 0);
    }

    #[test]
    fn the_oldest_goes_of_a_template_and_of_all() {
        let options =
            DecoderOptions { held_sets: 2, held_bytes: 1_000, ..DecoderOptions::default() };
        let mut held = WaitingSets::default();
        for byte in 1..=4 {
            assert_eq!(held.push(256, CLOCK, &[byte; 9], &options), usize::from(byte > 2));
        }
        assert_eq!(first_bytes(&mut held, 256), [3, 4]);
        for template in 256..1_000 {
            held.push(template, CLOCK, &[1; 100], &options);
            assert!(held.bytes <= 1_000);
        }
        assert_eq!(first_bytes(&mut held, 999), [1]);
        assert!(first_bytes(&mut held, 256).is_empty());
        assert_eq!(
            WaitingSets::default().push(256, CLOCK, &[1; 1_000], &options),
            1,
            "larger than all room"
        );
    }
}
