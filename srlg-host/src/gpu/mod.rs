//! The GPU backend: recorders in the memory of a device.
//!
//! Pairs go in by [`upload`], questions by [`work`] and [`search`]; each has queues of its own.
//! Who asks first lets the upload buffers finish, who ages lets them wait. Scans only ever lower
//! words, so any of them may happen at the same time as any question.

mod answers;
mod arrays;
pub(crate) mod device;
mod head;
mod search;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
mod upload;
mod work;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use srlg_core::{Address, Ages, IpPair, Params, Span, Tally};
use zerocopy::FromBytes;

use crate::backend::{Backend, Survey};
use crate::device::Device;
#[cfg(feature = "cuda")]
use crate::device_pairs::DevicePairs;
use crate::error::Error;
use crate::pinned::{PairMemory, PinnedPairs};
use crate::state::{Coder, Section, Words};
use arrays::{Arrays, GpuCtx};
use device::{Gpu, Pinned, Scan};
use upload::Uploads;
use work::Work;

/// A detector's recorders on a GPU.
pub(crate) struct GpuBackend<G: Gpu> {
    // Dropped in this order: memory before the device that it is of.
    uploads: Uploads<G>,
    work: Mutex<Work<G>>,
    arrays: Arrays<G>,
    /// Behind the last ageing, which scans must not overtake.
    aged: G::Mark,
    /// Whether the device failed: what is in its memory is unknown.
    is_lost: AtomicBool,
    params: Params,
    device: Device,
    gpu: G,
}

impl<G: Gpu> GpuBackend<G> {
    /// A backend with all the memory that it will ever need, and untouched recorders.
    pub(crate) fn new(gpu: G, device: Device, params: Params) -> Result<Self, Error> {
        let queue = gpu.queue()?;
        let arrays = Arrays::new(&gpu, &queue, &params)?;
        let mut work = Work::new(&gpu, queue, &params)?;
        work.prepare(GpuCtx { gpu: &gpu, params: &params, arrays: &arrays })?;
        let (uploads, aged) = (Uploads::new(&gpu)?, gpu.mark()?);
        // Scans wait for the recorders to be filled.
        gpu.record(&work.queue, &aged)?;
        uploads.wait(&gpu, &aged)?;
        let is_lost = AtomicBool::new(false);
        Ok(Self { uploads, work: Mutex::new(work), arrays, aged, is_lost, params, device, gpu })
    }

    /// Scans pairs that are on the device already: `lend` hands them to the scan that it is given,
    /// for work in the queue that it is given.
    fn scan_resident(
        &self,
        ages: Ages,
        lend: impl FnOnce(&G::Queue, Scan<'_, G::Memory>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.unless_lost(|| {
            self.uploads.work(|queue| lend(queue, &mut |pairs| self.ctx().scan(queue, pairs, ages)))
        })
    }

    fn ctx(&self) -> GpuCtx<'_, G> {
        GpuCtx { gpu: &self.gpu, params: &self.params, arrays: &self.arrays }
    }

    /// The work, when all that was scanned before comes before it.
    fn work(&self) -> Result<MutexGuard<'_, Work<G>>, Error> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        self.uploads.join(self.ctx(), &work.queue)?;
        Ok(work)
    }

    /// Does something with the device. When the driver fails the device is lost: work that others
    /// had started may have failed with it.
    fn unless_lost<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        if self.is_lost.load(Relaxed) {
            return Err(Error::DeviceLost);
        }
        work().inspect_err(|error| {
            if matches!(error, Error::Driver { .. }) {
                self.is_lost.store(true, Relaxed);
            }
        })
    }
}

impl<G: Gpu> Backend for GpuBackend<G> {
    fn device(&self) -> Device {
        self.device
    }

    fn scan(&self, pairs: &[IpPair], ages: Ages) -> Result<(), Error> {
        self.unless_lost(|| self.uploads.scan(self.ctx(), pairs, ages))
    }

    fn pin(&self, len: usize) -> Result<PinnedPairs, Error> {
        let bytes = len.checked_mul(size_of::<IpPair>());
        let bytes = bytes.ok_or(Error::PinnedMemory { bytes: usize::MAX })?;
        // A buffer of no pairs has memory nevertheless: no device gives memory of no bytes.
        let memory = self.gpu.pin(bytes.max(size_of::<IpPair>()))?;
        Ok(PinnedPairs::new(PinnedBytes { memory, bytes }, len))
    }

    fn scan_pinned(&self, pairs: &PinnedPairs, ages: Ages) -> Result<(), Error> {
        if let Some(PinnedBytes { memory, bytes }) = pairs.memory::<PinnedBytes<G::Pinned>>() {
            return self
                .unless_lost(|| self.uploads.scan_pinned(self.ctx(), (memory, *bytes), ages));
        }
        pairs.scan(|pairs| self.scan(pairs, ages))
    }

