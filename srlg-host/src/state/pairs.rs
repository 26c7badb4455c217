//! [`SlicePairs`]: the distinct pairs of one slice.

use std::ops::Range;

use srlg_core::{IpPair, Ipv4Pair, Limbs, host};

use super::column::{self, Column, Unsigned};
#[cfg(feature = "state")]
use super::envelope::{Contents, open};
use super::{Fingerprints, StateKind, leb128};
use crate::detector::SlidingDetector;
use crate::error::{Error, FormatError, wrong};
use crate::ingest::PairBatch;

/// The distinct pairs of one slice, in ascending order.
///
/// A node that counts nothing itself sends the pairs of each slice instead of a [`Delta`](super::Delta). It needs no
/// recorders, and the receiver may have any sizes, seed and share. The recorders of the receiver are then the same as
/// after merging deltas. Reading and merging IPv4 pairs takes about a quarter of the time that a delta takes. Up to
/// about 100,000 IPv4 pairs per slice, pairs are smaller than a delta, and creating them takes less time. Pairs with
/// IPv6 addresses take up to four times as many bytes as a delta.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::ingest::PairBatch;
/// use srlg::state::SlicePairs;
/// use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
///
/// let mut batch = PairBatch::new();
/// batch.push(Ipv4Pair::new("10.0.0.1".parse()?, "192.0.2.7".parse()?));
/// let message = SlicePairs::new(&batch, 4)?.to_bytes()?;
///
/// let mut collector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// collector.skip_to(4)?;
/// collector.merge_pairs(&SlicePairs::from_bytes(&message, 1_000)?)?;
/// assert_eq!(collector.cardinality("10.0.0.1".parse()?)?.cardinality.round(), 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicePairs {
    slice: u64,
    v4: Vec<Ipv4Pair>,
    v6: Vec<IpPair>,
}

impl SlicePairs {
    /// Creates the state with the distinct pairs of `batch`, whose contacts were in slice number `slice`.
    ///
    /// # Errors
    /// Returns an error only if the batch is in the memory of a GPU that fails.
    pub fn new(batch: &PairBatch, slice: u64) -> Result<Self, Error> {
        Ok(Self::of(slice, batch.v4()?.into_owned(), batch.v6()?.into_owned()))
    }

    pub(crate) fn of(slice: u64, mut v4: Vec<Ipv4Pair>, mut v6: Vec<IpPair>) -> Self {
        // Comparing integers takes less time than comparing the words of addresses one by one.
        v4.sort_unstable_by_key(|pair| u64::from(pair.inside) << 32 | u64::from(pair.peer));
        v4.dedup();
        v6.sort_unstable_by_key(|pair| [pair.inside, pair.peer].map(bits));
        v6.dedup();
        Self { slice, v4, v6 }
    }

    /// Returns the slice of the contacts.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// Returns the number of distinct pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Returns the memory used for the pairs, in bytes.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        size_of_val(&self.v4[..]) + size_of_val(&self.v6[..])
    }

    /// Returns whether there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(feature = "state")]
