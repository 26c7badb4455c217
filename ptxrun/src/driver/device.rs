//! [`Device`], which performs the work that the program starts.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use super::failure::Failure;
use super::queues::{Address, Handle, Pinned, Queues, Source, Work};
use super::settings::{Settings, Timing};
use crate::exec::{Fault, FaultKind, Launch, Options, Shape};
use crate::isa::{Entry, Module};
use crate::memory::{OutOfBounds, Space, Words};
use crate::parse::parse;
use crate::random::Random;
use crate::stats::{self, Transfer};

/// Size of the device memory, in bytes.
pub(super) const MEMORY: usize = 16 << 30;

/// Value of pinned host memory that was never written.
const UNWRITTEN: u8 = 0x5a;

/// Number of pieces of waiting work above which some of them are always performed.
const MANY: usize = 256;

/// Logs a message for the user of the program.
pub(super) fn log(message: impl fmt::Display) {
    eprintln!("ptxrun: {message}");
}

/// The device, with all resources of the program.
pub(super) struct Device {
    settings: Settings,
    space: Space,
    queues: Queues,
    modules: HashMap<Handle, Module>,
    functions: HashMap<Handle, Arc<Entry>>,
    /// Pinned host memory, keyed by its address.
    pinned: BTreeMap<usize, Arc<Words>>,
    /// The first failure of work. No work runs after it.
    failure: Option<Failure>,
    random: Random,
    /// The handle that was given out last.
    last_handle: Handle,
    /// Number of launches that have started.
    launches: u32,
    /// Numbers of the launches that are running, if races are searched.
    active: Vec<u32>,
}

