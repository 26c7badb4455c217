//! [`Lanes`]: the ways of pairs into a device.
//!
//! A lane has pinned memory that threads fill, memory of the device, and a queue: its copy and
//! its scan happen while threads fill other lanes. Few pairs wait in a lane until it is full or
//! somebody wants an answer. Nothing is allocated after the start, and a thread waits only for
//! the copy of what was in its lane several lanes ago.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use srlg_core::{Ages, IpPair};
use zerocopy::IntoBytes;

use super::arrays::To;
use super::device::{Gpu, Memory, Pinned};
use crate::error::Error;

/// Lanes: some are filled while others are copied and scanned.
const LANES: usize = 4;

/// Pairs of a lane: 8 MB, whose copy takes much longer than what it costs to start it.
const PAIRS: usize = if cfg!(test) { 50 } else { 1 << 20 };

/// All lanes of one detector.
pub(super) struct Lanes<G: Gpu> {
    lanes: [Mutex<Lane<G>>; LANES],
    /// The lane to fill next.
    next: AtomicUsize,
}

/// One lane. Invariant: of the pairs in it, the first `filled` of `staging`, all have `ages`.
struct Lane<G: Gpu> {
    // Dropped in this order: memory before the queue whose work uses it.
    staging: G::Pinned,
    filled: usize,
    ages: Ages,
    pairs: G::Memory,
    /// Behind the last scan that was joined.
    done: G::Mark,
    /// Whether there was no scan after that.
    is_joined: bool,
    queue: G::Queue,
}

impl<G: Gpu> Lanes<G> {
    pub(super) fn new(gpu: &G) -> Result<Self, Error> {
        let bytes = PAIRS * size_of::<IpPair>();
        let lane = || -> Result<_, Error> {
            Ok(Mutex::new(Lane {
                queue: gpu.queue()?,
                staging: gpu.pin(bytes)?,
                filled: 0,
                ages: Ages::default(),
                pairs: gpu.allocate(bytes)?,
                done: gpu.mark()?,
                is_joined: true,
            }))
        };
        Ok(Self { lanes: [lane()?, lane()?, lane()?, lane()?], next: AtomicUsize::new(0) })
    }

    /// Takes `pairs` in, so long ago.
    pub(super) fn scan(
        &self,
        to: To<'_, G>,
        mut pairs: &[IpPair],
        ages: Ages,
    ) -> Result<(), Error> {
        while !pairs.is_empty() {
            let mut lane = self.free();
            pairs = lane.fill(to, pairs, ages)?;
            if lane.filled == PAIRS {
                lane.submit(to)?;
                self.turn();
            }
        }
        Ok(())
    }

    /// Takes in the pairs in the first `bytes` of `pinned`, which the device copies by itself.
    pub(super) fn scan_pinned(
        &self,
        to: To<'_, G>,
        (pinned, bytes): (&G::Pinned, usize),
        ages: Ages,
    ) -> Result<(), Error> {
        let lane_bytes = PAIRS * size_of::<IpPair>();
        for start in (0..bytes).step_by(lane_bytes) {
            let lane = self.take();
            let pairs = lane.pairs.part(0..lane_bytes.min(bytes - start));
            to.gpu.upload(&lane.queue, pinned, start, pairs)?;
            to.scan(&lane.queue, pairs, ages)?;
        }
        Ok(())
    }

    /// Lets `with` start work in the queue of a lane.
    pub(super) fn work<T>(
        &self,
        with: impl FnOnce(&G::Queue) -> Result<T, Error>,
    ) -> Result<T, Error> {
        with(&self.take().queue)
    }

    /// A lane for work that does not wait in it; others go on with the next one.
    fn take(&self) -> MutexGuard<'_, Lane<G>> {
        let mut lane = self.free();
        lane.is_joined = false;
        self.turn();
        lane
    }

    /// Starts what waits in all lanes, and lets `queue`, always the same one, wait for it.
    pub(super) fn join(&self, to: To<'_, G>, queue: &G::Queue) -> Result<(), Error> {
        self.lanes.iter().try_for_each(|lane| {
            let mut lane = lock(lane);
            lane.submit(to)?;
            if !lane.is_joined {
                to.gpu.record(&lane.queue, &lane.done)?;
                to.gpu.wait(queue, &lane.done)?;
                lane.is_joined = true;
            }
            Ok(())
        })
    }

    /// Lets all lanes wait for `mark`.
    pub(super) fn wait(&self, gpu: &G, mark: &G::Mark) -> Result<(), Error> {
        self.lanes.iter().try_for_each(|lane| gpu.wait(&lock(lane).queue, mark))
    }

    /// A lane that no other thread fills, or the next one.
    fn free(&self) -> MutexGuard<'_, Lane<G>> {
        let next = self.next.load(Relaxed);
        let others = (0..LANES).map(|lane| &self.lanes[(next + lane) % LANES]);
        others
            .filter_map(|lane| lane.try_lock().ok())
            .next()
            .unwrap_or_else(|| lock(&self.lanes[next % LANES]))
    }

    /// Goes on with the next lane, while this one is copied.
    fn turn(&self) {
        self.next.fetch_add(1, Relaxed);
    }
}

impl<G: Gpu> Lane<G> {
    /// Takes as many of `pairs` as there is room for; the rest.
    fn fill<'p>(
        &mut self,
        to: To<'_, G>,
        pairs: &'p [IpPair],
        ages: Ages,
    ) -> Result<&'p [IpPair], Error> {
        if self.ages != ages {
            self.submit(to)?;
            self.ages = ages;
        }
        let (taken, rest) = pairs.split_at(pairs.len().min(PAIRS - self.filled));
        let start = self.filled * size_of::<IpPair>();
        self.staging.write(|bytes| {
            bytes[start..][..size_of_val(taken)].copy_from_slice(taken.as_bytes());
        })?;
        self.filled += taken.len();
        Ok(rest)
    }

    /// Starts the copy and the scan of what is in the lane.
    fn submit(&mut self, to: To<'_, G>) -> Result<(), Error> {
        if self.filled == 0 {
            return Ok(());
        }
        let pairs = self.pairs.part(0..self.filled * size_of::<IpPair>());
        to.gpu.upload(&self.queue, &self.staging, 0, pairs)?;
        (self.filled, self.is_joined) = (0, false);
        to.scan(&self.queue, pairs, self.ages)
    }
}

/// A thread that panicked with a lane leaves it whole: its pairs are counted last.
fn lock<T>(lane: &Mutex<T>) -> MutexGuard<'_, T> {
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}
