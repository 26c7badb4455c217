//! [`FeedBuffer`]: the pairs of one feed that arrive during a close.
//!
//! Pairs of each type are stored in order of arrival, in runs of equal time. All memory is allocated at creation, for
//! `capacity` pairs and `capacity` runs of each type.

use srlg_core::{IpPair, Ipv4Pair};

use super::running::{Arrival, RunningSlice, Time};
use crate::backend::{Backend, Pairs};
use crate::error::Error;
use crate::ingest::pairs::{Pair, PairSlice};

pub(super) struct FeedBuffer {
    v4: Runs<Ipv4Pair>,
    v6: Runs<IpPair>,
    capacity: usize,
    /// The slice that will be running when new pairs are ingested.
    next: u64,
}

struct Runs<P> {
    pairs: Vec<P>,
    /// Time and length of each run.
    runs: Vec<(Time, usize)>,
    /// Number of runs that were ingested before their slice was running.
    #[cfg(test)]
    early: usize,
}

impl FeedBuffer {
    pub(super) fn new(capacity: usize, next: u64) -> Result<Self, Error> {
        let (v4, v6) = (Runs::new(capacity)?, Runs::new(capacity)?);
        Ok(Self { v4, v6, capacity, next })
    }

    /// Appends as many of `pairs` as there is room for, if their `time` is in the window. Returns the position of their
    /// slice and the number of appended pairs.
    pub(super) fn keep<P: Pair>(
        &mut self,
        running: &RunningSlice,
        time: Time,
        pairs: &[P],
    ) -> (Arrival, usize) {
        let arrival = running.arrival(time, self.next);
        let kept = match P::slice(pairs) {
            _ if !arrival.is_ingested() => 0,
            PairSlice::V4(pairs) => self.v4.append(time, pairs, self.capacity),
            PairSlice::V6(pairs) => self.v6.append(time, pairs, self.capacity),
        };
        (arrival, kept)
    }

    /// Ingests up to `most` pairs of each type, from the end of the buffer. If an error occurs, pairs that were not
    /// ingested stay in the buffer.
    pub(super) fn hand_in(
        &mut self,
        backend: &dyn Backend,
        running: &RunningSlice,
        most: usize,
    ) -> Result<(), Error> {
        self.v4.hand_in(backend, running, most)?;
        self.v6.hand_in(backend, running, most)
    }

    /// Sets the slice that will be running when new pairs are ingested.
    pub(super) fn begin(&mut self, next: u64) {
        self.next = next;
    }

    #[cfg(test)]
    pub(super) fn early(&self) -> usize {
        self.v4.early
    }

    pub(super) fn len(&self) -> usize {
        self.v4.pairs.len() + self.v6.pairs.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<P: Pair> Runs<P> {
    fn new(capacity: usize) -> Result<Self, Error> {
        let (mut pairs, mut runs) = (Vec::new(), Vec::new());
        let reserved = pairs.try_reserve_exact(capacity).and(runs.try_reserve_exact(capacity));
        reserved.map_err(|_| Error::FeedMemory { capacity })?;
        Ok(Self {
            pairs,
            runs,
            #[cfg(test)]
            early: 0,
        })
    }

    fn append(&mut self, time: Time, pairs: &[P], capacity: usize) -> usize {
        let count = pairs.len().min(capacity - self.pairs.len());
        self.pairs.extend_from_slice(&pairs[..count]);
        match self.runs.last_mut() {
            Some((last, length)) if *last == time => *length += count,
            _ if count > 0 => self.runs.push((time, count)),
            _ => {}
        }
        count
    }

    fn hand_in(
        &mut self,
        backend: &dyn Backend,
        running: &RunningSlice,
        mut most: usize,
    ) -> Result<(), Error> {
        while let (1.., Some((time, length))) = (most, self.runs.last_mut()) {
            #[cfg(test)]
            if matches!(*time, Time::Slice(slice) if slice > running.slice()) {
                self.early += 1;
            }
            let count = most.min(*length);
            let left = self.pairs.len() - count;
            let pairs = P::slice(&self.pairs[left..]);
            backend.scan(Pairs::Plain(pairs), running.ages(*time))?;
            self.pairs.truncate(left);
            *length -= count;
            if *length == 0 {
                self.runs.pop();
            }
            most -= count;
        }
        Ok(())
    }
}
