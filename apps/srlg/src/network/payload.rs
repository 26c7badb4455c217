//! Payload of a message, which contains deltas of one slice and the numbers of their views.
//!
//! A payload begins with the number and tag of the network version. The view number (one byte), the length and the
//! bytes of each delta follow. All integers except view numbers are little-endian u32 values. A slice that does not fit
//! into one message is sent as several parts.

use bytes::{Buf, Bytes};

use super::VersionId;

/// Size of the network version at the start of a payload, in bytes.
const VERSION: usize = 8;

/// Size of the view number and length before each delta, in bytes.
const HEAD: usize = 5;

/// Content of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Network version of the deltas.
    pub version: VersionId,
    /// One or more deltas.
    pub deltas: Vec<ViewDelta>,
}

/// A delta of a view, or one part of a delta that is too large for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewDelta {
    /// Number of the view.
    pub view: u8,
    /// Encoded delta.
    pub bytes: Bytes,
}

/// Returns the maximum size of a delta that fits into a payload of `most` bytes.
#[must_use]
pub const fn delta_bytes(most: usize) -> usize {
    most - VERSION - HEAD
}

/// Packs `deltas` of a network `version` into payloads of at most `most` bytes each. A delta that is too large gets a
/// separate, larger payload.
#[must_use]
pub fn pack(version: VersionId, deltas: &[ViewDelta], most: usize) -> Vec<Vec<u8>> {
    let VersionId { number, tag } = version;
    let version = [number.to_le_bytes(), tag.to_le_bytes()].concat();
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    for ViewDelta { view, bytes } in deltas {
        let delta = [&[*view], &(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
        match payloads.last_mut().filter(|payload| payload.len() + delta.len() <= most) {
            Some(payload) => payload.extend(delta),
            None => payloads.push([&version[..], &delta].concat()),
        }
    }
    payloads
}

/// Unpacks the output of [`pack`]. Returns `None` if `payload` is malformed.
#[must_use]
pub fn unpack(mut payload: Bytes) -> Option<Payload> {
    let version =
        VersionId { number: payload.try_get_u32_le().ok()?, tag: payload.try_get_u32_le().ok()? };
    let mut deltas = Vec::new();
    while !payload.is_empty() {
        let (view, length) = (payload.try_get_u8().ok()?, payload.try_get_u32_le().ok()?);
        let length = usize::try_from(length).ok().filter(|length| *length <= payload.len())?;
        deltas.push(ViewDelta { view, bytes: payload.split_to(length) });
    }
    (!deltas.is_empty()).then_some(Payload { version, deltas })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn deltas_come_back_in_payloads_that_are_as_few_as_their_order_allows(
            lengths in prop::collection::vec(0..60_usize, 1..20),
        ) {
            let delta = |(view, length)| ViewDelta { view, bytes: vec![view; length].into() };
            let deltas: Vec<_> = (0..).zip(lengths).map(delta).collect();
            let version = VersionId { number: 7, tag: 1 };
            let payloads = pack(version, &deltas, 100);
            prop_assert!(payloads.iter().all(|payload| payload.len() <= 100));
            for two in payloads.windows(2) {
                let next = unpack(two[1].clone().into()).unwrap().deltas[0].bytes.len();
                prop_assert!(two[0].len() + HEAD + next > 100);
            }
            let unpacked = payloads.into_iter().map(|it| unpack(it.into()).unwrap());
            let unpacked: Vec<_> = unpacked.inspect(|it| assert_eq!(it.version, version)).collect();
            prop_assert_eq!(unpacked.into_iter().flat_map(|it| it.deltas).collect::<Vec<_>>(), deltas);
        }

        #[test]
        fn nonsense_makes_no_delta_longer_than_it_is(payload in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(Payload { version, deltas }) = unpack(payload.clone().into()) {
                prop_assert_eq!(pack(version, &deltas, usize::MAX >> 1).concat(), payload);
            }
        }
    }
}
