//! [`Error`]: the errors of a detector.

use std::fmt::{self, Display, Formatter};
use std::net::Ipv6Addr;
use std::path::PathBuf;

use srlg_core::ConfigError;

/// An error of a detector. Most messages state how to resolve the error.
///
/// Except for GPU errors (see [`Driver`](Self::Driver)), an error leaves the state of the detector unchanged.
///
/// The [`source`](std::error::Error::source) of an error is an error of the system, which the message does not repeat.
/// Other reasons are part of the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum Error {
    /// The configuration breaks a rule.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system cannot provide memory for the recorders.
    #[error(
        "cannot allocate {bytes} bytes for the recorders: not enough memory; choose a smaller configuration"
    )]
    #[non_exhaustive]
    OutOfMemory { bytes: usize, source: std::io::Error },
    /// A device name is not valid.
    #[error("unknown device {name:?}; use auto, cpu, cuda or cuda:N")]
    #[non_exhaustive]
    DeviceName { name: String },
    /// The GPU driver is not installed.
    #[error(
        "cannot use CUDA: the driver library libcuda.so.1 cannot be loaded; install the NVIDIA driver or use \
         device `cpu`"
    )]
    NoDriver,
    /// The library was built without CUDA.
    #[error(
        "cannot use CUDA: srlg was built without the feature `cuda`; enable it or use device `cpu`"
    )]
    WithoutCuda,
    /// The system does not have a GPU with the requested number.
    #[error(
        "cannot open CUDA device {ordinal}: devices are numbered from 0, and {count} are available"
    )]
    #[non_exhaustive]
    NoSuchDevice { ordinal: u32, count: u32 },
    /// The GPU is too old for the kernels.
    #[error(
        "cannot use {name}: it has compute capability {major}.{minor}, and srlg needs at least 7.0; use device `cpu`"
    )]
    #[non_exhaustive]
    ComputeCapability { name: String, major: i32, minor: i32 },
    /// The GPU driver is too old.
    #[error(
        "cannot use CUDA: the driver is too old ({name}: {text}); update it or use device `cpu`"
    )]
    #[non_exhaustive]
    UnfitDriver { name: String, text: String },
    /// The GPU driver cannot compile the kernels or is not allowed to compile them.
    #[error(
        "cannot use CUDA: the driver does not compile PTX ({name}: {text}); unset CUDA_DISABLE_PTX_JIT, \
         install libnvidia-ptxjitcompiler, or use device `cpu`"
    )]
    #[non_exhaustive]
    NoPtxCompiler { name: String, text: String },
    /// The GPU has too little free memory for a detector.
    #[error(
        "cannot allocate {bytes} bytes on the CUDA device: {free} bytes are free; free some memory, choose a \
         smaller configuration, or use device `cpu`"
    )]
    #[non_exhaustive]
    DeviceMemory { bytes: usize, free: usize },
    /// The system cannot provide page-locked memory.
    #[error(
        "cannot allocate {bytes} bytes of page-locked memory: not enough memory; request less or free some"
    )]
    #[non_exhaustive]
    PinnedMemory { bytes: usize },
    /// The GPU driver reported an error.
    ///
    /// The contents of the detector may be lost. In that case, later calls return [`DeviceLost`](Self::DeviceLost).
    #[error("CUDA cannot {doing}: {name}, {text}")]
    #[non_exhaustive]
    Driver { doing: &'static str, name: String, text: String },
    /// A GPU failed while it copied from or to page-locked memory.
    #[error("cannot use page-locked memory: its device failed; request another buffer")]
    PinnedLost,
    /// The CUDA context of pairs on a GPU reports an earlier error. The pairs were not ingested.
    #[error(
        "cannot ingest pairs on a GPU: their CUDA context reports an earlier error ({name}, {text})"
    )]
    #[non_exhaustive]
    PairsContext { name: String, text: String },
    /// The GPU failed in an earlier call.
    #[error(
        "cannot use the CUDA device: it failed earlier and the contents of the detector are lost; create a new \
         detector, if necessary in a new process"
    )]
    DeviceLost,
    /// Pairs on a GPU were passed to a detector on the CPU.
    #[error(
        "cannot ingest pairs on a GPU: this detector runs on the CPU; copy the pairs to ordinary memory \
         and pass them to ingest"
    )]
    NotOnDevice,
    /// Pairs on a GPU were passed to a detector on a different GPU or in a different CUDA context.
    #[error(
        "cannot ingest pairs on CUDA device {theirs}: the detector uses {ours}; allocate the pairs in {ours}"
    )]
    #[non_exhaustive]
    OtherDevice { ours: String, theirs: u32 },
    /// The address of pairs on a GPU is not aligned. The pairs were not ingested.
    #[error(
        "cannot ingest pairs on a GPU: their address {address:#x} is not a multiple of {alignment}; copy them to \
         another buffer"
    )]
    #[non_exhaustive]
    UnalignedPairs { address: u64, alignment: usize },
    /// An IPv6 host or an [`IpPair`](crate::IpPair) was passed to a detector of the paper's scheme. No pair
    /// was ingested.
    #[error(
        "cannot use an IPv6 host or an `IpPair` in the paper's scheme: it supports IPv4 only; use IPv4 hosts and \
         `Ipv4Pair`, or `Config::default()`, which supports both families"
    )]
    Ipv6InPaper,
    /// The window of a query is longer than the detector's window, or empty.
    #[error("number of slices must be 1 to {max}, the detector's window, got {window}")]
    #[non_exhaustive]
    QueryWindow { window: u32, max: u32 },
    /// A snapshot or delta comes from a detector that has different sizes or a different encoding.
    ///
    /// `differences` lists the sizes that differ. It is empty for a delta, which does not contain its sizes. The size
    /// `lsb_threshold` depends on the threshold: pairs are sampled with a probability of `2^-lsb_threshold`.
    #[error(
        "cannot use the {stored}: its detector has different sizes (fingerprint {theirs:#018x}, here \
         {ours:#018x}); use the same sizes, threshold, window, share and \
         hash as that detector{}{differences}",
        if differences.is_empty() { "" } else { ": here, " }
    )]
    #[non_exhaustive]
    OtherSizes { stored: StateKind, ours: u64, theirs: u64, differences: String },
    /// A snapshot or delta comes from a detector that has a different seed.
    #[error(
        "cannot use the {stored}: its detector has a different hash seed (fingerprint {theirs:#018x}, here \
         {ours:#018x}); use the same seed as that detector"
    )]
    #[non_exhaustive]
    OtherSeed { stored: StateKind, ours: u64, theirs: u64 },
    /// A snapshot, delta or list of pairs was taken in a slice after the detector's running slice.
    #[error(
        "cannot merge the {stored}: it was taken in slice {theirs}, but the detector is in slice {ours}; \
         advance the detector to slice {theirs} first"
    )]
    #[non_exhaustive]
    FromFuture { stored: StateKind, ours: u64, theirs: u64 },
    /// A delta or a list of pairs is too old: all of its contacts have left the window.
    #[error(
        "cannot merge slice {theirs}: it has left the window of {window} slices (the detector is in slice {ours}); \
         merge a slice while it is in the window"
    )]
    #[non_exhaustive]
    OlderThanWindow { ours: u64, theirs: u64, window: u32 },
    /// The bytes are not a valid snapshot, delta or list of pairs.
    #[error("cannot read a snapshot, delta or list of pairs: {0}")]
    Format(FormatError),
    /// The format version of the bytes is newer than this version of srlg supports.
    #[error(
        "cannot read format version {theirs}: this version of srlg reads format versions up to {newest}; update srlg"
    )]
    #[non_exhaustive]
    Version { theirs: u16, newest: u16 },
    /// The format version of the bytes is older than this version of srlg supports.
    #[error(
        "cannot read format version {theirs}: this version of srlg reads format version {oldest} and later; create \
         the data again with this version of srlg"
    )]
    #[non_exhaustive]
    FormerVersion { theirs: u16, oldest: u16 },
    /// A snapshot, delta or list of pairs could not be compressed.
    #[error(
        "cannot compress a snapshot, delta or list of pairs: not enough memory; free some memory"
    )]
    #[non_exhaustive]
    Compress { source: std::io::Error },
    /// The requested maximum size of a delta's parts is too small.
    #[error(
        "cannot split a delta into parts of at most {max_bytes} bytes: a part needs at least {least} bytes; \
         allow larger parts"
    )]
    #[non_exhaustive]
    PartSize { max_bytes: usize, least: usize },
    /// An operation on checkpoint files failed.
    #[error("cannot {doing} {}", path.display())]
    #[non_exhaustive]
    Checkpoint { doing: &'static str, path: PathBuf, source: std::io::Error },
    /// Another process, or another part of this process, uses the checkpoint folder.
    #[error(
        "cannot use the checkpoints in {}: this or another process already uses them; choose another folder, or stop \
         the other process",
        path.display()
    )]
    #[non_exhaustive]
    CheckpointsInUse { path: PathBuf },
    /// The requested slice is already closed.
    #[error("cannot go back to slice {asked}: slice {running} is running; choose a later slice")]
    #[non_exhaustive]
    SliceInPast { running: u64, asked: u64 },
    /// The running slice has the highest possible number, so no slice can follow it.
    #[error(
        "cannot close slice {running}: it has the highest possible number; start from a lower number"
    )]
    #[non_exhaustive]
    LastSlice { running: u64 },
    /// The system cannot provide memory for the buffer of a feed.
    #[error(
        "cannot create a feed that buffers {capacity} pairs: not enough memory; use a smaller capacity"
    )]
    #[non_exhaustive]
    FeedMemory { capacity: usize },
    /// Pairs were passed to a feed whose detector was dropped. The pairs were not ingested.
    #[error(
        "cannot use the feed: its detector was dropped; keep the detector as long as its feeds"
    )]
    DetectorDropped,
    /// The system cannot provide a random seed.
    #[error("cannot get randomness from the system; set the seed to a secret number")]
    #[non_exhaustive]
    Randomness { source: std::io::Error },
    /// The length of a slice is out of range.
    #[error("slice length must be 1 ns to 584 years, got {length:?}")]
    #[non_exhaustive]
    SliceLength { length: std::time::Duration },
}

