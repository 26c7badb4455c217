//! [`Shares`]: the shares of the pairs that a detector has counted in its window.
//!
//! If one pair in k is counted, pairs touch the first k-th of the positions of a host, so the positions of a larger k
//! are among those of a smaller k. Only the positions of the largest k in the window have been touched in all of its
//! slices, and estimates use only these. It is therefore sufficient to know in which slice each larger k was last in
//! use.
//!
//! # Adaptation
//! A detector may choose k itself. It doubles k if its counter is crowded and the slices since the last change alone
//! have a load of more than 2. Slices before the change, which may still make the counter crowded for a whole window,
//! thus do not increase k further. It halves k if the load is below half of the largest load of a plan. The last change
//! must then be a whole window ago, and at least 60 slices, so that a flood with pauses does not begin with a small k
//! each time.

use std::collections::BTreeMap;

use srlg_core::{ConfigError, Params};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{FormatError, wrong};

/// Load of the slices since the last change above which k is doubled in a crowded counter.
const HIGH_LOAD: f64 = 2.0;

/// Load of the window below which k is halved. After a window with half of k, the load is at most 2.75, the largest
/// load of a plan.
const LOW_LOAD: f64 = 1.375;

/// Minimum number of slices from a change of k until k is halved.
const LEAST_SLICES: u32 = 60;

/// The shares in the window of a detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// The running k.
    share: u32,
    /// First slice whose epoch has only the running k. If this is long ago, the first slice that matters for halving.
    since: u64,
    /// The last slice of each larger k in the window.
    larger: BTreeMap<u32, u64>,
}

/// A share in a state.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Entry {
    bits: u8,
    /// For the running k, the number of slices that count since the last change. For a larger k, the number of slices
    /// since its last slice.
    slices: U32,
}

/// The byte after the last entry. No share has this binary logarithm.
const END: u8 = u8::MAX;

/// Number of valid shares. The largest one, with θ = 114,688, is 2^11.
const SHARES: u8 = 12;

/// Maximum number of bytes that [`Shares::write`] appends.
pub(crate) const MOST_BYTES: usize = SHARES as usize * size_of::<Entry>() + 1;

impl Shares {
    /// Creates the shares of a new detector.
    pub(crate) const fn new(share: u32) -> Self {
        Self { share, since: 0, larger: BTreeMap::new() }
    }

    /// Returns the running k.
    pub(crate) const fn share(&self) -> u32 {
        self.share
    }

    /// Returns the largest k in the window.
    pub(crate) fn largest(&self) -> u32 {
        self.larger.last_key_value().map_or(self.share, |(&share, _)| share)
    }

    /// Changes k to `share`. Some pairs of `slice` may already belong to the former k.
    pub(crate) fn set(&mut self, share: u32, slice: u64, params: &Params) {
        let former = std::mem::replace(&mut self.share, share);
        if share != former {
            let next = slice.saturating_add(1).checked_next_multiple_of(epoch_slices(params));
            self.since = next.unwrap_or(u64::MAX);
            self.note(former, slice);
            self.larger.retain(|&larger, _| larger > share);
        }
    }

    /// Adds the shares of another detector, whose running slice was `slice`.
    pub(crate) fn merge(&mut self, other: &Self, slice: u64) {
        self.note(other.share, slice);
        other.larger.iter().for_each(|(&share, &last)| self.note(share, last));
    }

    fn note(&mut self, share: u32, last: u64) {
        if share > self.share {
            let known = self.larger.entry(share).or_insert(last);
            *known = last.max(*known);
        }
    }

    /// Removes the shares that have left the window when `slice` is running.
    pub(crate) fn forget(&mut self, slice: u64, params: &Params) {
        let counted = u64::from(params.window().max(LEAST_SLICES));
        self.since = self.since.max(slice.saturating_add(1).saturating_sub(counted));
        self.larger.retain(|_, &mut last| slice.saturating_sub(last) < reach(params));
    }

    /// Returns the k after `slice` closed with this `load` of its window: the running k, twice as many if this is at
    /// most `most`, or half as many if this is at least the k of the configuration. `load_of` returns the load of the
    /// last slices, whose number it is given.
    pub(crate) fn adapted<E>(
        &self,
        params: &Params,
        slice: u64,
        load: f64,
        most: u32,
        load_of: impl FnOnce(u32) -> Result<f64, E>,
    ) -> Result<u32, E> {
        let (slices, window) = (self.slices(slice), params.window());
        let (double, half) = (self.share.saturating_mul(2), self.share / 2);
        let may_double = double <= most && params.with_shares(double, double).is_ok();
        if params.is_crowded(load) && may_double && slices > 0 {
            let since = if slices >= window { load } else { load_of(slices)? };
            return Ok(if since > HIGH_LOAD { double } else { self.share });
        }
        let may_halve = half >= params.counter_sizes().share && slices >= window.max(LEAST_SLICES);
        Ok(if may_halve && load < LOW_LOAD { half } else { self.share })
    }

