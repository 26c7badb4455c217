//! Pipelines, with which the reader threads of a live input turn contacts into pairs and pass them to the detectors.
//!
//! ```text
//! reader thread --contacts--> Pipeline --pairs, a Feed per view--> detectors     [a pipeline per thread]
//! main thread ----clock, closes----> pairs of its slice first, then the close
//!             <---counts, details--- each pipeline
//! ```
//!
//! A reader thread locks its pipeline while it processes a block of contacts. The main thread locks each pipeline
//! briefly to collect counts, and to set rules and tracked hosts. The main thread also locks each pipeline to push
//! waiting pairs before it closes their slice. No two reader threads share a pipeline.
//!
//! Pairs wait in a pipeline until there are enough of them to push. Pairs of a future slice wait until that slice
//! opens. The reader thread pushes waiting pairs when it processes a block of contacts. The main thread pushes the
//! remaining pairs of a slice before it closes the slice.
//!
//! Invariants:
//! - The main thread locks no pipeline from `begin_close` to the end of the close. During this time, a reader thread
//!   whose feed is full may hold the lock of its pipeline while it waits for the end of the close.
//! - When a tick closes a slice, the detectors contain all pairs that were read before the tick, except pairs of later
//!   slices. This holds because the input delivers contacts before the tick, and because the main thread pushes waiting
//!   pairs.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use srlg_host::ingest::{Arrival, Feed};
use srlg_host::{Error, IpPair, Ipv4Pair, SlidingDetector};
use srlg_input::contact::{Contact, Host, Sampling};
use srlg_input::live::{ContactSink, SinkError};

use crate::measure::counts::ContactCounts;
use crate::measure::filter::{FilterCounts, PairFilter};
use srlg_alerts::details::Details;
use srlg_alerts::rules::Rules;
use srlg_alerts::status::problems::ProblemKind;

/// Capacity of a feed during a close, in pairs per address family. Each thread has one feed per view.
const FEED_PAIRS: usize = 1 << 16;

/// Memory of one view of a reader thread, in bytes, excluding the pairs that wait for their slice.
pub(crate) const VIEW_BYTES: usize = Feed::memory_bytes(FEED_PAIRS);

/// Maximum number of contacts that one view processes before the next view processes them. They occupy 12 KB, which
/// fits into the L1 cache.
const RUN: usize = 128;

/// Minimum number of waiting pairs of a slice at which a reader thread pushes them.
const PUSH: usize = 256;

/// Maximum number of pairs per view and address family that a thread pushes after a block of contacts.
const PUSHED_LATER: usize = 1 << 12;

#[derive(Default)]
pub(crate) struct Pipelines(Vec<Arc<Mutex<Pipeline>>>);

/// One view in the pipelines of all reader threads.
#[derive(Clone, Copy)]
pub(crate) struct ViewPipelines<'a> {
    pipelines: &'a Pipelines,
    view: usize,
}

/// The views of one reader thread, and counts of its contacts.
struct Pipeline {
    slice_ns: u64,
    /// First slice whose contacts count.
    first_slice: u64,
    views: Vec<ViewPipeline>,
    counts: PipelineCounts,
    /// For each contact of a run, the reason why it does not count, if any. The list is empty if all contacts count.
    unused: Vec<Option<ProblemKind>>,
}

/// Counts of contacts since the last call to [`Pipelines::collect`].
#[derive(Debug, Default)]
pub(crate) struct PipelineCounts {
    pub(crate) contacts: ContactCounts,
    /// Time of the newest contact, in nanoseconds since the Unix epoch.
    pub(crate) newest_ns: u64,
    /// Sampling of the contacts, by slice.
    pub(crate) sampling: BTreeMap<u64, Sampling>,
}

/// One view of one reader thread.
pub(crate) struct ViewPipeline {
    filter: PairFilter,
    rules: Arc<Rules>,
    output: CountedFeed,
    window: u64,
    /// Waiting pairs, by slice.
    waiting: BTreeMap<u64, Pairs>,
    details: Details,
}

#[derive(Default)]
struct Pairs {
    v4: Vec<Ipv4Pair>,
    v6: Vec<IpPair>,
    /// Number of contacts since the last push.
    contacts: u64,
}

/// The feed of a thread to a detector, and counts of the pushed pairs.
struct CountedFeed {
    feed: Feed,
    pushed: Pushed,
}

/// Number and oldest slice of the pairs that threads have pushed since the last call to
/// [`ViewPipelines::push_waiting`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pushed {
    pub(crate) pairs: u64,
    /// Oldest slice of the pairs, or `None` if there are no pairs.
    pub(crate) oldest: Option<u64>,
}

struct PipelineSink(Arc<Mutex<Pipeline>>);

impl ContactSink for PipelineSink {
    fn accept(&mut self, contacts: &[Contact]) -> Result<(), SinkError> {
        Ok(lock(&self.0).ingest(contacts)?)
    }
}