    #[cfg(feature = "cuda")]
    fn scan_device(&self, pairs: &dyn DevicePairs, ages: Ages) -> Result<(), Error> {
        self.scan_resident(ages, |queue, scan| G::lend(queue, pairs, scan))
    }

    fn flush(&self) -> Result<(), Error> {
        self.unless_lost(|| {
            let (work, mark) = (self.work()?, self.gpu.mark()?);
            self.gpu.record(&work.queue, &mark)?;
            self.gpu.finish(&mark)
        })
    }

    fn survey(&mut self, span: Span) -> Result<Survey, Error> {
        self.unless_lost(|| {
            let Work { queue, search, .. } = &mut *self.work()?;
            search.survey(self.ctx(), queue, span)
        })
    }

    fn regain(&mut self, weight: u32, limit: u32) -> Result<Option<Vec<Address>>, Error> {
        self.unless_lost(|| {
            let Work { queue, search, .. } = &mut *self.work()?;
            search.regain(self.ctx(), queue, weight, limit)
        })
    }

    fn tally(
        &mut self,
        hosts: &[Address],
        span: Span,
        positions: u32,
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error> {
        self.unless_lost(|| {
            let mut work = self.work()?;
            match work.search.glimpses(work.threads, hosts, span, positions, each)? {
                true => Ok(()),
                false => work.tally(self.ctx(), (hosts, span, positions), each),
            }
        })
    }

    // Glimpses of all, most of which were asked for ahead; then all tallies at once.
    fn tally_promising(
        &mut self,
        hosts: &[Address],
        span: Span,
        glimpse: u32,
        promises: &(dyn Fn(&Tally) -> bool + Sync),
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error> {
        let promising: Vec<AtomicBool> = hosts.iter().map(|_| AtomicBool::new(false)).collect();
        self.tally(hosts, span, glimpse, &|number, tally| {
            promising[number].store(promises(tally), Relaxed);
        })?;
        let numbers = (0..hosts.len()).filter(|&number| promising[number].load(Relaxed));
        let numbers: Vec<usize> = numbers.collect();
        let hosts: Vec<Address> = numbers.iter().map(|&number| hosts[number]).collect();
        let positions = self.params.linear_width();
        self.tally(&hosts, span, positions, &|number, tally| each(numbers[number], tally))
    }

    fn query(&self, host: Address, span: Span) -> Result<(Tally, Vec<u32>), Error> {
        self.unless_lost(|| {
            let (mut work, answer) = (self.work()?, OnceLock::new());
            let asked = (&[host][..], span, self.params.linear_width());
            // There is one host, and so one answer.
            work.tally(self.ctx(), asked, &|_, tally| _ = answer.set(*tally))?;
            let tally = answer.into_inner().expect("a tally for the one host");
            let rows = match self.params.is_tagged() {
                true => Vec::new(),
                false => work.count(self.ctx(), span)?,
            };
            Ok((tally, rows))
        })
    }

    fn age(&mut self, ages: Ages) -> Result<(), Error> {
        self.unless_lost(|| {
            let work = self.work()?;
            work.age(self.ctx(), ages)?;
            self.gpu.record(&work.queue, &self.aged)?;
            self.uploads.wait(&self.gpu, &self.aged)
        })
    }

    fn export(&self) -> Result<Words, Error> {
        self.unless_lost(|| self.work()?.export(self.ctx()))
    }

    fn merge(&mut self, words: &Words, ages: Ages) -> Result<(), Error> {
        self.unless_lost(|| self.work()?.merge(self.ctx(), words, ages))
    }

    fn recent(&mut self, span: Span) -> Result<[Coder; 2], Error> {
        self.unless_lost(|| self.work()?.recent(self.ctx(), span))
    }

    fn apply(&mut self, touched: &[Section<'_>; 2], ages: Ages) -> Result<(), Error> {
        self.unless_lost(|| self.work()?.apply(self.ctx(), touched, ages))
    }
}

/// Pinned memory as pairs.
struct PinnedBytes<P> {
    memory: P,
    /// Bytes of pairs, which `memory` begins with.
    bytes: usize,
}

impl<P: Pinned> PairMemory for PinnedBytes<P> {
    fn read(&self, look: &mut dyn FnMut(&[IpPair])) -> Result<(), Error> {
        self.memory.read(|bytes| {
            look(<[IpPair]>::ref_from_bytes(&bytes[..self.bytes]).expect("aligned whole pairs"));
        })
    }

    fn write(&mut self, change: &mut dyn FnMut(&mut [IpPair])) -> Result<(), Error> {
        let pairs = self.bytes;
        self.memory.write(|bytes| {
            change(<[IpPair]>::mut_from_bytes(&mut bytes[..pairs]).expect("aligned whole pairs"));
        })
    }
}
