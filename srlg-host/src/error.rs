//! [`Error`]: what can go wrong with a detector, and the way out.

use std::fmt::{self, Display, Formatter};
use std::net::Ipv6Addr;
use std::path::PathBuf;

use srlg_core::ConfigError;

/// What is wrong with a call of a detector, and the way out. The state of the detector stays as it was, except after errors
/// of a GPU ([`Driver`](Self::Driver)) that say otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum Error {
    /// The configuration breaks a rule.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system has no memory for the recorders.
    #[error("no memory for {bytes} bytes of recorders: choose a smaller configuration")]
    OutOfMemory { bytes: usize, source: std::io::Error },
    /// A device was asked for by a name that none has.
    #[error("there is no device {name:?}: give auto, cpu, cuda or cuda:N")]
    DeviceName { name: String },
    /// The driver of the GPU is not installed.
    #[error(
        "no CUDA device: there is no driver, libcuda.so.1 cannot be loaded; install NVIDIA's \
         driver, or use device `cpu`"
    )]
    NoDriver,
    /// The library was built without CUDA.
    #[error("srlg was built without its feature `cuda`: enable it, or use device `cpu`")]
    WithoutCuda,
    /// There is no GPU of that number.
    #[error("there is no CUDA device {ordinal}: there are {count}, counted from 0")]
    NoSuchDevice { ordinal: u32, count: u32 },
    /// The GPU is too old for the kernels.
    #[error(
        "{name} has compute capability {major}.{minor}, and the kernels need 7.0: use device `cpu`"
    )]
    ComputeCapability { name: String, major: i32, minor: i32 },
    /// The driver of the GPU is too old.
    #[error("the CUDA driver is too old ({name}: {text}): update it, or use device `cpu`")]
    UnfitDriver { name: String, text: String },
    /// The driver of the GPU may not, or cannot, compile the kernels.
    #[error(
        "the CUDA driver does not compile PTX ({name}: {text}): unset CUDA_DISABLE_PTX_JIT, \
         install libnvidia-ptxjitcompiler, or use device `cpu`"
    )]
    NoPtxCompiler { name: String, text: String },
    /// The GPU has no memory for a detector.
    #[error(
        "the CUDA device has no memory for {bytes} bytes, {free} are free: free some, \
         choose a smaller configuration, or use device `cpu`"
    )]
    DeviceMemory { bytes: usize, free: usize },
    /// The system has no page-locked memory.
    #[error("no page-locked memory for {bytes} bytes: ask for less, or free some")]
    PinnedMemory { bytes: usize },
    /// The driver of the GPU reports an error. What the detector had seen may be gone: later
    /// calls say [`DeviceLost`](Self::DeviceLost) if it is.
    #[error("CUDA cannot {doing}: {name}, {text}")]
    Driver { doing: &'static str, name: String, text: String },
    /// A device failed while it copied from or to page-locked memory.
    #[error("the device of this page-locked memory failed: ask for another buffer")]
    PinnedLost,
    /// Something failed before in the context of pairs on a GPU; they were not ingested.
    #[error("the context of the pairs reports an earlier failure: {name}, {text}")]
    PairsContext { name: String, text: String },
    /// The GPU failed before.
    #[error(
        "the CUDA device failed before, and what the detector had seen is gone: \
         make a new detector, in a new process if CUDA refuses one in this"
    )]
    DeviceLost,
    /// Pairs on a GPU were given to a detector on the CPU.
    #[error("this detector runs on the CPU and cannot read pairs on a GPU: give them to ingest")]
    NotOnDevice,
    /// Pairs on a GPU were given to a detector that is not there.
    #[error(
        "the pairs are on CUDA device {theirs}, the detector is on {ours}: ingest pairs of CUDA device {ours}"
    )]
    OtherDevice { ours: String, theirs: u32 },
    /// Pairs on a GPU begin at an address that its threads do not load pairs from; they were not ingested.
    #[error(
        "the pairs begin at {address:#x} in the memory of the CUDA device, no multiple of {alignment}: copy them to memory \
         of their own"
    )]
    UnalignedPairs { address: u64, alignment: usize },
    /// A host of IPv6, or an [`Ip6Pair`](crate::ingest::Ip6Pair), was given to a detector of the paper's scheme; nothing was ingested.
    #[error(
        "the paper's scheme takes IPv4 alone, and a host of IPv6 or an `Ip6Pair` was given: give hosts of IPv4 and `IpPair`s, \
         or take `Config::default()`, which takes both families"
    )]
    Ip6InPaper,
    /// A window of a query is not covered by what the detector remembers.
    #[error("a window of {window} slices was asked for: give 1 to {max}, the detector's own")]
    QueryWindow { window: u32, max: u32 },
    /// A snapshot or delta is of a detector that has other recorders, or reads them otherwise.
    #[error(
        "the {stored} was made by a detector of other sizes (fingerprint {theirs:#018x}, here \
         {ours:#018x}): use the same sizes, window, sampling threshold and hash on all \
         nodes{}{differences}",
        if differences.is_empty() { "" } else { "; here " }
    )]
    OtherSizes { stored: StateKind, ours: u64, theirs: u64, differences: String },
    /// A snapshot or delta is of a detector that touches other recorders.
    #[error(
        "the {stored} was made with another hash seed (fingerprint {theirs:#018x}, here \
         {ours:#018x}): use the same `Config::seed` on all nodes"
    )]
    OtherSeed { stored: StateKind, ours: u64, theirs: u64 },
    /// A snapshot or delta is ahead of the detector that shall merge it.
    #[error(
        "this {stored} was taken in slice {theirs}, but the detector is still in slice {ours}: \
         close slices up to {theirs}, then merge it"
    )]
    FromFuture { stored: StateKind, ours: u64, theirs: u64 },
    /// A delta has nothing that is in the window any more.
    #[error(
        "this delta was taken in slice {theirs}, which has left the window of {window} slices of a \
         detector in slice {ours}: merge a delta while its slice is in the window"
    )]
    OlderThanWindow { ours: u64, theirs: u64, window: u32 },
    /// Bytes are no snapshot or delta.
    #[error("cannot read a snapshot or delta: {0}")]
    Format(#[from] FormatError),
    /// Bytes were written by a later version.
    #[error(
        "the snapshot or delta has format version {theirs}, and this srlg reads versions up to \
         {newest}: update srlg"
    )]
    Version { theirs: u16, newest: u16 },
    /// Bytes were written by a version before the first release.
    #[error(
        "the snapshot or delta has format version {theirs}, from before the first release, and this \
         srlg reads version {oldest} on: take another snapshot with this srlg"
    )]
    FormerVersion { theirs: u16, oldest: u16 },
    /// A snapshot or delta could not be compressed.
    #[error("cannot compress a snapshot or delta: free some memory")]
    Compress { source: std::io::Error },
    /// A delta was to be split into parts that are too small.
    #[error(
        "a delta cannot be split into parts of {max_bytes} bytes: allow at least {least}, which a \
         part with one recorder has"
    )]
    PartSize { max_bytes: usize, least: usize },
    /// Something cannot be done with the files of checkpoints.
    #[error("cannot {doing} {}: {cause}", path.display())]
    Checkpoint { doing: &'static str, path: PathBuf, cause: std::io::Error },
    /// Another process, or another part of this one, keeps its checkpoints there.
    #[error(
        "the checkpoints in {} are in use by another process: stop it, or take another folder",
        path.display()
    )]
    CheckpointsInUse { path: PathBuf },
    /// The detector was sent back in time.
    #[error("slice {asked} is closed, {running} is running: time only moves forward")]
    SliceInPast { running: u64, asked: u64 },
    /// A slice was to be closed that none can follow.
    #[error(
        "slice {running} is the last that has a number: no later slice can run, start from a lower number"
    )]
    LastSlice { running: u64 },
    /// A feed was asked for whose buffer is larger than the memory that there is.
    #[error("no memory for a feed that buffers {capacity} pairs: give it a smaller capacity")]
    FeedMemory { capacity: usize },
    /// Pairs were fed to a detector that is gone; they were not ingested.
    #[error("the detector of this feed was dropped: keep it as long as its feeds")]
    DetectorDropped,
    /// A seed was asked for, and the system has no randomness.
    #[error("the system gives no random seed: give `Config::seed` a secret number")]
    Randomness { source: std::io::Error },
    /// A clock was asked for that cannot tick.
    #[error("a slice of {length:?} was asked for: give 1 ns to 584 years")]
    SliceLength { length: std::time::Duration },
}