    /// Returns the number of slices that count since the last change, up to `slice`.
    fn slices(&self, slice: u64) -> u32 {
        slice.saturating_add(1).saturating_sub(self.since) as u32
    }

    /// Checks that `params` allow these shares.
    pub(crate) fn check(&self, params: &Params) -> Result<(), ConfigError> {
        params.with_shares(self.share, self.largest()).map(drop)
    }

    /// Appends the shares to the body of a state that was taken in `slice`.
    pub(crate) fn write(&self, slice: u64, body: &mut Vec<u8>) {
        let mut add = |share: u32, slices: u32| {
            let entry = Entry { bits: share.ilog2() as u8, slices: slices.into() };
            body.extend_from_slice(entry.as_bytes());
        };
        add(self.share, self.slices(slice));
        self.larger.iter().for_each(|(&share, &last)| add(share, (slice - last) as u32));
        body.push(END);
    }

    /// Takes the shares from the start of `rest`, a part of the body of a state that was taken in `slice`.
    pub(crate) fn take(rest: &mut &[u8], slice: u64, params: &Params) -> Result<Self, FormatError> {
        let mut shares = Vec::new();
        loop {
            if let Some((&END, after)) = rest.split_first() {
                *rest = after;
                break;
            }
            let Ok((Entry { bits, slices }, after)) = Entry::read_from_prefix(rest) else {
                return Err(wrong("the state ends before the end of its shares of the pairs"));
            };
            let is_ascending = shares.last().is_none_or(|&(last, _)| last < bits);
            if bits >= SHARES || !is_ascending {
                return Err(wrong("a share of the pairs in the state is wrong"));
            }
            shares.push((bits, u64::from(slices.get())));
            *rest = after;
        }
        let mut shares = shares.into_iter().map(|(bits, slices)| (1 << bits, slices));
        let (share, slices) = shares.next().ok_or_else(|| wrong("the state has no share"))?;
        let since = slice.saturating_add(1).saturating_sub(slices);
        let larger = shares.map(|(share, slices)| (share, slice.saturating_sub(slices))).collect();
        let mut shares = Self { share, since, larger };
        shares.forget(slice, params);
        Ok(shares)
    }
}

/// Returns the number of slices in an epoch of the counter, whose touches look alike.
fn epoch_slices(params: &Params) -> u64 {
    params.counter_sizes().epoch_slices.into()
}

/// Returns the number of slices whose touches can be in a window. An epoch that is partly in the window counts as a
/// whole.
fn reach(params: &Params) -> u64 {
    u64::from(params.window()) + epoch_slices(params) - 1
}

#[cfg(test)]
mod tests {
    use srlg_core::Config;

    use super::*;

    fn params(window: u32) -> Params {
        Config { window, ..Config::default() }.validate().unwrap()
    }

    fn bytes(shares: &Shares, slice: u64) -> Vec<u8> {
        let mut body = Vec::new();
        shares.write(slice, &mut body);
        body
    }

    #[test]
    fn the_largest_share_is_used_until_it_leaves_the_window() {
        let (params, mut shares) = (params(10), Shares::new(1));
        let largest = |shares: &mut Shares, slice| {
            shares.forget(slice, &params);
            (shares.share(), shares.largest())
        };
        shares.set(4, 99, &params);
        assert_eq!(largest(&mut shares, 100), (4, 4));
        shares.set(2, 104, &params);
        shares.set(1, 106, &params);
        assert_eq!(largest(&mut shares, 113), (1, 4));
        assert_eq!(largest(&mut shares, 114), (1, 2));
        assert_eq!(largest(&mut shares, 116), (1, 1));
    }

    // With 64 tags, ages count epochs of two slices in a window of 600.
    #[test]
    fn a_share_in_an_epoch_that_is_partly_in_the_window_is_used() {
        let (params, mut shares) = (params(600), Shares::new(2));
        assert_eq!(params.counter_sizes().epoch_slices, 2);
        shares.set(1, 0, &params);
        shares.forget(600, &params);
        assert_eq!(shares.largest(), 2);
        shares.forget(601, &params);
        assert_eq!(shares.largest(), 1);
    }

    #[test]
    fn merges_in_any_order_keep_the_last_slice_of_each_larger_share() {
        let others = [(2, 7), (8, 5), (1, 8), (2, 6)].map(|(share, slice)| {
            let mut other = Shares::new(share);
            other.set(1, slice, &params(10));
            other
        });
        let merged = |order: [usize; 6]| {
            let mut shares = Shares::new(1);
            order.into_iter().for_each(|number| shares.merge(&others[number % 4], 9));
            shares
        };
        assert_eq!(merged([0, 1, 2, 3, 0, 1]).larger, BTreeMap::from([(2, 7), (8, 5)]));
        assert_eq!(merged([3, 2, 1, 0, 3, 3]), merged([0, 1, 2, 3, 0, 1]));
        let mut four = Shares::new(4);
        four.merge(&others[0], 9);
        four.merge(&Shares::new(16), 9);
        assert_eq!((four.larger.clone(), four.largest()), (BTreeMap::from([(16, 9)]), 16));
    }

