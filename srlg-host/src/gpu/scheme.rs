//! What a finder and a counter have to do on a GPU: start kernels, and read what these leave.

use srlg_core::counter::{Counter, Tally};
use srlg_core::finder::Finder;
use srlg_core::{Address, Params, Recorder, SchemeTypes, Span};
use srlg_kernels::KernelRecorder;

use super::arrays::DeviceCtx;
use super::device::{Gpu, Part};
use crate::error::Error;
use crate::finder::Quality;
use crate::state::StateWord;

/// A recorder that kernels, snapshots and deltas know.
pub(crate) trait GpuRecorder: KernelRecorder + Recorder<Word: StateWord> {}

impl<R: KernelRecorder + Recorder<Word: StateWord>> GpuRecorder for R {}

/// A scheme whose arrays a GPU can hold and search.
pub(crate) trait GpuScheme:
    SchemeTypes<Finder: GpuFinder<Recorder: GpuRecorder>, Counter: GpuCounter<Recorder: GpuRecorder>>
{
}

impl<S: SchemeTypes<Finder: GpuFinder, Counter: GpuCounter>> GpuScheme for S {}

/// Hosts in the memory of a device, behind each other, and how many they are.
pub(crate) struct HostList<'a, M> {
    pub(crate) hosts: Part<'a, M>,
    pub(crate) count: Part<'a, M>,
}

impl<M> Clone for HostList<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for HostList<'_, M> {}

/// Pairs, and the words of 32 bits in which the recorders are packed that they update.
pub(crate) type PairsAndWords<'a, M> = (Part<'a, M>, Part<'a, M>);

/// The finder's part of the work of a GPU.
pub(crate) trait GpuFinder: Finder<Recorder: GpuRecorder> {
    /// Memory of searches.
    type Search<G: Gpu>: GpuSearch<G>;

    /// Starts updating the recorders of pairs, `age` epochs ago.
    fn touch<G: Gpu>(
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        params: &Self::Params,
        memory: PairsAndWords<'_, G::Memory>,
        age: u32,
    ) -> Result<(), Error>;
}

/// A search of one finder on a GPU.
pub(crate) trait GpuSearch<G: Gpu>: Sized + Send + Sync {
    /// Allocates what searches of a detector with `params` need.
    fn new(gpu: &G, params: &Params) -> Result<Self, Error>;

    /// Starts filling what does not change any more, `by` pinned memory.
    fn prepare(
        &self,
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        by: &mut G::Pinned,
    ) -> Result<(), Error>;

    /// Starts the search over `span` at the usual weight; where it lists what it finds.
    fn start(
        &self,
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        span: Span,
    ) -> Result<HostList<'_, G::Memory>, Error>;

    /// Waits for the search that was started, and searches again where the limits do not accept
    /// what it found.
    fn finish(&self, ctx: DeviceCtx<'_, G>, queue: &G::Queue) -> Result<Searched, Error>;
}

/// What a search found.
pub(crate) struct Searched {
    /// Candidates, in the order of the list if `is_listed`.
    pub(crate) hosts: Vec<Address>,
    pub(crate) quality: Quality,
    /// Whether these are the hosts that the search that was started listed.
    pub(crate) is_listed: bool,
}

/// The counter's part of the work of a GPU.
pub(crate) trait GpuCounter: Counter<Recorder: GpuRecorder> {
    /// Starts updating the recorders of pairs, `age` epochs ago.
    fn touch<G: Gpu>(
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        params: &Self::Params,
        memory: PairsAndWords<'_, G::Memory>,
        age: u32,
    ) -> Result<(), Error>;

    /// Bytes of what [`start_tallies`](Self::start_tallies) leaves for one host.
    fn answer_bytes(span: Span) -> usize;

    /// Starts looking at the first positions of the linear estimators of hosts over a span;
    /// `answers` are all 0.
    fn start_tallies<G: Gpu>(
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        params: &Self::Params,
        asked: (HostList<'_, G::Memory>, Span, u32),
        answers: Part<'_, G::Memory>,
    ) -> Result<(), Error>;

    /// Returns the tally in the answer for one host.
    fn tally(answer: &[u8], span: Span) -> Tally;
}