fn lock(pipeline: &Mutex<Pipeline>) -> MutexGuard<'_, Pipeline> {
    // If a thread panics while it has the lock, the input ends.
    pipeline.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pipelines {
    /// Adds a pipeline for a reader thread and returns its sink. The pipeline applies `views` to contacts from
    /// `first_slice` on.
    pub(crate) fn add(
        &mut self,
        slice_ms: u64,
        first_slice: u64,
        views: Vec<ViewPipeline>,
    ) -> Box<dyn ContactSink> {
        let slice_ns = slice_ms * 1_000_000;
        let (counts, unused) = (PipelineCounts::default(), Vec::new());
        let pipeline =
            Arc::new(Mutex::new(Pipeline { slice_ns, first_slice, views, counts, unused }));
        self.0.push(Arc::clone(&pipeline));
        Box::new(PipelineSink(pipeline))
    }

    /// Replaces the views of each pipeline with the result of a call to `views`. As with [`add`](Self::add), the views
    /// apply to contacts from `first_slice` on. Waiting pairs of the former views are dropped.
    #[cfg(feature = "network")]
    pub(crate) fn set_views(
        &self,
        slice_ms: u64,
        first_slice: u64,
        views: impl Fn() -> Result<Vec<ViewPipeline>>,
    ) -> Result<()> {
        for mut pipeline in self.each() {
            pipeline.views = views()?;
            (pipeline.slice_ns, pipeline.first_slice) = (slice_ms * 1_000_000, first_slice);
            // The slice numbers in `sampling` are based on the former slice length.
            pipeline.counts.sampling.clear();
        }
        Ok(())
    }

    fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Pipeline>> {
        self.0.iter().map(|pipeline| lock(pipeline))
    }

    /// Removes and returns the counts of all pipelines. Also returns the slices with waiting pairs.
    pub(crate) fn collect(&self) -> (PipelineCounts, BTreeSet<u64>) {
        let (mut all, mut waiting) = (PipelineCounts::default(), BTreeSet::new());
        for mut pipeline in self.each() {
            waiting.extend(pipeline.views.iter().flat_map(|view| view.waiting.keys()));
            let PipelineCounts { contacts, newest_ns, sampling } = mem::take(&mut pipeline.counts);
            all.contacts.merge(contacts);
            all.newest_ns = all.newest_ns.max(newest_ns);
            for (slice, sampling) in sampling {
                all.sampling.entry(slice).or_default().merge(sampling);
            }
        }
        (all, waiting)
    }

    /// Moves the counts of the view with index `view` from all pipelines to `counts`.
    pub(crate) fn collect_view(&self, view: usize, counts: &mut FilterCounts) {
        self.each().for_each(|mut pipeline| counts.absorb(&mut pipeline.views[view].filter.counts));
    }

    pub(crate) const fn of(&self, view: usize) -> ViewPipelines<'_> {
        ViewPipelines { pipelines: self, view }
    }

    /// Moves the counts of the view with index `view` from all pipelines to `counts`, and replaces the rules of the
    /// view with `rules`.
    pub(crate) fn set_rules(&self, view: usize, rules: &Rules, counts: &mut FilterCounts) {
        let rules = Arc::new(rules.clone());
        for mut pipeline in self.each() {
            let view = &mut pipeline.views[view];
            // Until its pipeline is locked, a reader thread may still add to its counts.
            counts.absorb(&mut view.filter.counts);
            view.filter.counts = FilterCounts::of(&rules);
            view.rules = Arc::clone(&rules);
        }
    }
}

impl ViewPipelines<'_> {
    #[cfg(feature = "network")]
    pub(crate) const fn are_there(self) -> bool {
        !self.pipelines.0.is_empty()
    }

    /// Pushes all waiting pairs of slices up to `running` and moves the collected details to `details`.
    pub(crate) fn push_waiting(self, running: u64, details: &mut Details) -> Result<Pushed> {
        let mut all = Pushed::default();
        for mut pipeline in self.pipelines.each() {
            let view = &mut pipeline.views[self.view];
            view.push_up_to(running)?;
            details.absorb(&mut view.details);
            let Pushed { pairs, oldest } = mem::take(&mut view.output.pushed);
            all.pairs += pairs;
            all.oldest = earlier(all.oldest, oldest);
        }
        Ok(all)
    }

    /// Makes all pipelines collect details of `hosts` only. `now_ms` is the end of the last closed slice.
    pub(crate) fn track_hosts(self, hosts: &[IpAddr], now_ms: u64) {
        self.pipelines
            .each()
            .for_each(|mut pipeline| pipeline.views[self.view].details.track_hosts(hosts, now_ms));
    }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