    #[test]
    fn the_share_doubles_if_the_slices_since_the_last_change_suggest_it() {
        let (params, mut shares) = (params(10), Shares::new(1));
        let adapted = |shares: &Shares, slice, load, most, since: Option<f64>| {
            let load_of = |_| since.ok_or("not asked");
            shares.adapted(&params, slice, load, most, load_of)
        };
        assert_eq!(adapted(&shares, 20, 4.1, 1, None), Ok(1));
        assert_eq!(adapted(&shares, 20, 4.0, 32, None), Ok(1));
        assert_eq!(adapted(&shares, 20, 4.1, 32, Some(2.1)), Ok(2));
        shares.set(32, 20, &params);
        // No whole slice has passed since the change.
        assert_eq!(adapted(&shares, 20, 9.0, u32::MAX, None), Ok(32));
        // With θ = 1024, a share of 64 is not valid.
        assert_eq!(adapted(&shares, 21, 9.0, u32::MAX, None), Ok(32));
        assert_eq!(adapted(&shares, 80, 1.375, 32, None), Ok(32));
        assert_eq!(adapted(&shares, 79, 1.374, 32, None), Ok(32));
        assert_eq!(adapted(&shares, 80, 1.374, 32, None), Ok(16));
        shares.set(16, 80, &params);
        assert_eq!(adapted(&shares, 81, 4.1, 32, Some(2.0)), Ok(16));
        assert_eq!(adapted(&shares, 81, 4.1, 32, Some(2.1)), Ok(32));
        // After a whole window, all of its slices count.
        assert_eq!(adapted(&shares, 90, 4.1, 32, None), Ok(32));
        // The share of the configuration is the minimum.
        assert_eq!(adapted(&Shares::new(1), 80, 0.0, 32, None), Ok(1));
    }

    // A part of an epoch with the former share would count as a whole.
    #[test]
    fn slices_count_from_the_first_epoch_without_the_former_share() {
        let (params, mut shares) = (params(600), Shares::new(1));
        shares.set(2, 8, &params);
        assert_eq!([8, 9, 10, 11].map(|slice| shares.slices(slice)), [0, 0, 1, 2]);
        shares.set(4, 21, &params);
        assert_eq!([21, 22].map(|slice| shares.slices(slice)), [0, 1]);
        // No epoch begins after the last slice.
        shares.set(8, u64::MAX, &params);
        assert_eq!((shares.share(), shares.slices(u64::MAX)), (8, 0));
    }

    #[test]
    fn shares_are_read_as_they_were_written() {
        let (params, mut shares) = (params(10), Shares::new(1));
        for slice in 0..30 {
            shares.forget(slice, &params);
            if slice % 4 == 1 {
                shares.set([8, 2, 4, 1][slice as usize / 4 % 4], slice, &params);
            }
            let body = [&bytes(&shares, slice)[..], b"rest"].concat();
            assert!(body.len() <= MOST_BYTES + 4);
            let mut rest = &body[..];
            assert_eq!(Shares::take(&mut rest, slice, &params).unwrap().larger, shares.larger);
            assert_eq!(rest, b"rest");
            let read = Shares::take(&mut &body[..], slice, &params).unwrap();
            assert_eq!(bytes(&read, slice), bytes(&shares, slice));
            for len in 0..body.len() - 4 {
                Shares::take(&mut &body[..len], slice, &params).unwrap_err();
            }
        }
    }

    #[test]
    fn bytes_that_no_detector_writes_are_refused() {
        let read = |bytes: &[u8]| Shares::take(&mut &bytes[..], 50, &params(10)).unwrap();
        assert_eq!(read(&[11, 10, 0, 0, 0, END]).share(), 2048);
        // The second share has left the window.
        assert_eq!(read(&[0, 10, 0, 0, 0, 1, 10, 0, 0, 0, END]).largest(), 1);
        assert_eq!(read(&[0, 10, 0, 0, 0, 1, 9, 0, 0, 0, END]).largest(), 2);
        let refused: [&[u8]; 4] = [
            &[END],
            &[12, 0, 0, 0, 0, END],
            &[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, END],
            &[2, 0, 0, 0, 0, 1, 0, 0, 0, 0, END],
        ];
        for bytes in refused {
            Shares::take(&mut &bytes[..], 50, &params(10)).unwrap_err();
        }
    }
}
