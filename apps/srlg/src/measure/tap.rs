//! Taps: views that are applied by the threads that read a live input.
//!
//! ```text
//! a thread that reads --contacts--> Tap --pairs, a Feed per view--> detectors     [a tap per thread]
//! the main thread ----clock, closes----> pairs of its slice first, then the close
//!                 <---counts, details--- each tap
//! ```
//!
//! A thread locks its tap for a block of contacts. The main thread locks it briefly, to add up counts, to push pairs that wait before
//! it closes their slice, and to set rules and the hosts whose details are wanted. No two threads that read share a tap.
//!
//! Pairs wait in a tap until there are enough for a push, or, if they are of a slice that does not run yet, until it does: either the
//! thread pushes them with a later block, or the main thread does before it closes the slice.
//!
//! Invariants:
//! - The main thread locks no tap while it closes a slice, from `begin_close` to the end of the closing: a thread may wait for that
//!   end in the lock of its tap, because the buffer of its feed is full.
//! - All pairs of contacts that were read before a tick are in the detectors when a slice closes by that tick, if they are not of
//!   later slices. The input says so of contacts, and the main thread pushes what waits.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use srlg_host::ingest::{Arrival, Feed, Ip6Pair};
use srlg_host::{Error, IpPair, SlidingDetector};
use srlg_input::contact::{Contact, Host, Sampling};
use srlg_input::live::{ContactSink, SinkError};

use crate::alerts::details::Details;
use crate::alerts::rules::Rules;
use crate::measure::counts::ContactCounts;
use crate::measure::filter::{FilterCounts, PairFilter};
use crate::show::troubles::TroubleKind;

/// Pairs of each family that a feed keeps during a close, for each view and thread.
const FEED_PAIRS: usize = 1 << 16;

/// Bytes of a view of a thread that reads, beside pairs that wait for their slice.
pub(crate) const VIEW_BYTES: usize = Feed::memory_bytes(FEED_PAIRS);

/// Contacts that all views take in turn: 12 KB, which stay in the first cache.
const RUN: usize = 128;

/// Pairs of a slice that are pushed at once; fewer wait for more.
const PUSH: usize = 256;

/// Pairs of each family that waited and that a thread pushes with a block.
const PUSHED_LATER: usize = 1 << 12;

/// The taps of all threads that read.
#[derive(Default)]
pub(crate) struct Taps(Vec<Arc<Mutex<Tap>>>);

/// One view of all threads that read.
#[derive(Clone, Copy)]
pub(crate) struct ViewTaps<'a> {
    taps: &'a Taps,
    view: usize,
}

/// All views of one thread.
struct Tap {
    slice_ns: u64,
    /// Contacts of earlier slices are ignored.
    first_slice: u64,
    views: Vec<ViewTap>,
    counts: TapCounts,
    /// Why contacts of a run do not count, if there is a reason for any.
    unused: Vec<Option<TroubleKind>>,
}

/// Counts of contacts since they were collected last.
#[derive(Debug, Default)]
pub(crate) struct TapCounts {
    pub(crate) contacts: ContactCounts,
    /// The time of the newest contact, nanoseconds since the Unix epoch.
    pub(crate) newest_ns: u64,
    /// The sampling of contacts, by their slice.
    pub(crate) sampling: BTreeMap<u64, Sampling>,
}

/// A view of one thread.
pub(crate) struct ViewTap {
    filter: PairFilter,
    rules: Arc<Rules>,
    outflow: Outflow,
    window: u64,
    /// Pairs that wait, by slice.
    waiting: BTreeMap<u64, Pairs>,
    details: Details,
}

/// Pairs of a slice.
#[derive(Default)]
struct Pairs {
    v4: Vec<IpPair>,
    v6: Vec<Ip6Pair>,
    /// Contacts since the last push.
    contacts: u64,
}

/// The way of pairs from a thread to a detector.
struct Outflow {
    feed: Feed,
    pushed: Pushed,
}

