//! Ingestion of pairs that are already in GPU memory, in device buffers of the crates `cudarc` and `cust`.
//!
//! [`SlidingDetector::ingest_device`](crate::SlidingDetector::ingest_device) accepts any type that implements
//! `DevicePairs`. The trait is implemented for device buffers of cudarc that contain `[u32; 2]` or `[u32; 8]`, and for
//! device buffers of cust that contain [`Ipv4Pair`](crate::Ipv4Pair) or [`IpPair`](crate::IpPair). In each pair,
//! the words of the inside host come first.
//!
//! [`SlidingDetector::ingest`](crate::SlidingDetector::ingest) accepts pairs in ordinary memory, even if the detector
//! runs on a GPU.

// The GPU backend stores the recorders of a detector in the memory of a device and does all work with them there.
//
// The following chart shows a slice of the default scheme and its close, from top to bottom. A line of `=` is a round
// trip: a copy that the host waits for.
//
//   host                        upload queues              queue of questions
//   ----                        -------------              ------------------
//   ingest: fills buffers  -->  copy, touch
//   close_slice:
//     submits partial ones -->  copy, touch           -->  waits for the uploads
//                                                          count_cells: cells in the window, by age and by owner
//                                                          count: recorders in the window, per row of the counter
//     c_min of the ages    <=============================  trip 1: cells by age, weights of rows
//                          ----------------------------->  list_kept, list_holders: the candidates
//                                                          tally, glimpse: dismiss candidates by a few positions
//     health, meanwhile                                    tally, regroup, reach: those that may reach the threshold
//                                                          record: their numbers, bins and cells of sample peers
//     estimates            <=============================  trip 2: candidates and records
//                          ----------------------------->  age: both arrays
//   the report is returned      waits for the ageing  <--
//   ingest: next slice     -->  copy, touch
//
// The host never waits for the ageing. It does not know the numbers of candidates and records in advance, so it copies
// slightly more than the last close had. close.rs describes the cases that need further round trips. The paper's scheme
// takes three round trips.
//
// Scans only lower words, so they may run at the same time as each other and as any question. Ageing raises words. It
// therefore runs after all earlier scans, and later scans wait for it.
//
//   mod.rs            the backend: order of work, and failures of a device
//   device.rs         the trait Gpu: memory, queues, marks, launches; all other files use it
//   cuda/             an NVIDIA GPU, through the driver (driver.rs: unsafe code); users' pairs on it (pairs.rs)
//   tests/simulated/  a GPU for tests, which runs the kernels on the host in orders that a GPU might choose
//   ctx.rs            a device, a queue and the recorders, as one value; copies and launches
//   scheme.rs         the kernels of each scheme
//   upload.rs         copies of pairs to the device
//   close.rs          a close of the default scheme, with both round trips
//   cells.rs          the search of that close: trip 1, and the list of candidates
//   looks.rs          the steps from candidates to records; the host reads records while the device writes more
//   records.rs        the layout of totals and records
//   paper.rs          a close of the paper's scheme
//   questions.rs      tallies of selected hosts: queries, hosts with very many peers, candidates of the paper's scheme
//   threads.rs        the threads that compute the estimates
//   transfer.rs       words of recorders for snapshots, deltas and merging

mod cells;
mod close;
mod ctx;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod device;
mod looks;
mod paper;
mod questions;
mod records;
mod scheme;
#[cfg(test)]
mod tests;
mod threads;
mod transfer;
mod upload;

#[cfg(any(feature = "cudarc", feature = "cust"))]
pub use cuda::pairs::DevicePairs;
#[cfg(feature = "cudarc")]
#[doc(no_inline)]
pub use cudarc;

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use srlg_core::counter::CounterPart;
use srlg_core::{Ages, HostId, Params, RecentRange, Span, Tally};
use srlg_kernels::Age;

use crate::backend::{Backend, Candidates, Pairs, TallyVisitor};
use crate::device::Device;
use crate::error::Error;
use crate::ingest::pairs::{Family, PairSlice};
use crate::ingest::pinned::PairMemory;
use crate::state::{Coder, Section, Words};
use close::{Close, TaggedClose};
use ctx::{Arrays, GpuCtx};
use device::{Gpu, HostMemory, Scan};
use paper::PaperClose;
use questions::Questions;
use scheme::for_array;
use upload::{Uploads, scan};