impl Device {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            space: Space::new(settings.seed, settings.checks),
            queues: Queues::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            pinned: BTreeMap::new(),
            failure: None,
            random: Random::new(settings.seed),
            last_handle: 0x10_0000,
            launches: 0,
            active: Vec::new(),
            settings,
        }
    }

    /// Returns the failure of earlier work as an error.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Logs a failure of work. It is the result of all later calls, unless an earlier one is.
    fn fail(&mut self, failure: Failure, message: impl fmt::Display) {
        log(message);
        self.failure.get_or_insert(failure);
    }

    fn new_handle(&mut self) -> Handle {
        self.last_handle += 16;
        self.last_handle
    }

    fn is_deferred(&self) -> bool {
        self.settings.timing == Timing::Deferred
    }

    /// Loads the text of a module.
    pub(super) fn load(&mut self, text: &str) -> Result<Handle, Failure> {
        let module = parse(text).map_err(|error| {
            log(format_args!("cannot load the PTX: {error}"));
            Failure::InvalidPtx
        })?;
        let handle = self.new_handle();
        self.modules.insert(handle, module);
        Ok(handle)
    }

    pub(super) fn unload(&mut self, module: Handle) -> Result<(), Failure> {
        self.modules.remove(&module).map(drop).ok_or(Failure::InvalidHandle)
    }

    /// Finds an entry point of a module.
    pub(super) fn function(&mut self, module: Handle, name: &str) -> Result<Handle, Failure> {
        let module = self.modules.get(&module).ok_or(Failure::InvalidHandle)?;
        let entry = module.entry(name).ok_or(Failure::NotFound)?;
        let handle = self.new_handle();
        self.functions.insert(handle, entry);
        Ok(handle)
    }

    /// Returns an entry point by the handle from [`Self::function`].
    pub(super) fn entry(&self, function: Handle) -> Result<Arc<Entry>, Failure> {
        self.functions.get(&function).cloned().ok_or(Failure::InvalidHandle)
    }

    /// Appends a launch to `stream` if work is deferred. Otherwise, returns the launch, which the caller runs while
    /// other threads use the device, and passes to [`Self::finish`].
    pub(super) fn launch(
        &mut self,
        entry: Arc<Entry>,
        params: Vec<u8>,
        shape: Shape,
        stream: Handle,
    ) -> Result<Option<Box<Launch>>, Failure> {
        if self.is_deferred() {
            return self.defer(stream, Work::Launch { entry, params, shape }).map(|()| None);
        }
        Ok(Some(self.start(entry, params, shape)))
    }

    /// Counts a launch that ended with `outcome`. Like on a GPU, a fault is reported by later calls.
    pub(super) fn finish(&mut self, launch: &Launch, outcome: Result<(), Fault>) {
        self.end(launch);
        if let Err(fault) = outcome {
            self.fail_by(&fault);
        }
    }

    /// Returns a launch that starts now.
    fn start(&mut self, entry: Arc<Entry>, params: Vec<u8>, shape: Shape) -> Box<Launch> {
        let Settings { order, measure, checks, .. } = self.settings;
        let options = Options { order, seed: self.random.next(), measure };
        let mut launch = Launch::new(entry, params, shape, self.space.snapshot(), options);
        self.launches += 1;
        if checks.race {
            launch.search_races(self.launches, self.active.clone());
            self.active.push(self.launches);
        }
        Box::new(launch)
    }

    fn end(&mut self, launch: &Launch) {
        self.active.retain(|&number| Some(number) != launch.number());
        stats::add_launch(launch.entry(), launch.counts());
    }

    fn fail_by(&mut self, fault: &Fault) {
        let failure = match fault.kind {
            FaultKind::OutOfBounds => Failure::IllegalAddress,
            FaultKind::Misaligned => Failure::MisalignedAddress,
            _ => Failure::LaunchFailed,
        };
        self.fail(failure, fault);
    }

    pub(super) fn allocate(&mut self, bytes: usize) -> Result<Address, Failure> {
        match bytes {
            0 => Err(Failure::InvalidValue),
            _ if bytes > self.free_bytes() => Err(Failure::OutOfMemory),
            _ => Ok(self.space.allocate(bytes)),
        }
    }

    /// Frees memory at once. A GPU would wait for running work, but programs should not rely on it.
    pub(super) fn free(&mut self, address: Address) -> Result<(), Failure> {
        if self.space.free(address) {
            return Ok(());
        }
        log(format_args!("cannot free {address:#x}: no allocation starts there"));
        Err(Failure::InvalidValue)
    }

    /// Frees memory after the work that `stream` has now.
    pub(super) fn free_in(&mut self, address: Address, stream: Handle) -> Result<(), Failure> {
        match self.is_deferred() {
            true => self.defer(stream, Work::Free(address)),
            false => self.free(address),
        }
    }

    /// Returns the number of bytes that can be allocated.
    pub(super) fn free_bytes(&self) -> usize {
        MEMORY - self.space.used()
    }

    /// Allocates pinned host memory, and returns it. The device has it until [`Self::free_pinned`].
    pub(super) fn allocate_pinned(&mut self, bytes: usize) -> Result<Arc<Words>, Failure> {
        match bytes {
            0 => Err(Failure::InvalidValue),
            _ if bytes > MEMORY => Err(Failure::OutOfMemory),
            _ => {
                let memory = Arc::new(Words::new(bytes, UNWRITTEN));
                self.pinned.insert(memory.host_address() as usize, memory.clone());
                Ok(memory)
            }
        }
    }

    pub(super) fn free_pinned(&mut self, host: usize) -> Result<(), Failure> {
        self.pinned.remove(&host).map(drop).ok_or(Failure::InvalidValue)
    }

    /// Returns the place of `bytes` bytes at the address `host`, or `None` if they are not in pinned memory.
    pub(super) fn pinned(&self, host: usize, bytes: usize) -> Option<Pinned> {
        let (start, memory) = self.pinned.range(..=host).next_back()?;
        let at = host - start;
        let is_within = at <= memory.len() && bytes <= memory.len() - at;
        is_within.then(|| Pinned { memory: Arc::downgrade(memory), at })
    }

    pub(super) fn fill(
        &mut self,
        to: Address,
        bytes: usize,
        value: u8,
        stream: Handle,
    ) -> Result<(), Failure> {
        self.perform_or_defer(stream, Work::Fill { to, bytes, value })
    }

    /// Copies `from` to the device. The bytes are no longer needed when this returns.
    pub(super) fn upload(
        &mut self,
        from: &[u8],
        to: Address,
        stream: Handle,
    ) -> Result<(), Failure> {
        if !self.is_deferred() {
            self.write(to, from);
            return self.check();
        }
        let (from, bytes) = (Source::Copied(from.to_vec()), from.len());
        self.defer(stream, Work::Upload { from, to, bytes })
    }

    /// Copies pinned memory to the device.
    pub(super) fn upload_pinned(
        &mut self,
        from: Pinned,
        to: Address,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Failure> {
        let from = Source::Pinned(from);
        self.perform_or_defer(stream, Work::Upload { from, to, bytes })
    }

    /// Copies device memory to `to`, after all work of `stream`.
    pub(super) fn download(
        &mut self,
        from: Address,
        to: &mut [u8],
        stream: Handle,
    ) -> Result<(), Failure> {
        if self.is_deferred() {
            self.synchronize_stream_if_any(stream)?;
        }
        self.read(from, to);
        self.check()
    }

    /// Copies device memory to pinned memory.
    pub(super) fn download_pinned(
        &mut self,
        from: Address,
        to: Pinned,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Failure> {
        self.perform_or_defer(stream, Work::Download { from, to, bytes })
    }

    pub(super) fn create_stream(&mut self) -> Handle {
        let stream = self.new_handle();
        self.queues.add_stream(stream);
        stream
    }

    /// Performs the work of a stream, and removes it. A GPU would return at once and perform the work later.
    pub(super) fn destroy_stream(&mut self, stream: Handle) -> Result<(), Failure> {
        let outcome = self.synchronize_stream_if_any(stream);
        self.queues.remove_stream(stream)?;
        outcome
    }

    pub(super) fn synchronize_stream(&mut self, stream: Handle) -> Result<(), Failure> {
        match self.queues.has_stream(stream) {
            true => self.synchronize_stream_if_any(stream),
            false => Err(Failure::InvalidHandle),
        }
    }

    fn synchronize_stream_if_any(&mut self, stream: Handle) -> Result<(), Failure> {
        self.drive(|queues| queues.is_empty(stream))
    }

    /// Performs the work of all streams.
    pub(super) fn synchronize(&mut self) -> Result<(), Failure> {
        self.drive(|queues| queues.len() == 0)
    }

    /// Returns an error if a stream has work.
    pub(super) fn query_stream(&self, stream: Handle) -> Result<(), Failure> {
        match self.queues.has_stream(stream) {
            true if self.queues.is_empty(stream) => Ok(()),
            true => Err(Failure::NotReady),
            false => Err(Failure::InvalidHandle),
        }
    }

    pub(super) fn create_event(&mut self) -> Handle {
        let event = self.new_handle();
        self.queues.add_event(event);
        event
    }

    /// Checks that the event exists. It is kept, because streams may wait for it.
    pub(super) fn destroy_event(&self, event: Handle) -> Result<(), Failure> {
        self.queues.last_record(event).map(drop)
    }

    pub(super) fn record_event(&mut self, event: Handle, stream: Handle) -> Result<(), Failure> {
        let record = self.queues.record(event)?;
        self.perform_or_defer(stream, Work::Reach { event, record })
    }

    /// Lets a stream wait for the last record of an event.
    pub(super) fn wait_event(&mut self, stream: Handle, event: Handle) -> Result<(), Failure> {
        let record = self.queues.last_record(event)?;
        self.perform_or_defer(stream, Work::Wait { event, record })
    }

    pub(super) fn synchronize_event(&mut self, event: Handle) -> Result<(), Failure> {
        let record = self.queues.last_record(event)?;
        self.drive(|queues| queues.has_reached(event, record))
    }

    /// Returns an error if the last record of an event is not reached.
    pub(super) fn query_event(&self, event: Handle) -> Result<(), Failure> {
        let record = self.queues.last_record(event)?;
        match self.queues.has_reached(event, record) {
            true => Ok(()),
            false => Err(Failure::NotReady),
        }
    }

    /// Performs `work` now, or appends it to `stream` if work is deferred.
    fn perform_or_defer(&mut self, stream: Handle, work: Work) -> Result<(), Failure> {
        if self.is_deferred() {
            return self.defer(stream, work);
        }
        self.perform(stream, work);
        self.check()
    }

    /// Appends `work` to `stream`. Sometimes performs some work, as a GPU does before the program waits.
    fn defer(&mut self, stream: Handle, work: Work) -> Result<(), Failure> {
        self.queues.push(stream, work)?;
        if self.queues.len() > MANY || self.random.below(4) == 0 {
            for _ in 0..self.random.below(6) {
                if self.failure.is_none() {
                    self.step();
                }
            }
        }
        self.check()
    }

    /// Performs work until `is_done`.
    fn drive(&mut self, is_done: impl Fn(&Queues) -> bool) -> Result<(), Failure> {
        while self.failure.is_none() && !is_done(&self.queues) {
            if !self.step() {
                self.fail(Failure::LaunchFailed, "cannot continue: all streams wait for events");
            }
        }
        self.check()
    }

    /// Performs a part of the work of a random stream. Returns false if no stream can continue.
    fn step(&mut self) -> bool {
        let ready = self.queues.ready();
        if ready.is_empty() {
            return false;
        }
        let stream = ready[self.random.below(ready.len())];
        if let Some(work) = self.queues.take(stream) {
            self.perform(stream, work);
        }
        true
    }

    /// Performs a piece of work of `stream`, or a part of it.
    fn perform(&mut self, stream: Handle, work: Work) {
        match work {
            Work::Fill { to, bytes, value } => {
                stats::add_transfer(Transfer::Fill, bytes);
                let outcome = self.space.fill(to, bytes, value);
                self.check_transfer("fill device memory", outcome);
            }
            Work::Upload { from: Source::Copied(from), to, .. } => self.write(to, &from),
            Work::Upload { from: Source::Pinned(from), to, bytes } => match from.memory.upgrade() {
                Some(memory) => {
                    let mut copy = vec![0; bytes];
                    memory.read(from.at, &mut copy);
                    self.write(to, &copy);
                }
                None => self.fail_by_freed("from"),
            },
            Work::Download { from, to, bytes } => match to.memory.upgrade() {
                Some(memory) => {
                    let mut copy = vec![0; bytes];
                    if self.read(from, &mut copy) {
                        memory.write(to.at, &copy);
                    }
                }
                None => self.fail_by_freed("to"),
            },
            Work::Launch { entry, params, shape } => {
                let launch = self.start(entry, params, shape);
                self.queues.put_back(stream, Work::Running(launch));
            }
            Work::Running(mut launch) => {
                // Launches of several streams alternate after a few instructions or after many.
                match launch.step(1 << self.random.below(20)) {
                    Ok(true) => self.end(&launch),
                    Ok(false) => self.queues.put_back(stream, Work::Running(launch)),
                    Err(fault) => self.fail_by(&fault),
                }
            }
            Work::Reach { event, record } => self.queues.reach(event, record),
            // The caller has checked that the event is reached.
            Work::Wait { .. } => {}
            Work::Free(address) => {
                if !self.space.free(address) {
                    let message = format_args!("cannot free {address:#x}: it was freed before");
                    self.fail(Failure::IllegalAddress, message);
                }
            }
        }
    }

    fn fail_by_freed(&mut self, direction: &str) {
        let message = format_args!("cannot copy {direction} pinned memory: it was freed");
        self.fail(Failure::IllegalAddress, message);
    }

    fn write(&mut self, to: Address, from: &[u8]) {
        stats::add_transfer(Transfer::ToDevice, from.len());
        let outcome = self.space.write(to, from);
        self.check_transfer("copy to the device", outcome);
    }

    /// Returns whether the bytes could be read.
    fn read(&mut self, from: Address, to: &mut [u8]) -> bool {
        stats::add_transfer(Transfer::FromDevice, to.len());
        let outcome = self.space.read(from, to);
        self.check_transfer("copy from the device", outcome);
        outcome.is_ok()
    }

    fn check_transfer(&mut self, verb: &str, outcome: Result<(), OutOfBounds>) {
        if let Err(error) = outcome {
            self.fail(Failure::IllegalAddress, format_args!("cannot {verb}: {error}"));
        }
    }
}

#[cfg(test)]
mod tests;