/// The pairs that threads have pushed since they were settled last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pushed {
    pub(crate) pairs: u64,
    /// The oldest slice that any of them is of.
    pub(crate) oldest: Option<u64>,
}

/// What is left when pairs have been pushed.
pub(crate) struct Settled {
    /// The next slice of which pairs wait.
    pub(crate) next: Option<u64>,
    pub(crate) pushed: Pushed,
}

/// The sink of a thread.
struct TapSink(Arc<Mutex<Tap>>);

impl ContactSink for TapSink {
    fn take(&mut self, contacts: &[Contact]) -> Result<(), SinkError> {
        Ok(lock(&self.0).take(contacts)?)
    }
}

fn lock(tap: &Mutex<Tap>) -> MutexGuard<'_, Tap> {
    // A thread that panics while it has the lock ends the input.
    tap.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Taps {
    /// Adds a tap for another thread, and returns its sink. The tap has `views`, for contacts from `first_slice` on; all slices are of
    /// `slice_ms` milliseconds.
    pub(crate) fn add(
        &mut self,
        slice_ms: u64,
        first_slice: u64,
        views: Vec<ViewTap>,
    ) -> Box<dyn ContactSink> {
        let slice_ns = slice_ms * 1_000_000;
        let (counts, unused) = (TapCounts::default(), Vec::new());
        let tap = Arc::new(Mutex::new(Tap { slice_ns, first_slice, views, counts, unused }));
        self.0.push(Arc::clone(&tap));
        Box::new(TapSink(tap))
    }

    /// Lets all taps have the views that `views` returns, for contacts from `first_slice` on, as with [`add`](Self::add). Pairs that
    /// wait in the former views are dropped.
    pub(crate) fn set_views(
        &self,
        slice_ms: u64,
        first_slice: u64,
        views: impl Fn() -> Result<Vec<ViewTap>>,
    ) -> Result<()> {
        for mut tap in self.each() {
            tap.views = views()?;
            (tap.slice_ns, tap.first_slice) = (slice_ms * 1_000_000, first_slice);
            // By numbers of other slices.
            tap.counts.sampling.clear();
        }
        Ok(())
    }

    fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Tap>> {
        self.0.iter().map(|tap| lock(tap))
    }

    /// Returns the slices of which pairs wait.
    pub(crate) fn waiting(&self) -> BTreeSet<u64> {
        let mut slices = BTreeSet::new();
        for tap in self.each() {
            slices.extend(tap.views.iter().flat_map(|view| view.waiting.keys()));
        }
        slices
    }

    /// Removes and returns the counts of all taps.
    pub(crate) fn collect(&self) -> TapCounts {
        let mut all = TapCounts::default();
        for mut tap in self.each() {
            let TapCounts { contacts, newest_ns, sampling } = mem::take(&mut tap.counts);
            all.contacts.merge(contacts);
            all.newest_ns = all.newest_ns.max(newest_ns);
            for (slice, sampling) in sampling {
                all.sampling.entry(slice).or_default().merge(sampling);
            }
        }
        all
    }

    /// Moves the counts of the view number `view` to `counts`.
    pub(crate) fn collect_view(&self, view: usize, counts: &mut FilterCounts) {
        self.each().for_each(|mut tap| counts.take(&mut tap.views[view].filter.counts));
    }

    /// Returns the part of the view number `view` in all taps.
    pub(crate) const fn of(&self, view: usize) -> ViewTaps<'_> {
        ViewTaps { taps: self, view }
    }

    /// Moves the counts of the view number `view` to `counts`, and lets all taps ask `rules` about it from then on.
    pub(crate) fn set_rules(&self, view: usize, rules: &Rules, counts: &mut FilterCounts) {
        let rules = Arc::new(rules.clone());
        for mut tap in self.each() {
            let view = &mut tap.views[view];
            // A thread may count until its tap is locked.
            counts.take(&mut view.filter.counts);
            view.filter.counts = FilterCounts::of(&rules);
            view.rules = Arc::clone(&rules);
        }
    }
}

