//! [`SimulatedGpu`]: a simulated GPU.
//!
//! The simulated GPU runs the kernels of srlg-kernels on the host, in orders that a GPU might choose. Work stays in its
//! queue until a thread waits for a result. Queues take turns at random. The threads of a launch run in shuffled order,
//! up to three at the same time. If work does not wait for work on which it depends, it therefore sometimes runs too
//! early and gives an incorrect result.

mod launch;
mod world;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use srlg_kernels::Kernel;
use zerocopy::IntoBytes;

use crate::error::Error;
#[cfg(feature = "cuda")]
use crate::gpu::cuda::pairs::DevicePairs;
#[cfg(feature = "cuda")]
use crate::gpu::device::Scan;
use crate::gpu::device::{Gpu, HostMemory, Memory, On, Part};

pub(super) use world::Operation;
use world::{Work, World};

/// A handle to a simulated GPU, which all clones of the handle share.
#[derive(Clone)]
pub(super) struct SimulatedGpu(Arc<Mutex<World>>);

pub(super) struct Bytes {
    world: SimulatedGpu,
    id: usize,
    bytes: usize,
}

/// Pinned host memory, whose words are shared with pending copies.
pub(super) struct Pages {
    world: SimulatedGpu,
    id: usize,
    bytes: usize,
    words: Arc<Mutex<Vec<u64>>>,
}

impl SimulatedGpu {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(World::new(seed))))
    }

    /// Makes all calls of `operation` fail after `after` more successful calls.
    pub(super) fn fail(&self, operation: Operation, after: u32) {
        self.world().fault = Some((operation, after));
    }

    /// Returns how often an operation was called, or the number of bytes copied.
    ///
    /// The name of a launch is [`Kernel::NAME`]. "trip" counts how often a thread had to wait for copies, and "bytes"
    /// counts the bytes copied. All other operations have the lower-case name of their [`Operation`].
    pub(super) fn count(&self, operation: &str) -> u32 {
        self.world().operations.get(operation).copied().unwrap_or(0)
    }

    pub(super) fn memories(&self) -> usize {
        self.world().memories.len()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// Creates device memory of `words` 64-bit words and returns its ID.
    fn memory(&self, words: usize) -> usize {
        let mut world = self.world();
        let id = world.id();
        world.memories.insert(id, vec![0xa5a5_5a5a_c3c3_3c3c; words]);
        id
    }

    fn push(&self, queue: usize, work: impl FnOnce(&mut World) + Send + 'static) {
        self.world().queue(queue).push_back(Work::Do(Box::new(work)));
    }

    /// Queues `copy`, which receives the bytes of `pages` and of `part`.
    fn copy(
        &self,
        queue: usize,
        pages: &Pages,
        part: Part<'_, Bytes>,
        copy: impl FnOnce(&mut [u8], &mut [u8]) + Send + 'static,
    ) {
        let (id, start, bytes) = (part.memory.id, part.start, part.bytes);
        let (host, words) = (pages.id, pages.words.clone());
        let mut world = self.world();
        *world.copies.entry(host).or_default() += 1;
        *world.operations.entry("bytes").or_default() += bytes as u32;
        drop(world);
        self.push(queue, move |world| {
            let of_device = &mut world.bytes(id)[start..][..bytes];
            copy(words.lock().unwrap().as_mut_bytes(), of_device);
            *world.copies.get_mut(&host).unwrap() -= 1;
        });
    }
}

impl Gpu for SimulatedGpu {
    type Memory = Bytes;
    type HostMemory = Pages;
    type Queue = usize;
    type Mark = usize;

    fn processors(&self) -> u32 {
        1 // With small launches, every thread must process several items.
    }

    fn allocate(&self, bytes: usize) -> Result<Bytes, Error> {
        self.world().operate(Operation::Allocate, "allocate")?;
        Ok(Bytes { world: self.clone(), id: self.memory(bytes.div_ceil(8)), bytes })
    }

    fn pin(&self, bytes: usize) -> Result<Pages, Error> {
        self.world().operate(Operation::Pin, "pin")?;
        let words = Arc::new(Mutex::new(vec![0; bytes.div_ceil(8)]));
        Ok(Pages { world: self.clone(), id: self.memory(0), bytes, words })
    }

