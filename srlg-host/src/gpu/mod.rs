//! Pairs that are in the memory of a GPU already, by the crates `cudarc` and `cust`.
//!
//! [`SlidingDetector::ingest_device`](crate::SlidingDetector::ingest_device) takes `DevicePairs`: device memory of cudarc
//! that holds `[u32; 2]` or `[u32; 8]`, and of cust that holds [`IpPair`](crate::IpPair) or
//! [`Ip6Pair`](crate::ingest::Ip6Pair), the words of the inside host first. Pairs in ordinary memory go in by
//! [`SlidingDetector::ingest`](crate::SlidingDetector::ingest), on a GPU too.

// The GPU backend: recorders in the memory of a device.
//
// Pairs go in by `upload`, questions by `work`; each has queues of its own.
// A question first lets the upload buffers finish, ageing lets them wait. Scans only ever lower
// words, so any of them may happen at the same time as any question.

pub(crate) mod answers;
mod close;
pub(crate) mod ctx;
pub(crate) mod device;
mod looks;
mod records;
pub(crate) mod scheme;
mod tagged;
#[cfg(test)]
mod tests;
mod touch;
mod transfer;
mod trips;
mod turns;
mod upload;
mod work;

#[cfg(any(feature = "cudarc", feature = "cust"))]
pub use crate::device_pairs::DevicePairs;
#[cfg(feature = "cudarc")]
pub use cudarc;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use srlg_core::scheme::{CounterRecorder, FinderRecorder};
use srlg_core::{Ages, COUNTER, FINDER, HostId, Params, RecentRange, Span, Tally, for_scheme};

use crate::backend::{Backend, Candidates, Pairs, TallyVisitor};
use crate::device::Device;
use crate::error::Error;
use crate::ingest::pairs::{Family, PairSlice};
use crate::ingest::pinned::PairMemory;
use crate::state::{Coder, Section, Words};
use close::{Closed, GpuClose};
use ctx::{Arrays, GpuCtx};
use device::{Gpu, Pinned, Scan};
use scheme::scan;
use upload::Uploads;
use work::Work;

/// Returns the backend of a detector with `params` on `gpu`, which is called `device`.
pub(crate) fn backend<G: Gpu>(
    gpu: G,
    device: Device,
    params: Params,
) -> Result<Box<dyn Backend>, Error> {
    for_scheme!(&params, Types => Ok(Box::new(GpuBackend::<G, Types>::new(gpu, device, params)?)))
}

/// A detector's recorders on a GPU.
struct GpuBackend<G: Gpu, S: Closed> {
    // Dropped in this order: memory before the device that it is of.
    uploads: Uploads<G>,
    work: Mutex<Work<G, S>>,
    arrays: Arrays<G>,
    /// Of all questions.
    queue: G::Queue,
    /// Behind the last ageing, which scans must not overtake.
    aged: G::Mark,
    /// Whether the device failed: what is in its memory is unknown.
    is_lost: AtomicBool,
    params: Params,
    device: Device,
    gpu: G,
}

impl<G: Gpu, S: Closed> GpuBackend<G, S> {
    /// A backend with all the memory that it will ever need, and untouched recorders.
    fn new(gpu: G, device: Device, params: Params) -> Result<Self, Error> {
        let queue = gpu.queue()?;
        let arrays = Arrays::new(&gpu, &queue, &params)?;
        let work = Mutex::new(Work::new(&gpu, &params)?);
        let (uploads, aged) = (Uploads::new(&gpu)?, gpu.mark()?);
        let is_lost = AtomicBool::new(false);
        let backend = Self { uploads, work, arrays, queue, aged, is_lost, params, device, gpu };
        let mut work = backend.work()?;
        work.prepare(backend.ctx())?;
        // Scans wait for the recorders to be filled.
        backend.hold_scans()?;
        drop(work);
        Ok(backend)
    }

    /// Lets later scans wait for what was asked of the recorders so far.
    fn hold_scans(&self) -> Result<(), Error> {
        self.gpu.record(&self.queue, &self.aged)?;
        self.uploads.wait(&self.gpu, &self.aged)
    }

    /// Scans pairs that are on the device already: `lend` hands them to the scan that it is given,
    /// for work in the queue that it is given.
    fn scan_resident(
        &self,
        (family, ages): (Family, Ages),
        lend: impl FnOnce(&G::Queue, Scan<'_, G::Memory>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let queue = &self.uploads.take().queue;
        lend(queue, &mut |pairs| scan(self.ctx().on(queue), (family, pairs), ages))
    }

    fn ctx(&self) -> GpuCtx<'_, G, S> {
        let Self { gpu, queue, params, arrays, .. } = self;
        GpuCtx { gpu, queue, params, arrays, scheme: PhantomData }
    }

    /// The work, when all that was scanned before comes before it.
    fn work(&self) -> Result<MutexGuard<'_, Work<G, S>>, Error> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        self.uploads.join(self.ctx())?;
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

/// Calls a method of `$work` for the recorders of the array of that number.
macro_rules! by_array {
    ($array:expr, $work:expr, $method:ident($($argument:expr),*)) => {
        match $array {
            FINDER => $work.trips.$method::<FinderRecorder<S>>($($argument),*),
            COUNTER => $work.trips.$method::<CounterRecorder<S>>($($argument),*),
            other => panic!("there is no array {other}"),
        }
    };
}

impl<G: Gpu, S: Closed> Backend for GpuBackend<G, S> {
    fn device(&self) -> Device {
        self.device
    }