/// Creates a backend on `gpu` that reports its device as `device`.
pub(crate) fn backend<G: Gpu>(
    gpu: G,
    device: Device,
    params: Params,
) -> Result<Box<dyn Backend>, Error> {
    Ok(Box::new(GpuBackend::new(gpu, device, params)?))
}

struct GpuBackend<G: Gpu> {
    // Fields are dropped in this order, so memory is freed before its device.
    uploads: Uploads<G>,
    work: Mutex<Work<G>>,
    arrays: Arrays<G>,
    /// The queue of all work except uploads and scans of pairs.
    queue: G::Queue,
    /// A mark after the last ageing. Later scans wait for this mark.
    aged: G::Mark,
    /// Whether the device has failed, which leaves the contents of its memory unknown.
    is_lost: AtomicBool,
    params: Params,
    device: Device,
    gpu: G,
}

/// The memory for closes, queries, snapshots and deltas.
struct Work<G: Gpu> {
    close: Box<dyn Close<G>>,
    questions: Questions<G>,
}

impl<G: Gpu> GpuBackend<G> {
    fn new(gpu: G, device: Device, params: Params) -> Result<Self, Error> {
        threads::start();
        let queue = gpu.queue()?;
        let arrays = Arrays::new(&gpu, &queue, &params)?;
        let mut questions = Questions::new(&gpu, &params)?;
        let ctx = GpuCtx { gpu: &gpu, queue: &queue, params: &params, arrays: &arrays };
        let by = &mut questions.results_copy;
        let close: Box<dyn Close<G>> = match params.counter() {
            CounterPart::Tagged(_) => Box::new(TaggedClose::new(ctx, by)?),
            CounterPart::Rows(_) => Box::new(PaperClose::new(ctx, by)?),
        };
        let work = Mutex::new(Work { close, questions });
        let (uploads, aged) = (Uploads::new(&gpu)?, gpu.mark()?);
        let is_lost = AtomicBool::new(false);
        let backend = Self { uploads, work, arrays, queue, aged, is_lost, params, device, gpu };
        // Scans wait until the recorders are filled.
        backend.hold_scans()?;
        Ok(backend)
    }

    /// Makes later scans wait for all work that is now in `queue`.
    fn hold_scans(&self) -> Result<(), Error> {
        self.gpu.record(&self.queue, &self.aged)?;
        self.uploads.wait(&self.gpu, &self.aged)
    }

    /// Scans pairs that are already on the device. `lend` receives a queue and a function that starts the scan, and
    /// passes the pairs to this function.
    fn scan_resident(
        &self,
        family: Family,
        ages: Ages,
        lend: impl FnOnce(&G::Queue, Scan<'_, G::Memory>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let queue = &self.uploads.take().queue;
        lend(queue, &mut |pairs| scan(self.ctx().on(queue), family, pairs, ages))
    }

    fn ctx(&self) -> GpuCtx<'_, G> {
        let Self { gpu, queue, params, arrays, .. } = self;
        GpuCtx { gpu, queue, params, arrays }
    }