#[cfg_attr(docsrs, doc(cfg(feature = "state")))]
impl SlicePairs {
    /// Returns the pairs as bytes that [`from_bytes`](Self::from_bytes) reads. The format is documented in
    /// docs/format.md.
    ///
    /// # Errors
    /// Returns [`Error::Compress`] if there is not enough memory for compression.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        write(self.v4.iter().map(|&Ipv4Pair { inside, peer }| [inside, peer]), &mut body);
        write(self.v6.iter().map(|&IpPair { inside, peer }| [inside, peer].map(bits)), &mut body);
        let (kind, fingerprints) = (StateKind::Pairs, Fingerprints::NONE);
        let slice = self.slice;
        Contents { kind, fingerprints, slice, slices: 1, sizes: &[], attachment: &[] }.seal(&body)
    }

    /// Splits the pairs into states of at most `max_bytes` each and returns them as bytes.
    ///
    /// Merging all parts, in any order, has the same effect as merging the whole state. If the whole state fits, it is
    /// the only part.
    ///
    /// # Errors
    /// Returns [`Error::PartSize`] if a state with a single pair is too large. Also returns the errors of
    /// [`to_bytes`](Self::to_bytes).
    pub fn to_parts(&self, max_bytes: usize) -> Result<Vec<Vec<u8>>, Error> {
        let (bytes, slice) = (self.to_bytes()?, self.slice);
        if bytes.len() <= max_bytes {
            return Ok(vec![bytes]);
        }
        if self.len() < 2 {
            return Err(Error::PartSize { max_bytes, least: bytes.len() });
        }
        // The number of pieces is correct if all pairs take the same number of bytes. If they do not, pieces are split
        // again.
        let pieces = bytes.len().div_ceil(max_bytes.max(1)).clamp(2, self.len());
        let len = self.len().div_ceil(pieces);
        let v4 = self.v4.chunks(len).map(|v4| Self { slice, v4: v4.to_vec(), v6: Vec::new() });
        let v6 = self.v6.chunks(len).map(|v6| Self { slice, v4: Vec::new(), v6: v6.to_vec() });
        let parts = v4.chain(v6).map(|part| part.to_parts(max_bytes));
        Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Reads the pairs in `bytes`, of which there may be at most `most`.
    ///
    /// Reading allocates at most 65 bytes per pair of `most`, and 64 KiB.
    ///
    /// # Errors
    /// Returns [`Error::Format`] if the bytes are damaged or there are more pairs. Returns [`Error::Version`] or
    /// [`Error::FormerVersion`] if they have an unsupported format version.
    pub fn from_bytes(bytes: &[u8], most: usize) -> Result<Self, Error> {
        let opened = open(bytes, StateKind::Pairs, None)?;
        let most_bytes = most.saturating_mul(MOST_BYTES_PER_PAIR).saturating_add(HEADERS);
        if opened.body_len > most_bytes as u64 {
            return Err(FormatError::TooManyPairs { most }.into());
        }
        let body = opened.body(most_bytes)?;
        let Contents { slice, slices, attachment, .. } = opened.contents;
        if slices != 1 || !attachment.is_empty() {
            return Err(wrong("the pairs are not those of one slice or have an attachment").into());
        }
        let mut rest = &body[..];
        let v4 = read(&mut rest, 0..most, |[inside, peer]| Ipv4Pair { inside, peer })?;
        let v6 = read(&mut rest, v4.len()..most, |pair: [u128; 2]| {
            let [inside, peer] = pair.map(limbs);
            IpPair { inside, peer }
        })?;
        let is_v4 = |pair: &IpPair| [pair.inside, pair.peer].iter().all(|&it| host(it).is_ipv4());
        if v6.iter().any(is_v4) {
            return Err(wrong("a pair of two IPv4 addresses has the form of IPv6").into());
        }
        match rest {
            [] => Ok(Self { slice, v4, v6 }),
            _ => Err(wrong("the state has bytes after its pairs").into()),
        }
    }
}

impl SlidingDetector {
    /// Merges `pairs`, the contacts of another node. Any number of threads may merge pairs at the same time.
    ///
    /// # Errors
    /// Returns [`Error::FromFuture`] if the pairs are from a slice after the running one, or [`Error::OlderThanWindow`]
    /// if their slice has left the window. Also returns the errors of [`ingest`](Self::ingest).
    pub fn merge_pairs(&self, pairs: &SlicePairs) -> Result<(), Error> {
        let (ours, theirs, window) = (self.slice(), pairs.slice, self.params().window());
        if theirs > ours {
            return Err(Error::FromFuture { stored: StateKind::Pairs, ours, theirs });
        }
        match u32::try_from(ours - theirs) {
            // Pairs that may be refused come first, so that an error means that no pair was ingested.
            Ok(late) if late < window => {
                self.ingest_late(&pairs.v6, late)?;
                self.ingest_late(&pairs.v4, late)
            }
            _ => Err(Error::OlderThanWindow { ours, theirs, window }),
        }
    }
}

/// Number of bytes before the hosts of both families: the numbers of hosts and pairs.
const HEADERS: usize = 2 * 2 * size_of::<u32>();

/// Maximum number of bytes of a pair: both addresses, and one byte for its host's number of pairs. If that number takes
/// two bytes, the host has at least 128 pairs.
const MOST_BYTES_PER_PAIR: usize = 2 * size_of::<u128>() + 1;

fn bits(limbs: Limbs) -> u128 {
    limbs.into_iter().fold(0, |bits, limb| bits << 32 | u128::from(limb))
}

fn limbs(bits: u128) -> Limbs {
    [96, 64, 32, 0].map(|shift| (bits >> shift) as u32)
}

/// Appends ascending pairs of a host and a peer to `body`.
fn write<A: Unsigned>(pairs: impl Iterator<Item = [A; 2]>, body: &mut Vec<u8>) {
    let (mut hosts, mut counts, mut peers) = (Vec::new(), Vec::<u32>::new(), Vec::new());
    for [host, peer] in pairs {
        match counts.last_mut() {
            Some(count) if hosts.last() == Some(&host) => *count += 1,
            _ => {
                hosts.push(host);
                counts.push(1);
            }
        }
        peers.push(peer);
    }
    body.extend_from_slice(&(hosts.len() as u32).to_le_bytes());
    body.extend_from_slice(&(peers.len() as u32).to_le_bytes());
    counts.iter().for_each(|&count| leb128::write(count, body));
    column::write(&hosts, [hosts.len() as u32].into_iter(), body);
    column::write(&peers, counts.into_iter(), body);
}