/// Why bytes are not a snapshot or a delta.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum FormatError {
    /// The data end early, or something follows them.
    #[error(
        "{found} bytes instead of {expected}: the data were cut, or something was appended to them"
    )]
    Length { found: u64, expected: u64 },
    /// The data are something else.
    #[error("the data begin with {found:02x?} and not with SRLG: no snapshot and no delta")]
    Magic { found: [u8; 4] },
    /// The data are of a kind that was not asked for.
    #[error("the data are of kind {found} instead of {expected} (1 is a snapshot, 2 a delta)")]
    Kind { found: u8, expected: u8 },
    /// The data changed on their way.
    #[error(
        "checksum mismatch: stored {named:#010x}, computed {found:#010x}; the data are damaged"
    )]
    Checksum { found: u32, named: u32 },
    /// A snapshot of the paper's scheme has a host that this scheme cannot have reported.
    #[error(
        "{host} is among the hosts of the last report, and a snapshot of the paper's scheme has IPv4 \
         hosts alone: the data were not written by srlg, read another snapshot"
    )]
    Ip6InPaper { host: Ipv6Addr },
    /// The checksum is right, and the contents are not.
    #[error("{what}: the data were not written by srlg")]
    Contents { what: &'static str },
}

/// The error that bytes are as `what` says.
pub(crate) const fn wrong(what: &'static str) -> FormatError {
    FormatError::Contents { what }
}

/// The kind of a detector's state in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateKind {
    /// A [`Snapshot`](crate::state::Snapshot).
    Snapshot = 1,
    /// A [`Delta`](crate::state::Delta).
    Delta = 2,
}

impl Display for StateKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Snapshot => "snapshot",
            Self::Delta => "delta",
        })
    }
}
