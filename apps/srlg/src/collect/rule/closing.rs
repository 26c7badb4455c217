//! Opening and closing of slices.
//!
//! [`CloseRule::step`] moves from one running slice to the next. Invariant: once a rule is created or restored, only
//! this module changes its running slice, and the number of the running slice never decreases.

use super::{Cause, Close, CloseRule, CollectorStep, Moment, Slot};

impl<T> CloseRule<T> {
    /// Returns the next step, or `None` if no step is possible. The caller repeats the call until it returns `None`.
    pub(in super::super) fn step(&mut self, now: Moment) -> Option<CollectorStep<T>> {
        let Some(running) = self.running else { return self.begin(now) };
        self.advance_front(now);
        if let Some(slice) = self.end_of_silence(running) {
            return Some(self.skip_to(slice));
        }
        let cause = self.may_close(running, now)?;
        Some(self.close(running, cause, now))
    }

    fn advance_front(&mut self, now: Moment) {
        // If all probes are silent, the front is the last slice with a message.
        let highest = || self.open.last_key_value().map(|(&slice, _)| slice);
        if let Some(front) = self.front.at(now).or_else(highest) {
            self.front.advance(front, now);
        }
    }

    /// Opens the first slice, once every probe has sent a message or has had enough time to send one. If the held
    /// messages exceed the memory reserved for them, the first slice opens immediately.
    fn begin(&mut self, now: Moment) -> Option<CollectorStep<T>> {
        let crowded = self.pending > self.limits.max_pending;
        let expired = now >= self.waiting_since? + self.limits.quiet;
        if !(self.front.is_whole() || expired || crowded) {
            return None;
        }
        let front = self.front.at(now).or_else(|| self.front.of_all())?;
        let slices = self.waiting.iter().map(|arrival| arrival.slice);
        // A probe that is far behind the others does not determine the first slice.
        let near = slices.filter(|slice| slice.abs_diff(front) <= self.limits.max_skew);
        let first = near.min().unwrap_or(front);
        self.known_from.fill(first);
        self.running = Some(first);
        self.pending = 0;
        Some(CollectorStep::Begin { slice: first, waiting: std::mem::take(&mut self.waiting) })
    }

    /// Returns the slice to skip to after a silence of at least one window.
    fn end_of_silence(&self, running: u64) -> Option<u64> {
        let furthest = self.front.furthest()?;
        let next = self.open.first_key_value().map_or(furthest, |(&slice, _)| slice.min(furthest));
        (self.silent >= self.limits.window && next > running).then_some(next)
    }

    fn skip_to(&mut self, slice: u64) -> CollectorStep<T> {
        self.run(slice);
        self.known_from.fill(slice);
        self.silent = 0;
        CollectorStep::Skip { slice, merge: self.release(slice) }
    }

    fn may_close(&self, running: u64, now: Moment) -> Option<Cause> {
        let complete = self.open.get(&running).map_or(0, Slot::complete);
        if complete == self.known_from.len() {
            return Some(Cause::Complete);
        }
        if self.pending > self.limits.max_pending {
            return Some(Cause::Crowded);
        }
        let reached = self.front.reached(running)?;
        (now >= reached + self.limits.deadline).then_some(Cause::Deadline)
    }

    fn close(&mut self, slice: u64, cause: Cause, now: Moment) -> CollectorStep<T> {
        let mut slot = self.open.remove(&slice).unwrap_or_default();
        self.silent = if slot.is_silent() { self.silent + 1 } else { 0 };
        let mut close = Close {
            slice,
            cause,
            delivered: vec![],
            late: vec![],
            missing: vec![],
            whole_slices: 0,
        };
        for probe in 0..self.known_from.len() {
            let parts = slot.take_parts(probe);
            let list = if parts.are_complete() {
                &mut close.delivered
            } else {
                self.owed.insert((slice, probe), parts);
                let silent = self.front.is_silent(probe, now);
                if silent { &mut close.missing } else { &mut close.late }
            };
            list.push(probe);
        }
        close.whole_slices = self.whole_slices(slice);
        self.run(slice + 1);
        CollectorStep::Close { close, merge: self.release(slice + 1) }
    }

    fn whole_slices(&self, slice: u64) -> u32 {
        let known_from = self.known_from.iter().copied().max().unwrap_or(0);
        let owed = self.owed.range(..(slice + 1, 0)).next_back();
        let first = owed.map_or(known_from, |((owed, _), _)| known_from.max(owed + 1));
        u32::try_from((slice + 1).saturating_sub(first)).unwrap_or(u32::MAX)
    }

    fn run(&mut self, slice: u64) {
        self.running = Some(slice);
        self.front.forget_before(slice);
        // Slices that have left the window are no longer owed.
        let oldest = (slice + 1).saturating_sub(self.limits.window);
        self.owed = self.owed.split_off(&(oldest, 0));
    }

    fn release(&mut self, slice: u64) -> Vec<T> {
        let Some(slot) = self.open.get_mut(&slice) else { return Vec::new() };
        let (held, bytes) = slot.release();
        self.pending -= bytes;
        held
    }
}