/// Takes pairs that [`write`] appended from the start of `rest`. `pair` creates a pair. `room` starts with the number
/// of pairs that were taken before and ends with the maximum number of pairs.
fn read<A: Unsigned, P>(
    rest: &mut &[u8],
    room: Range<usize>,
    pair: impl Fn([A; 2]) -> P,
) -> Result<Vec<P>, FormatError> {
    let ends = || wrong("the state ends before the end of its pairs");
    let mut number = || {
        let (number, after) = rest.split_first_chunk().ok_or_else(ends)?;
        *rest = after;
        Ok(u32::from_le_bytes(*number) as usize)
    };
    let (hosts, pairs) = (number()?, number()?);
    if pairs > room.len() {
        return Err(FormatError::TooManyPairs { most: room.end });
    }
    let counts = *rest;
    let (mut bytes, mut sum) = (counts.iter(), 0_u64);
    for _ in 0..hosts {
        let count = leb128::read(&mut bytes).filter(|&count| count > 0).ok_or_else(ends)?;
        sum += u64::from(count);
    }
    if sum != pairs as u64 {
        return Err(wrong("the numbers of the hosts' pairs do not add up"));
    }
    *rest = bytes.as_slice();
    let hosts_column = Column::<A>::take(rest, hosts)?;
    let peers_column = Column::<A>::take(rest, pairs)?;
    let (mut found, mut counts) = (Vec::with_capacity(pairs), counts.iter());
    let mut host = None;
    for number in 0..hosts {
        let inside = hosts_column.number(number, host)?;
        let end = found.len() + leb128::read(&mut counts).ok_or_else(ends)? as usize;
        let mut peer = None;
        while found.len() < end {
            let next = peers_column.number(found.len(), peer)?;
            found.push(pair([inside, next]));
            peer = Some(next);
        }
        host = Some(inside);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs() -> impl Strategy<Value = SlicePairs> {
        let v4 = prop::collection::vec((0u32..9, any::<u32>()), 0..200);
        let v6 = prop::collection::vec((0u32..9, any::<u32>(), 0u32..3), 0..100);
        (v4, v6, any::<u64>()).prop_map(|(v4, v6, slice)| {
            let mut v4: Vec<_> =
                v4.into_iter().map(|(inside, peer)| Ipv4Pair { inside, peer }).collect();
            let limbs = |low: u32, high: u32| [0x2001_0db8, high, 0, low];
            let v6 = v6.into_iter().map(|(inside, peer, high)| IpPair {
                inside: limbs(inside, high),
                peer: limbs(peer, high),
            });
            let mut v6: Vec<_> = v6.collect();
            v4.sort_unstable();
            v4.dedup();
            v6.sort_unstable();
            v6.dedup();
            SlicePairs { slice, v4, v6 }
        })
    }

    proptest! {
        #[test]
        fn pairs_are_read_as_they_were_written(pairs in pairs()) {
            let bytes = pairs.to_bytes().unwrap();
            prop_assert_eq!(&SlicePairs::from_bytes(&bytes, pairs.len()).unwrap(), &pairs);
            let parts = pairs.to_parts(400).unwrap();
            prop_assert!(parts.iter().all(|part| part.len() <= 400));
            let parts = parts.iter().map(|part| SlicePairs::from_bytes(part, 99).unwrap());
            let (mut v4, mut v6) = (Vec::new(), Vec::new());
            parts.for_each(|part| (v4.extend(part.v4), v6.extend(part.v6)).0);
            prop_assert_eq!((&v4, &v6), (&pairs.v4, &pairs.v6));
            if let Some(fewer) = pairs.len().checked_sub(1) {
                prop_assert!(SlicePairs::from_bytes(&bytes, fewer).is_err());
            }
        }

        #[test]
        fn bodies_of_any_bytes_are_pairs_in_ascending_order_or_refused(
            body in prop::collection::vec(prop_oneof![4 => 0u8..4, 1 => any::<u8>()], 0..80),
        ) {
            if let Ok(found) = read::<u32, _>(&mut &body[..], 0..20, |pair| pair) {
                prop_assert!(found.is_sorted_by(|a, b| a < b));
                let mut written = Vec::new();
                write(found.into_iter(), &mut written);
                prop_assert_eq!(&written[..8], &body[..8]);
            }
        }
    }
}