impl ViewTaps<'_> {
    /// Returns whether there are any taps.
    pub(crate) const fn are_there(self) -> bool {
        !self.taps.0.is_empty()
    }

    /// Pushes all pairs that wait and are of slices up to `running`, and moves details to `details`.
    pub(crate) fn settle(self, running: u64, details: &mut Details) -> Result<Settled> {
        let mut settled = Settled { next: None, pushed: Pushed::default() };
        for mut tap in self.taps.each() {
            let view = &mut tap.views[self.view];
            view.push_up_to(running)?;
            details.absorb(&mut view.details);
            settled.next = earlier(settled.next, view.waiting.keys().next().copied());
            let Pushed { pairs, oldest } = mem::take(&mut view.outflow.pushed);
            settled.pushed.pairs += pairs;
            settled.pushed.oldest = earlier(settled.pushed.oldest, oldest);
        }
        Ok(settled)
    }

    /// Lets all taps look at `hosts`.
    pub(crate) fn look_at(self, hosts: &[IpAddr], now_ms: u64) {
        self.taps.each().for_each(|mut tap| tap.views[self.view].details.look_at(hosts, now_ms));
    }
}

/// Returns the earlier of two slices, as far as they are there.
fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

impl Tap {
    fn take(&mut self, contacts: &[Contact]) -> Result<()> {
        let mut rest = contacts;
        while let Some(first) = rest.first() {
            let slice = first.time_ns / self.slice_ns;
            let start_ns = slice * self.slice_ns;
            let is_later =
                |contact: &Contact| contact.time_ns.wrapping_sub(start_ns) >= self.slice_ns;
            let near = &rest[..rest.len().min(RUN)];
            let end = near.iter().position(is_later).unwrap_or(near.len());
            let (run, later) = rest.split_at(end);
            self.take_run(slice, run)?;
            rest = later;
        }
        Ok(self.views.iter_mut().try_for_each(ViewTap::push_later)?)
    }

    /// Takes contacts of `slice`.
    fn take_run(&mut self, slice: u64, run: &[Contact]) -> Result<()> {
        if slice < self.first_slice {
            return Ok(());
        }
        let TapCounts { contacts: counts, newest_ns, sampling } = &mut self.counts;
        counts.contacts += run.len() as u64;
        // The same sampling may be new to the slice.
        counts.samplings.forget_last();
        for contact in run {
            *newest_ns = (*newest_ns).max(contact.time_ns);
            if counts.samplings.take(contact) {
                sampling.entry(slice).or_default().add(contact);
            }
        }
        for view in &mut self.views {
            view.take(slice, run, &mut self.unused)?;
        }
        for (contact, kind) in run.iter().zip(self.unused.drain(..)) {
            if let Some(kind) = kind {
                counts.unused.add(contact.exporter.map(IpAddr::from), kind);
            }
        }
        Ok(())
    }
}

impl ViewTap {
    /// Makes a view that filters as `filter` does, by `rules`, and has the pairs counted by `detector`.
    pub(crate) fn new(
        filter: &PairFilter,
        rules: Arc<Rules>,
        detector: &SlidingDetector,
        details: &Details,
    ) -> Result<Self, Error> {
        Ok(Self {
            filter: filter.anew(&rules),
            rules,
            outflow: Outflow { feed: detector.feed(FEED_PAIRS)?, pushed: Pushed::default() },
            window: detector.params().window().into(),
            waiting: BTreeMap::new(),
            details: details.clone(),
        })
    }

