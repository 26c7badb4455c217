//! [`Error`]: what can go wrong with a detector, and the way out.

use srlg_core::ConfigError;

/// An error of a detector. What the detector has seen stays as it was.
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
    /// A window of a query is not covered by what the detector remembers.
    #[error("a window of {window} slices was asked for: give 1 to {max}, the detector's own")]
    QueryWindow { window: u32, max: u32 },
    /// A state was written by a detector that touches other recorders.
    #[error(
        "the state's fingerprint {theirs:#018x} is not this detector's {ours:#018x}: \
         merge detectors of the same sizes, sampling threshold and seed"
    )]
    Fingerprint { ours: u64, theirs: u64 },
    /// A state is ahead of the detector that shall take it.
    #[error("the state is at slice {theirs}, this detector at {ours}: close slices up to it first")]
    StateFromFuture { ours: u64, theirs: u64 },
    /// The detector was sent back in time.
    #[error("slice {asked} is closed, {running} is running: time only moves forward")]
    SliceInPast { running: u64, asked: u64 },
    /// A clock was asked for that cannot tick.
    #[error("a slice of {length:?} was asked for: give 1 ns to 584 years")]
    SliceLength { length: std::time::Duration },
}
