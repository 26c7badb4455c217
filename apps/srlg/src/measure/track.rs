//! A view of contacts, whose pairs go into the slices that they are of.

use anyhow::{Error, Result};
use srlg_host::SlidingDetector;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_input::ViewOptions;
use srlg_input::contact::{Contact, Host, View};

use crate::alerts::rules::Rules;
use crate::measure::SKEW;

/// The number of contacts in a row without a port after which the input seems to have none.
const PORTLESS: u64 = 1_000;

/// The pairs of a view.
pub(crate) struct Track {
    view: View,
    slicer: Slicer,
    /// How many pairs each allowance of the rules took out.
    pub(crate) hits: Vec<u64>,
    /// Contacts that allowances took out.
    pub(crate) allowed: u64,
    /// Contacts without a port, which a view of ports leaves out.
    pub(crate) without_port: u64,
    /// Contacts since the last one with a port, in a view of ports.
    portless: u64,
    /// Contacts that came after their slice had ended, but within the window.
    pub(crate) late: u64,
}

impl Track {
    /// Makes a track of `view`, whose pairs `detector` counts in the slices of `clock`; `rules` are those that it will
    /// be asked by.
    pub(crate) fn new(
        view: &ViewOptions,
        clock: SliceClock,
        detector: &SlidingDetector,
        rules: &Rules,
    ) -> Result<Self> {
        let batch = detector.pair_batch(Slicer::BATCH)?;
        let slicer = Slicer::with_batch(clock.with_skew(SKEW), batch);
        let hits = vec![0; rules.allows().len()];
        let view = View::new(view)?;
        Ok(Self { view, slicer, hits, allowed: 0, without_port: 0, portless: 0, late: 0 })
    }

    /// Returns the clock, which counts what it has refused.
    pub(crate) const fn clock(&self) -> &SliceClock {
        self.slicer.clock()
    }

    /// Returns the pairs of `contact` that count by `rules`: hosts of the view, with their opposite hosts.
    #[inline(always)]
    pub(crate) fn pairs(
        &mut self,
        contact: &Contact,
        rules: &Rules,
    ) -> impl Iterator<Item = (Host, Host)> + Clone + use<> {
        let [sent, received] = self.view.sent_and_received(contact);
        let are_there = [sent.is_some(), received.is_some()];
        if self.view.has_ports() {
            self.without_port += u64::from(self.view.lacks_port(contact));
            self.portless = if contact.port().is_some() { 0 } else { self.portless + 1 };
        }
        let counts = rules.counts(contact, are_there, &mut self.hits);
        self.allowed += u64::from(counts != are_there);
        [sent.filter(|_| counts[0]), received.filter(|_| counts[1])].into_iter().flatten()
    }

    /// Returns whether this is a view of ports, and none of many last contacts had one.
    #[inline]
    pub(crate) const fn is_portless(&self) -> bool {
        self.portless >= PORTLESS
    }

    /// Puts `pairs` into the slice of `time_ns`, and returns whether they count. Time passes without pairs, too.
    #[inline]
    pub(crate) fn take<S: SliceSink<Error = Error>>(
        &mut self,
        time_ns: u64,
        pairs: impl Iterator<Item = (Host, Host)>,
        sink: &mut S,
    ) -> Result<Placement> {
        let placement = self.slicer.take(time_ns, pairs, sink)?;
        self.late += u64::from(matches!(placement, Placement::Late { .. }));
        Ok(placement)
    }

    /// Lets time pass until `now_ns`, by which slices end. The first slice is that of the first call.
    pub(crate) fn pass<S: SliceSink<Error = Error>>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<()> {
        self.slicer.start(now_ns, sink)?;
        self.slicer.pass(now_ns, sink)
    }

    /// Hands on all pairs that wait, but for those of slices that do not run yet.
    pub(crate) fn flush<S: SliceSink<Error = Error>>(&mut self, sink: &mut S) -> Result<()> {
        self.slicer.flush(sink)
    }

    /// Hands on all pairs that wait, at the end of an input.
    pub(crate) fn finish<S: SliceSink<Error = Error>>(&mut self, sink: &mut S) -> Result<()> {
        self.slicer.finish(sink)
    }
}