impl Pipeline {
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        let mut rest = contacts;
        while let Some(first) = rest.first() {
            let slice = first.time_ns / self.slice_ns;
            let start_ns = slice * self.slice_ns;
            let is_later =
                |contact: &Contact| contact.time_ns.wrapping_sub(start_ns) >= self.slice_ns;
            let near = &rest[..rest.len().min(RUN)];
            let end = near.iter().position(is_later).unwrap_or(near.len());
            let (run, later) = rest.split_at(end);
            self.ingest_run(slice, run)?;
            rest = later;
        }
        Ok(self.views.iter_mut().try_for_each(ViewPipeline::push_later)?)
    }

    /// Processes `run`, whose contacts all belong to `slice`, in all views.
    fn ingest_run(&mut self, slice: u64, run: &[Contact]) -> Result<()> {
        if slice < self.first_slice {
            return Ok(());
        }
        let PipelineCounts { contacts: counts, newest_ns, sampling } = &mut self.counts;
        counts.contacts += run.len() as u64;
        // A known sampling may be new in this slice.
        counts.samplings.forget_last();
        for contact in run {
            *newest_ns = (*newest_ns).max(contact.time_ns);
            if counts.samplings.record(contact) {
                sampling.entry(slice).or_default().add(contact);
            }
        }
        for view in &mut self.views {
            view.ingest(slice, run, &mut self.unused)?;
        }
        for (contact, kind) in run.iter().zip(self.unused.drain(..)) {
            if let Some(kind) = kind {
                counts.unused.add(contact.exporter.map(IpAddr::from), kind);
            }
        }
        Ok(())
    }
}

impl ViewPipeline {
    pub(crate) fn new(
        filter: &PairFilter,
        rules: Arc<Rules>,
        detector: &SlidingDetector,
        details: &Details,
    ) -> Result<Self, Error> {
        Ok(Self {
            filter: filter.anew(&rules),
            rules,
            output: CountedFeed { feed: detector.feed(FEED_PAIRS)?, pushed: Pushed::default() },
            window: detector.params().window().into(),
            waiting: BTreeMap::new(),
            details: details.clone(),
        })
    }

    /// Processes `run`, whose contacts all belong to `slice`. If a [`ProblemKind`] prevents any of them from counting,
    /// `unused` gets one entry per contact. Entries from previous views are kept.
    fn ingest(
        &mut self,
        slice: u64,
        run: &[Contact],
        unused: &mut Vec<Option<ProblemKind>>,
    ) -> Result<(), Error> {
        let Self { filter, rules, output, window, waiting, details } = self;
        let running = output.feed.slice();
        let mut note = |at: usize, kind| {
            unused.resize(run.len(), None);
            unused[at].get_or_insert(kind);
        };
        if slice.saturating_add(*window) <= running {
            filter.counts.too_late += run.len() as u64;
            for (at, contact) in run.iter().enumerate() {
                // This call also updates the counts of the filter.
                filter.pairs(contact, rules);
                note(at, ProblemKind::TooLate);
            }
            return Ok(());
        }
        let pairs = waiting.entry(slice).or_default();
        pairs.contacts += run.len() as u64;
        for (at, contact) in run.iter().enumerate() {
            let [sent, received] = filter.pairs(contact, rules);
            let mut push = |pair| {
                if !details.is_empty() {
                    details.add(pair, contact);
                }
                pairs.push(pair);
            };
            // A loop over both pairs would store them in memory.
            if let Some(pair) = sent {
                push(pair);
            }
            if let Some(pair) = received {
                push(pair);
            }
            if filter.is_portless() {
                note(at, ProblemKind::WithoutPort);
            }
        }
        if slice <= running && pairs.len() >= PUSH {
            let most = PUSHED_LATER + 2 * run.len();
            output.push(slice, pairs, most, &mut filter.counts)?;
        }
        Ok(())
    }

    /// Pushes pairs of the oldest opened slice that has at least [`PUSH`] waiting pairs. The number of pairs is at most
    /// [`PUSHED_LATER`] per address family.
    fn push_later(&mut self) -> Result<(), Error> {
        let Self { filter, output, waiting, .. } = self;
        let mut started = waiting.range_mut(..=output.feed.slice());
        if let Some((slice, pairs)) = started.find(|(_, pairs)| pairs.len() >= PUSH) {
            output.push(*slice, pairs, PUSHED_LATER, &mut filter.counts)?;
        }
        Ok(())
    }

    fn push_up_to(&mut self, running: u64) -> Result<(), Error> {
        let Self { filter, output, waiting, .. } = self;
        while let Some(mut oldest) = waiting.first_entry().filter(|entry| *entry.key() <= running) {
            let slice = *oldest.key();
            output.push(slice, oldest.get_mut(), usize::MAX, &mut filter.counts)?;
            oldest.remove();
        }
        Ok(())
    }
}

impl Pairs {
    #[inline(always)]
    fn push(&mut self, (host, peer): (Host, Host)) {
        match (host.as_v4(), peer.as_v4()) {
            (Some(inside), Some(peer)) => self.v4.push(Ipv4Pair { inside, peer }),
            _ => self.v6.push(IpPair::new(host.into(), peer.into())),
        }
    }

    fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }
}

impl CountedFeed {
    /// Pushes up to `most` pairs of each address family from `pairs`. Their `slice` must have opened.
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