    /// Locks and returns the memory for work, and makes later work in `queue` wait for all earlier scans.
    fn work(&self) -> Result<MutexGuard<'_, Work<G>>, Error> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        self.uploads.join(self.ctx())?;
        Ok(work)
    }

    /// Runs `work` unless the device is lost. If the driver fails, the device is marked as lost, because work of other
    /// threads may have failed too.
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

    fn scan(&self, pairs: Pairs<'_>, ages: Ages) -> Result<(), Error> {
        let family = pairs.family();
        family.check(&self.params)?;
        let plain = |pairs: PairSlice<'_>| self.uploads.scan(self.ctx(), pairs, ages);
        self.unless_lost(|| match pairs {
            Pairs::Plain(pairs) => plain(pairs),
            Pairs::Pinned(pairs) => match pairs.memory::<PinnedBytes<G::HostMemory>>() {
                Some((PinnedBytes(memory), bytes)) => {
                    self.uploads.scan_pinned(self.ctx(), family, memory, bytes, ages)
                }
                None => pairs.scan(plain),
            },
            #[cfg(feature = "cuda")]
            Pairs::Resident(pairs) => {
                self.scan_resident(family, ages, |queue, scan| G::lend(queue, pairs, scan))
            }
        })
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn PairMemory>, Error> {
        // A buffer without pairs still needs memory, because devices cannot allocate zero bytes.
        Ok(Box::new(PinnedBytes(self.gpu.pin(bytes.max(Family::V4.pair_bytes()))?)))
    }

    fn flush(&self) -> Result<(), Error> {
        self.unless_lost(|| {
            let (_work, mark) = (self.work()?, self.gpu.mark()?);
            self.gpu.record(&self.queue, &mark)?;
            self.gpu.finish(&mark)
        })
    }

    fn memory_bytes(&self) -> usize {
        self.params.recorder_bytes()
    }

    fn set_params(&mut self, params: Params) -> Result<(), Error> {
        self.flush()?;
        self.params = params;
        Ok(())
    }

    // The device does the work of a close, so the number of CPU threads has no effect.
    fn set_threads(&mut self, _: NonZeroUsize) {}

    fn candidates(&mut self, span: Span, kept: &[IpAddr], limit: u32) -> Result<Candidates, Error> {
        self.unless_lost(|| {
            let Work { close, questions } = &mut *self.work()?;
            close.candidates(self.ctx(), questions, span, kept, limit)
        })
    }

    fn tally(&mut self, candidates: &Candidates, visit: &TallyVisitor<'_>) -> Result<(), Error> {
        self.unless_lost(|| {
            let Work { close, questions } = &mut *self.work()?;
            close.tally(self.ctx(), questions, candidates, visit)
        })
    }

    fn query(&self, host: HostId, span: Span) -> Result<(Vec<Tally>, Vec<u32>), Error> {
        self.unless_lost(|| {
            let (mut work, answer) = (self.work()?, OnceLock::new());
            let questions = &mut work.questions;
            // There is one host, so there is only one answer.
            let each = |_: usize, tallies: &[Tally]| _ = answer.set(tallies.to_vec());
            questions.all_regions(self.ctx(), &[host], span, &each)?;
            let tallies = answer.into_inner().expect("the host has tallies");
            let row_weights = match self.params.needs_row_weights() {
                true => questions.row_weights(self.ctx(), span)?,
                false => Vec::new(),
            };
            Ok((tallies, row_weights))
        })
    }

    fn age(&mut self, ages: Ages) -> Result<(), Error> {
        self.unless_lost(|| {
            let (_work, ctx) = (self.work()?, self.ctx());
            for (array, step) in self.params.age_steps(ages).into_iter().enumerate() {
                if step > 0 {
                    for_array!(&self.params, array, R => {
                        ctx.start(Age::<_, R> { step, recorders: ctx.recorders(array).buffer() })
                    })?;
                }
            }
            self.hold_scans()
        })
    }

    fn count_and_age(&mut self, span: Span, ages: Ages) -> Result<u32, Error> {
        let row_weights =
            self.unless_lost(|| self.work()?.questions.row_weights(self.ctx(), span))?;
        self.age(ages)?;
        Ok(row_weights.iter().sum())
    }

    fn gather(&self, array: usize, places: &[u32]) -> Result<Words, Error> {
        self.unless_lost(|| {
            for_array!(&self.params, array, R => self.work()?.questions.gather::<R>(self.ctx(), array, places))
        })
    }

    fn export(&self, array: usize) -> Result<Words, Error> {
        self.unless_lost(|| for_array!(&self.params, array, R => self.work()?.questions.export::<R>(self.ctx(), array)))
    }

    fn merge(&mut self, array: usize, words: &Words, step: u64) -> Result<(), Error> {
        self.unless_lost(|| {
            for_array!(&self.params, array, R => self.work()?.questions.merge::<R>(self.ctx(), array, words, step))
        })
    }

    fn recent(&mut self, array: usize, range: RecentRange, coder: &mut Coder) -> Result<(), Error> {
        self.unless_lost(|| {
            for_array!(&self.params, array, R => self.work()?.questions.recent::<R>(self.ctx(), array, range, coder))
        })
    }

    fn apply(&mut self, array: usize, section: &Section<'_>, step: u64) -> Result<(), Error> {
        self.unless_lost(|| {
            for_array!(&self.params, array, R => self.work()?.questions.apply::<R>(self.ctx(), array, section, step))
        })
    }
}

struct PinnedBytes<P>(P);

impl<P: HostMemory> PairMemory for PinnedBytes<P> {
    fn read(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        self.0.read(look)
    }

    fn write(&mut self) -> Result<&mut [u8], Error> {
        self.0.write()
    }
}
