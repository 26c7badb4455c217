//! [`Simulated`]: a GPU that is not there.
//!
//! It runs the kernels of srlg-kernels on the host, in orders that a GPU might choose: work waits
//! in its queue until somebody waits for a result, queues get their turns at random, and the
//! threads of a launch run shuffled and at the same time. Work that should have waited for other
//! work therefore sometimes comes too early, and gives a wrong answer.

mod launch;
mod world;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use srlg_kernels::Kernel;

#[cfg(feature = "cuda")]
use crate::device_pairs::DevicePairs;
use crate::error::Error;
#[cfg(feature = "cuda")]
use crate::gpu::device::Scan;
use crate::gpu::device::{Gpu, Memory, On, Part, Pinned};

pub(super) use world::Operation;
use world::{Work, World};

/// A simulated GPU; clones are the same one.
#[derive(Clone)]
pub(super) struct Simulated(Arc<Mutex<World>>);

/// Memory of the device, or of the host.
pub(super) struct Bytes {
    world: Simulated,
    id: usize,
    bytes: usize,
}

impl Simulated {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(World::new(seed))))
    }

    /// Lets `after` more operations of that kind succeed, and one fail.
    pub(super) fn fail(&self, operation: Operation, after: u32) {
        self.world().fault = Some((operation, after));
    }

    /// How often a kernel was launched, by [`Kernel::NAME`], memory was allocated or pinned, or
    /// somebody had to wait for a copy, "trip"; and how many bytes were copied, "bytes".
    pub(super) fn count(&self, operation: &str) -> u32 {
        self.world().operations.get(operation).copied().unwrap_or(0)
    }

    /// Memories that are still there.
    pub(super) fn memories(&self) -> usize {
        self.world().memories.len()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    fn memory(&self, bytes: usize, filling: u64) -> Bytes {
        let mut world = self.world();
        let id = world.id();
        world.memories.insert(id, vec![filling; bytes.div_ceil(8)]);
        Bytes { world: self.clone(), id, bytes }
    }

    fn push(&self, queue: usize, work: impl FnOnce(&mut World) + Send + 'static) {
        self.world().queue(queue).push_back(Work::Do(Box::new(work)));
    }

    /// A copy of `bytes` between a memory of the host and one of the device; `from` and `to` are
    /// memories and places in them.
    fn copy(
        &self,
        queue: usize,
        host: usize,
        from: (usize, usize),
        to: (usize, usize),
        bytes: usize,
    ) {
        let mut world = self.world();
        *world.copies.entry(host).or_default() += 1;
        *world.operations.entry("bytes").or_default() += bytes as u32;
        drop(world);
        self.push(queue, move |world| {
            let run = world.bytes(from.0)[from.1..][..bytes].to_vec();
            world.bytes(to.0)[to.1..][..bytes].copy_from_slice(&run);
            *world.copies.get_mut(&host).unwrap() -= 1;
        });
    }
}

impl Gpu for Simulated {
    type Memory = Bytes;
    type Pinned = Bytes;
    type Queue = usize;
    type Mark = usize;

    fn processors(&self) -> u32 {
        1 // small launches: every thread has to stride
    }

    fn allocate(&self, bytes: usize) -> Result<Bytes, Error> {
        self.world().operate(Operation::Allocate, "allocate")?;
        Ok(self.memory(bytes, 0xa5a5_5a5a_c3c3_3c3c))
    }

    fn pin(&self, bytes: usize) -> Result<Bytes, Error> {
        self.world().operate(Operation::Pin, "pin")?;
        Ok(self.memory(bytes, 0))
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
        from: &Bytes,
        start: usize,
        to: Part<'_, Bytes>,
    ) -> Result<(), Error> {
        self.world().operate(Operation::Upload, "upload")?;
        assert!(start + to.bytes <= from.bytes, "an upload of what there is");
        self.copy(*queue, from.id, (from.id, start), (to.memory.id, to.start), to.bytes);
        Ok(())
    }

    fn download(&self, queue: &usize, from: Part<'_, Bytes>, to: &Bytes) -> Result<(), Error> {
        self.world().operate(Operation::Download, "download")?;
        assert!(from.bytes <= to.bytes, "a download that there is room for");
        self.copy(*queue, to.id, (from.memory.id, from.start), (to.id, 0), from.bytes);
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
        Err(Error::NotOnDevice) // no user has memory here
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

/// Memory goes when no work uses it any more.
impl Drop for Bytes {
    fn drop(&mut self) {
        let mut world = self.world.world();
        world.run_until(|world| world.queues.values().all(VecDeque::is_empty));
        world.memories.remove(&self.id);
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

impl Pinned for Bytes {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let bytes = {
            let mut world = self.world.world();
            world.operate(Operation::Look, "look")?;
            world.finish_copies(self.id);
            world.bytes(self.id)[..self.bytes].to_vec()
        };
        Ok(look(&bytes))
    }

    fn write<T>(&mut self, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error> {
        let mut world = self.world.world();
        world.operate(Operation::Look, "look")?;
        world.finish_copies(self.id);
        Ok(change(&mut world.bytes(self.id)[..self.bytes]))
    }
}
