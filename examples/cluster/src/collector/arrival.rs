//! From a message to an [`Arrival`], or to the reason why it is none.
//!
//! Shape: [`read`] believes nothing but the broker's word for the subject, which tells the probe.
//! Invariant: what comes out is a delta of this network's sizes and seed.

use std::collections::HashMap;

use srlg_host::{Delta, Error, Params};

use super::reader::Message;
use super::rule::{Arrival, Refusal};
use crate::subjects::{self, PART_HEADER, Part};

/// No slice has a higher number, whatever its length: that is the year 2,300,000 in milliseconds.
const MOST_SLICES: u64 = 1 << 56;

/// Bytes that a delta takes beside its recorders.
const FRAME: usize = 256;

/// Why a message is not merged.
#[derive(Debug, thiserror::Error)]
pub(super) enum Rejection {
    #[error("{subject:?} is the subject of no probe of this network")]
    Unknown { subject: String },
    #[error("it has no header {PART_HEADER} with a part of a delta")]
    NoPart,
    #[error("there is no slice {slice}")]
    NoSlice { slice: u64 },
    #[error(transparent)]
    Delta(#[from] Error),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Rejection {
    /// By which it is counted.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_probe",
            Self::NoPart => "headers",
            Self::NoSlice { .. } => "no_slice",
            Self::Delta(Error::OtherSizes { .. }) => "other_sizes",
            Self::Delta(Error::OtherSeed { .. }) => "other_seed",
            Self::Delta(Error::Version { .. }) => "later_version",
            Self::Delta(_) => "corrupt",
            Self::Refused(Refusal::Old { .. }) => "too_old",
            Self::Refused(Refusal::Ahead { .. }) => "too_far_ahead",
            Self::Refused(Refusal::Parts { .. }) => "too_many_parts",
        }
    }
}

/// The probe that a message is of, by number.
pub(super) fn sender(
    message: &Message,
    probes: &HashMap<String, usize>,
) -> Result<usize, Rejection> {
    let unknown = || Rejection::Unknown { subject: message.subject.clone() };
    let name = subjects::probe_of(&message.subject).ok_or_else(unknown)?;
    probes.get(name).copied().ok_or_else(unknown)
}

/// What a message of `probe` delivers.
pub(super) fn read(
    message: &Message,
    probe: usize,
    params: &Params,
) -> Result<Arrival<Delta>, Rejection> {
    let part = message.headers.get(PART_HEADER).and_then(|part| part.as_str().parse::<Part>().ok());
    let part = part.ok_or(Rejection::NoPart)?;
    let delta = Delta::from_bytes(&message.payload, params)?;
    let slice = delta.slice();
    if slice >= MOST_SLICES {
        return Err(Rejection::NoSlice { slice });
    }
    let bytes = delta.recorders() * size_of::<u64>() + FRAME;
    Ok(Arrival { probe, slice, part, sequence: message.sequence, bytes, delta })
}
