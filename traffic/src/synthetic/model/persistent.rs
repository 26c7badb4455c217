//! Flows that never pause.
//!
//! Shape: [`Persistent`], a [`Source`] that begins the same pairs in every period, each
//! with one packet per slice. Invariant: every slice has a packet of every pair, so that
//! no pair of the window is older than its newest slice.

use super::super::calendar::Source;
use super::super::flow::{Flow, TICKS};
use super::super::hosts::Background;
use super::{PERIOD, ticks_of};

pub(super) struct Persistent {
    pairs: Background,
}

impl Persistent {
    /// The pairs that `pairs` begins in one period.
    pub(super) const fn new(pairs: Background) -> Self {
        Self { pairs }
    }
}

impl Source for Persistent {
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow)) {
        // The flows of period 0 end when the stream begins.
        if number == 0 {
            return;
        }
        let first = ticks_of(number).start;
        // Always the draws of one and the same period.
        self.pairs.period(0, &mut |flow| {
            // As many equal parts as slices: a packet in each of them.
            begin(Flow::new(flow.pair, first, PERIOD * TICKS, PERIOD));
        });
    }
}