    /// Takes a run of contacts of `slice`. If any of them does not count for a reason that is a trouble, `unused` has one for each
    /// contact; earlier views come first.
    fn take(
        &mut self,
        slice: u64,
        run: &[Contact],
        unused: &mut Vec<Option<TroubleKind>>,
    ) -> Result<(), Error> {
        let Self { filter, rules, outflow, window, waiting, details } = self;
        let running = outflow.feed.slice();
        let mut note = |at: usize, kind| {
            unused.resize(run.len(), None);
            unused[at].get_or_insert(kind);
        };
        if slice.saturating_add(*window) <= running {
            filter.counts.too_late += run.len() as u64;
            for (at, contact) in run.iter().enumerate() {
                // The filter counts them, too.
                filter.pairs(contact, rules);
                note(at, TroubleKind::TooLate);
            }
            return Ok(());
        }
        let pairs = waiting.entry(slice).or_default();
        pairs.contacts += run.len() as u64;
        for (at, contact) in run.iter().enumerate() {
            let [sent, received] = filter.pairs(contact, rules);
            let mut push = |pair| {
                if !details.is_empty() {
                    details.take(pair, contact);
                }
                pairs.push(pair);
            };
            // A loop over both would have them in memory.
            if let Some(pair) = sent {
                push(pair);
            }
            if let Some(pair) = received {
                push(pair);
            }
            if filter.is_portless() {
                note(at, TroubleKind::WithoutPort);
            }
        }
        if slice <= running && pairs.len() >= PUSH {
            let most = PUSHED_LATER + 2 * run.len();
            outflow.push(slice, pairs, most, &mut filter.counts)?;
        }
        Ok(())
    }

    /// Pushes some pairs of the oldest slice that has started and has enough of them.
    fn push_later(&mut self) -> Result<(), Error> {
        let Self { filter, outflow, waiting, .. } = self;
        let mut started = waiting.range_mut(..=outflow.feed.slice());
        if let Some((slice, pairs)) = started.find(|(_, pairs)| pairs.len() >= PUSH) {
            outflow.push(*slice, pairs, PUSHED_LATER, &mut filter.counts)?;
        }
        Ok(())
    }

    /// Pushes all pairs of slices up to `running`.
    fn push_up_to(&mut self, running: u64) -> Result<(), Error> {
        let Self { filter, outflow, waiting, .. } = self;
        while let Some(mut oldest) = waiting.first_entry().filter(|entry| *entry.key() <= running) {
            let slice = *oldest.key();
            outflow.push(slice, oldest.get_mut(), usize::MAX, &mut filter.counts)?;
            oldest.remove();
        }
        Ok(())
    }
}

impl Pairs {
    #[inline(always)]
    fn push(&mut self, (host, peer): (Host, Host)) {
        match (host.as_v4(), peer.as_v4()) {
            (Some(inside), Some(opposite)) => self.v4.push(IpPair { inside, opposite }),
            _ => self.v6.push(Ip6Pair::new(host.into(), peer.into())),
        }
    }

    fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }
}

impl Outflow {
    /// Pushes up to `most` of `pairs` of each family, as contacts of `slice`, which has started.
    fn push(
        &mut self,
        slice: u64,
        pairs: &mut Pairs,
        most: usize,
        counts: &mut FilterCounts,
    ) -> Result<(), Error> {
        let Self { feed, pushed } = self;
        let left = |pairs: usize| pairs.saturating_sub(most);
        let (v4, v6) = (left(pairs.v4.len()), left(pairs.v6.len()));
        let before = pairs.len();
        let mut arrival = feed.ingest_at(slice, &pairs.v4[v4..])?;
        if v6 < pairs.v6.len() {
            arrival = feed.ingest_at(slice, &pairs.v6[v6..])?;
        }
        pairs.v4.truncate(v4);
        pairs.v6.truncate(v6);
        let count = (before - pairs.len()) as u64;
        let contacts = mem::take(&mut pairs.contacts);
        match arrival {
            Arrival::TooLate => {
                counts.too_late += contacts;
                return Ok(());
            }
            Arrival::Late { .. } => counts.late += contacts,
            _ => {}
        }
        if count > 0 {
            pushed.pairs += count;
            pushed.oldest = earlier(pushed.oldest, Some(slice));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