    fn queue(&self) -> Result<usize, Error> {
        let mut world = self.world();
        let id = world.id();
        world.queues.insert(id, VecDeque::new());
        Ok(id)
    }

    fn mark(&self) -> Result<usize, Error> {
        let mut world = self.world();
        let id = world.id();
        world.marks.insert(id, (0, 0));
        Ok(id)
    }

    fn fill(&self, queue: &usize, part: Part<'_, Bytes>, byte: u8) -> Result<(), Error> {
        let (id, start, bytes) = (part.memory.id, part.start, part.bytes);
        self.push(*queue, move |world| world.bytes(id)[start..start + bytes].fill(byte));
        Ok(())
    }

    fn upload(
        &self,
        queue: &usize,
        from: &Pages,
        start: usize,
        to: Part<'_, Bytes>,
    ) -> Result<(), Error> {
        self.world().operate(Operation::Upload, "upload")?;
        assert!(start + to.bytes <= from.bytes, "an upload is within its memory");
        self.copy(*queue, from, to, move |pages, part| {
            part.copy_from_slice(&pages[start..][..part.len()]);
        });
        Ok(())
    }

    fn download(
        &self,
        queue: &usize,
        from: Part<'_, Bytes>,
        to: &Pages,
        start: usize,
    ) -> Result<(), Error> {
        self.world().operate(Operation::Download, "download")?;
        assert!(start + from.bytes <= to.bytes, "a download is within its memory");
        self.copy(*queue, to, from, move |pages, part| {
            pages[start..][..part.len()].copy_from_slice(part);
        });
        Ok(())
    }

    fn launch<K: Kernel<Place = On<Self>> + 'static>(
        &self,
        queue: &usize,
        blocks: u32,
        kernel: K,
    ) -> Result<(), Error> {
        self.world().operate(Operation::Launch, K::NAME)?;
        kernel.check();
        self.push(*queue, move |world| launch::run(world, blocks, kernel));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn lend(_: &usize, _: &dyn DevicePairs, _: Scan<'_, Bytes>) -> Result<(), Error> {
        Err(Error::NotOnDevice) // Users have no memory on this device.
    }

    fn record(&self, queue: &usize, mark: &usize) -> Result<(), Error> {
        let mut world = self.world();
        world.operate(Operation::Record, "record")?;
        let recorded = &mut world.marks.get_mut(mark).unwrap().0;
        *recorded += 1;
        let time = *recorded;
        world.queue(*queue).push_back(Work::Reach { mark: *mark, time });
        Ok(())
    }

    fn wait(&self, queue: &usize, mark: &usize) -> Result<(), Error> {
        let mut world = self.world();
        world.operate(Operation::Wait, "wait")?;
        let time = world.marks[mark].0;
        world.queue(*queue).push_back(Work::Wait { mark: *mark, time });
        Ok(())
    }

    fn finish(&self, mark: &usize) -> Result<(), Error> {
        let mut world = self.world();
        world.operate(Operation::Finish, "finish")?;
        let time = world.marks[mark].0;
        world.run_until(|world| world.marks[mark].1 >= time);
        Ok(())
    }
}

impl SimulatedGpu {
    fn free(&self, id: usize) {
        let mut world = self.world();
        world.run_until(|world| world.queues.values().all(VecDeque::is_empty));
        world.memories.remove(&id);
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.world.free(self.id);
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.world.free(self.id);
    }
}

impl Memory for Bytes {
    type Address = launch::Address;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn address(&self, start: usize) -> launch::Address {
        (self.id, start)
    }
}

impl Pages {
    fn wait(&self) -> Result<(), Error> {
        let mut world = self.world.world();
        world.operate(Operation::Look, "look")?;
        world.finish_copies(self.id);
        Ok(())
    }
}

impl HostMemory for Pages {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        self.wait()?;
        Ok(look(&self.words.lock().unwrap().as_bytes()[..self.bytes]))
    }

    fn write(&mut self) -> Result<&mut [u8], Error> {
        self.wait()?;
        let words = Arc::get_mut(&mut self.words).expect("no copy is in progress");
        Ok(&mut words.get_mut().unwrap().as_mut_bytes()[..self.bytes])
    }
}
