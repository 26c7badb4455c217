//! Payload of a message, which contains states of one slice and the numbers of their views.
//!
//! A payload begins with the number and tag of the network version, and with the number of the slice (u64). The view
//! number (one byte), the length and the bytes of each state follow. All integers except view numbers and the slice are
//! u32 values, and all are little-endian. A slice that does not fit into one message is sent as several parts.

use bytes::{Buf, Bytes};
use srlg_host::config::Params;
use srlg_host::state::{Delta, SlicePairs, StateHeader, StateKind};
use srlg_host::{Error, SlidingDetector};

use super::VersionId;

/// Size of the network version and slice at the start of a payload, in bytes.
const START: usize = 16;

/// Size of the view number and length before each state, in bytes.
const HEAD: usize = 5;

/// Memory of a state in addition to its body, in bytes.
pub const STATE_FRAME: usize = 256;

/// Content of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Network version of the states.
    pub version: VersionId,
    /// Slice that the states complete. They may contain contacts of earlier slices that arrived late.
    pub slice: u64,
    /// Any number of states.
    pub states: Vec<ViewState>,
}

/// A state of a view: a delta, the pairs of a slice, or a part of either that is too large for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewState {
    /// Number of the view.
    pub view: u8,
    /// Encoded state.
    pub bytes: Bytes,
}

/// A decoded state.
#[derive(Debug)]
pub enum SiteState {
    /// Changes of a sketch.
    Delta(Delta),
    /// Pairs of one slice.
    Pairs(SlicePairs),
}

impl ViewState {
    /// Returns the properties of the state without reading its body.
    pub fn header(&self) -> Result<StateHeader, Error> {
        StateHeader::read(&self.bytes)
    }

    /// Decodes the state, whose header names `kind`, for a detector with `params`. A list may have at most
    /// `most_pairs` pairs.
    pub fn read(
        &self,
        kind: StateKind,
        params: &Params,
        most_pairs: usize,
    ) -> Result<SiteState, Error> {
        match kind {
            StateKind::Pairs => {
                SlicePairs::from_bytes(&self.bytes, most_pairs).map(SiteState::Pairs)
            }
            _ => Delta::from_bytes(&self.bytes, params).map(SiteState::Delta),
        }
    }
}

impl SiteState {
    /// Returns the memory of the state, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        STATE_FRAME
            + match self {
                Self::Delta(delta) => delta.body_bytes(),
                Self::Pairs(pairs) => pairs.body_bytes(),
            }
    }

    /// Merges the state into `detector`, unless its slice has left the window.
    pub fn merge_into(&self, detector: &mut SlidingDetector) -> Result<(), Error> {
        let merged = match self {
            Self::Delta(delta) => detector.merge_delta(delta),
            Self::Pairs(pairs) => detector.merge_pairs(pairs),
        };
        match merged {
            // Another view may have a longer window, and late pairs may be older than their payload.
            Err(Error::OlderThanWindow { .. }) => Ok(()),
            merged => merged,
        }
    }
}

/// Returns the maximum size of a state that fits into a payload of `most` bytes.
#[must_use]
pub const fn state_bytes(most: usize) -> usize {
    most - START - HEAD
}

impl Payload {
    /// Packs the states into one or more payloads of at most `most` bytes each. A state that is too large gets a
    /// separate, larger payload.
    #[must_use]
    pub fn pack(&self, most: usize) -> Vec<Vec<u8>> {
        let VersionId { number, tag } = self.version;
        let mut start = [number.to_le_bytes(), tag.to_le_bytes()].concat();
        start.extend(self.slice.to_le_bytes());
        let mut payloads = vec![start.clone()];
        for ViewState { view, bytes } in &self.states {
            let state = [&[*view], &(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
            match payloads.last_mut() {
                Some(last) if last.len() == START || last.len() + state.len() <= most => {
                    last.extend(state);
                }
                _ => payloads.push([&start[..], &state].concat()),
            }
        }
        payloads
    }

    /// Unpacks one of the payloads that [`pack`](Self::pack) returns. Returns `None` if `payload` is malformed.
    #[must_use]
    pub fn unpack(mut payload: Bytes) -> Option<Self> {
        let (number, tag) = (payload.try_get_u32_le().ok()?, payload.try_get_u32_le().ok()?);
        let (version, slice) = (VersionId { number, tag }, payload.try_get_u64_le().ok()?);
        let mut states = Vec::new();
        while !payload.is_empty() {
            let (view, length) = (payload.try_get_u8().ok()?, payload.try_get_u32_le().ok()?);
            let length = usize::try_from(length).ok().filter(|length| *length <= payload.len())?;
            states.push(ViewState { view, bytes: payload.split_to(length) });
        }
        Some(Self { version, slice, states })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn states_come_back_in_payloads_that_are_as_few_as_their_order_allows(
            lengths in prop::collection::vec(0..60_usize, 0..20),
            slice: u64,
        ) {
            let state = |(view, length)| ViewState { view, bytes: vec![view; length].into() };
            let states: Vec<_> = (0..).zip(lengths).map(state).collect();
            let version = VersionId { number: 7, tag: 1 };
            let whole = Payload { version, slice, states };
            let payloads = whole.pack(100);
            prop_assert!(payloads.iter().all(|payload| payload.len() <= 100));
            for two in payloads.windows(2) {
                let next = Payload::unpack(two[1].clone().into()).unwrap().states[0].bytes.len();
                prop_assert!(two[0].len() + HEAD + next > 100);
            }
            let unpacked = payloads.into_iter().map(|it| Payload::unpack(it.into()).unwrap());
            let unpacked: Vec<_> =
                unpacked.inspect(|it| assert_eq!((it.version, it.slice), (version, slice))).collect();
            let states: Vec<_> = unpacked.into_iter().flat_map(|it| it.states).collect();
            prop_assert_eq!(states, whole.states);
        }

        #[test]
        fn nonsense_makes_no_state_longer_than_it_is(payload in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(unpacked) = Payload::unpack(payload.clone().into()) {
                prop_assert_eq!(unpacked.pack(usize::MAX >> 1).concat(), payload);
            }
        }
    }
}