    fn scan(&self, pairs: Pairs<'_>, ages: Ages) -> Result<(), Error> {
        let family = pairs.family();
        family.check(&self.params)?;
        let plain = |pairs: PairSlice<'_>| self.uploads.scan(self.ctx(), pairs, ages);
        self.unless_lost(|| match pairs {
            Pairs::Plain(pairs) => plain(pairs),
            Pairs::Pinned(pairs) => match pairs.memory::<PinnedBytes<G::Pinned>>() {
                Some((PinnedBytes(memory), bytes)) => {
                    self.uploads.scan_pinned(self.ctx(), (family, memory, bytes), ages)
                }
                None => pairs.scan(plain),
            },
            #[cfg(feature = "cuda")]
            Pairs::Resident(pairs) => {
                self.scan_resident((family, ages), |queue, scan| G::lend(queue, pairs, scan))
            }
        })
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn PairMemory>, Error> {
        // A buffer of no pairs has memory nevertheless: no device gives memory of no bytes.
        Ok(Box::new(PinnedBytes(self.gpu.pin(bytes.max(Family::V4.pair_bytes()))?)))
    }

    fn flush(&self) -> Result<(), Error> {
        self.unless_lost(|| {
            let (_work, mark) = (self.work()?, self.gpu.mark()?);
            self.gpu.record(&self.queue, &mark)?;
            self.gpu.finish(&mark)
        })
    }

    // The device does the work of a close.
    fn set_threads(&mut self, _: NonZeroUsize) {}

    fn candidates(&mut self, span: Span, kept: &[IpAddr]) -> Result<Candidates, Error> {
        self.unless_lost(|| {
            let Work { close, trips } = &mut *self.work()?;
            close.candidates(self.ctx(), trips, (span, kept))
        })
    }

    fn tally(&mut self, candidates: &Candidates, visit: &TallyVisitor<'_>) -> Result<(), Error> {
        self.unless_lost(|| {
            let Work { close, trips } = &mut *self.work()?;
            close.tally(self.ctx(), trips, candidates, visit)
        })
    }

    fn query(&self, host: HostId, span: Span) -> Result<(Vec<Tally>, Vec<u32>), Error> {
        self.unless_lost(|| {
            let (mut work, answer) = (self.work()?, OnceLock::new());
            let trips = &mut work.trips;
            // There is one host, and so one answer.
            let each = |_: usize, tallies: &[Tally]| _ = answer.set(tallies.to_vec());
            trips.all_regions(self.ctx(), (&[host], span), &each)?;
            let tallies = answer.into_inner().expect("tallies of the one host");
            let row_weights = match self.params.needs_row_weights() {
                true => trips.row_weights(self.ctx(), span)?,
                false => Vec::new(),
            };
            Ok((tallies, row_weights))
        })
    }

    fn age(&mut self, ages: Ages) -> Result<(), Error> {
        self.unless_lost(|| {
            let mut work = self.work()?;
            for (array, step) in self.params.age_steps(ages).into_iter().enumerate() {
                if step > 0 {
                    by_array!(array, work, age(self.ctx(), array, step))?;
                }
            }
            self.hold_scans()
        })
    }

    fn count_and_age(&mut self, span: Span, ages: Ages) -> Result<u32, Error> {
        let row_weights = self.unless_lost(|| self.work()?.trips.row_weights(self.ctx(), span))?;
        self.age(ages)?;
        Ok(row_weights.iter().sum())
    }

    fn gather(&self, array: usize, places: &[u32]) -> Result<Words, Error> {
        self.unless_lost(|| by_array!(array, self.work()?, gather(self.ctx(), array, places)))
    }

    fn export(&self, array: usize) -> Result<Words, Error> {
        self.unless_lost(|| by_array!(array, self.work()?, export(self.ctx(), array)))
    }

    fn merge(&mut self, array: usize, words: &Words, step: u64) -> Result<(), Error> {
        self.unless_lost(|| by_array!(array, self.work()?, merge(self.ctx(), array, words, step)))
    }

    fn recent(&mut self, array: usize, range: RecentRange, coder: &mut Coder) -> Result<(), Error> {
        self.unless_lost(|| by_array!(array, self.work()?, recent(self.ctx(), array, range, coder)))
    }

    fn apply(&mut self, array: usize, section: &Section<'_>, step: u64) -> Result<(), Error> {
        self.unless_lost(|| by_array!(array, self.work()?, apply(self.ctx(), array, section, step)))
    }
}

/// Pinned memory of pairs.
struct PinnedBytes<P>(P);

impl<P: Pinned> PairMemory for PinnedBytes<P> {
    fn read(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        self.0.read(look)
    }

    fn write(&mut self) -> Result<&mut [u8], Error> {
        self.0.write()
    }
}