impl From<FormatError> for Error {
    fn from(reason: FormatError) -> Self {
        Self::Format(reason)
    }
}

/// The reason why bytes are not a valid snapshot, delta or list of pairs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum FormatError {
    /// The bytes were truncated or extended.
    #[error(
        "the length is {found} bytes instead of {expected}; the data were truncated or extended"
    )]
    #[non_exhaustive]
    Length { found: u64, expected: u64 },
    /// The bytes do not start with the magic number.
    #[error("the first bytes are {found:02x?} instead of SRLG")]
    #[non_exhaustive]
    Magic { found: [u8; 4] },
    /// The bytes are of a different kind than expected.
    #[error(
        "the kind is {found} instead of {expected} (1 is a snapshot, 2 is a delta, 3 is a list of pairs)"
    )]
    #[non_exhaustive]
    Kind { found: u8, expected: u8 },
    /// The bytes were damaged after they were written.
    #[error(
        "checksum mismatch: stored {named:#010x}, computed {found:#010x}; the data are damaged"
    )]
    #[non_exhaustive]
    Checksum { found: u32, named: u32 },
    /// A list of pairs has more pairs than the reader allows.
    #[error("there are more than {most} pairs, the limit of the reader; send fewer pairs at once")]
    #[non_exhaustive]
    TooManyPairs { most: usize },
    /// A snapshot of the paper's scheme contains an IPv6 host, which this scheme cannot report.
    #[error(
        "the snapshot is of the paper's scheme but contains the IPv6 host {host}; it was not written by srlg"
    )]
    #[non_exhaustive]
    Ipv6InPaper { host: Ipv6Addr },
    /// The checksum is correct, but the contents are not valid.
    #[error("{what}; the data were not written by srlg")]
    #[non_exhaustive]
    Contents { what: &'static str },
}

pub(crate) const fn wrong(what: &'static str) -> FormatError {
    FormatError::Contents { what }
}

/// The kind of a serialised detector state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateKind {
    /// A [`Snapshot`](crate::state::Snapshot).
    Snapshot = 1,
    /// A [`Delta`](crate::state::Delta).
    Delta = 2,
    /// A [`SlicePairs`](crate::state::SlicePairs).
    Pairs = 3,
}

impl Display for StateKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Snapshot => "snapshot",
            Self::Delta => "delta",
            Self::Pairs => "list of pairs",
        })
    }
}

#[cfg(test)]
mod tests;
