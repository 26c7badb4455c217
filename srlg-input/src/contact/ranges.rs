//! A map from addresses to labels, built from nested networks that are cut into disjoint ranges.
//!
//! A map consists of the sorted first addresses of all ranges, a label for each range, and a table of at most 2^18
//! buckets. If a bucket lies within one range, a look-up costs one load. If a bucket overlaps several ranges, the
//! look-up searches them.
//!
//! Invariant: the ranges cover the whole address space, and every address outside the buckets has the label [`NONE`].
//!
//! The table covers only the addresses from the first to the last network. If 2^18 buckets covered the whole IPv6
//! address space, all networks of a provider would share a bucket.

use std::ops::{Add, Shl, Shr, Sub};

/// Label of addresses outside all networks.
pub(crate) const NONE: u32 = 0;
/// Flag of an entry in `answers` whose bucket overlaps several ranges. The other bits of the entry are an index into
/// `touched`.
const SEVERAL: u32 = 1 << 31;

const MOST_BUCKETS: usize = 1 << 18;
/// Maximum number of buckets per range, chosen so that most buckets lie within one range.
const BUCKETS_PER_RANGE: usize = 32;

/// An address as a number.
pub(crate) trait Number:
    Copy
    + Ord
    + From<u8>
    + TryFrom<usize>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    const MAX: Self;

    /// Returns the distance of this number from `base`, or `most` if the number is farther away or below `base`.
    fn beyond(self, base: Self, most: usize) -> usize;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            const MAX: Self = Self::MAX;

            #[inline]
            fn beyond(self, base: Self, most: usize) -> usize {
                self.wrapping_sub(base).min(most as Self) as usize
            }
        }
    )*};
}

numbers!(u32, u128);

/// The first and last address of a network, and its label.
pub(crate) type LabelledRange<A> = (A, A, u32);

/// The labels of all addresses of one IP version.
#[derive(Clone, Debug)]
pub(crate) struct Ranges<A> {
    /// First address of each range, in ascending order. The first range starts at address 0.
    starts: Vec<A>,
    labels: Vec<u32>,
    /// Binary logarithm of the number of addresses in a bucket.
    shift: u32,
    /// First address of the first bucket, shifted right by `shift`.
    base: A,
    /// For each bucket, the label of all its addresses, or [`SEVERAL`] and an index into `touched`. The last entry is
    /// [`NONE`] and applies to all addresses outside the buckets.
    answers: Vec<u32>,
    /// Indices of the first and last range of each bucket that overlaps several ranges.
    touched: Vec<[u32; 2]>,
}

impl<A: Number> Ranges<A> {
    /// Cuts `networks` into ranges. Any two networks are nested or disjoint. An address has the label of the smallest
    /// network that contains it. If a network occurs more than once, its last label applies.
    pub(crate) fn new(mut networks: Vec<LabelledRange<A>>) -> Self {
        // Larger networks come first if they start at the same address. The sort is stable, so equal networks keep
        // their order.
        networks.sort_by(|(first, last, _), (other, end, _)| (first, end).cmp(&(other, last)));
        let (starts, labels) = (vec![A::from(0)], vec![NONE]);
        let (answers, touched) = (vec![NONE], Vec::new());
        let mut ranges = Self { starts, labels, shift: 0, base: A::from(0), answers, touched };
        let mut open = vec![(A::MAX, NONE)];
        for (first, last, label) in networks {
            ranges.close(&mut open, |end| end < first);
            ranges.begin(first, label);
            open.push((last, label));
        }
        ranges.close(&mut open, |end| end < A::MAX);
        ranges.fill_buckets();
        ranges
    }

    /// Closes open networks, the innermost first, while `is_over` returns `true` for their last address. After a closed
    /// network, a range with the label of the surrounding network starts.
    fn close(&mut self, open: &mut Vec<(A, u32)>, is_over: impl Fn(A) -> bool) {
        while let Some((end, _)) = open.pop_if(|(end, _)| is_over(*end)) {
            let (_, around) = open.last().expect("the whole address space is never closed");
            self.begin(end + A::from(1), *around);
        }
    }

    /// Starts a range at `start`. If the previous range would be empty, the new range replaces it.
    fn begin(&mut self, start: A, label: u32) {
        if self.starts.last() == Some(&start) {
            self.labels.pop();
        } else {
            self.starts.push(start);
        }
        self.labels.push(label);
    }

    /// Builds the buckets, which cover the addresses from the first to the last network.
    fn fill_buckets(&mut self) {
        let Some(labelled) = self.labels.iter().position(|label| *label != NONE) else { return };
        let first = self.starts[labelled];
        let last = match (self.labels.last(), self.starts.last()) {
            (Some(&NONE), Some(&behind)) => behind - A::from(1),
            _ => A::MAX,
        };
        let most = (self.starts.len() * BUCKETS_PER_RANGE).min(MOST_BUCKETS);
        while (last >> self.shift).beyond(first >> self.shift, most) == most {
            self.shift += 1;
        }
        self.base = first >> self.shift;
        let buckets = (last >> self.shift).beyond(self.base, most) + 1;
        self.answers.clear();
        for bucket in 0..buckets {
            let answer = match self.touched_by(bucket) {
                [first, last] if first == last => self.labels[first as usize],
                touched => {
                    self.touched.push(touched);
                    SEVERAL | (self.touched.len() - 1) as u32
                }
            };
            self.answers.push(answer);
        }
        self.answers.push(NONE);
    }

    /// Returns the indices of the first and last range that a bucket overlaps.
    fn touched_by(&self, bucket: usize) -> [u32; 2] {
        let Ok(bucket) = A::try_from(bucket) else {
            unreachable!("there are at most 2^18 buckets")
        };
        let first = (self.base + bucket) << self.shift;
        let last = first + ((A::from(1) << self.shift) - A::from(1));
        [first, last].map(|address| self.range([0, self.starts.len() - 1], address) as u32)
    }

    /// Returns the index of the range that contains `address`. The index must be from `first` to `last`.
    #[inline]
    fn range(&self, [first, last]: [usize; 2], address: A) -> usize {
        first + self.starts[first + 1..=last].partition_point(|start| *start <= address)
    }

    #[inline]
    pub(crate) fn label(&self, address: A) -> u32 {
        let bucket = (address >> self.shift).beyond(self.base, self.answers.len() - 1);
        let answer = self.answers[bucket];
        if answer & SEVERAL == 0 { answer } else { self.search(answer ^ SEVERAL, address) }
    }

    /// Returns the label of `address`. Its bucket overlaps the ranges from the first to the last one in
    /// `touched[place]`.
    fn search(&self, place: u32, address: A) -> u32 {
        let touched = self.touched[place as usize].map(|range| range as usize);
        self.labels[self.range(touched, address)]
    }
}
