//! The label of an address, out of nested networks that have been cut into disjoint ranges.
//!
//! Shape: the sorted first addresses of all ranges, one label each, and a table of at most 2^18
//! buckets over that part of the address space in which the networks lie. An address whose bucket
//! lies in one range costs one load; another searches the ranges that its bucket touches.
//! Invariant: the ranges cover the address space, and no address outside of the buckets has a
//! label.
//!
//! The table starts and ends with the networks. Over the whole address space its 2^18 buckets
//! would tell no two networks of one IPv6 provider from each other.

use std::ops::{Add, Shl, Shr, Sub};

/// Label of addresses that lie in no network.
pub(crate) const NONE: u32 = 0;
/// In an answer: the bucket touches several ranges, and the other bits tell where those stand.
const SEVERAL: u32 = 1 << 31;

const MOST_BUCKETS: usize = 1 << 18;
/// Buckets per range: most of them then lie in one range.
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

    /// How far this number is beyond `base`, but `most` if it is further or below.
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

/// A network: its first and last address, and its label.
pub(crate) type LabelledRange<A> = (A, A, u32);

/// Labels of all addresses of one family.
#[derive(Clone, Debug)]
pub(crate) struct Ranges<A> {
    /// First address of each range; the first one is 0.
    starts: Vec<A>,
    labels: Vec<u32>,
    /// Binary logarithm of the addresses of a bucket.
    shift: u32,
    /// Number of the first bucket, if they were counted from address 0.
    base: A,
    /// Label of all addresses of a bucket, or [`SEVERAL`] and a place in `touched`; last [`NONE`]
    /// for all other addresses.
    answers: Vec<u32>,
    /// First and last range of every bucket that touches several.
    touched: Vec<[u32; 2]>,
}

impl<A: Number> Ranges<A> {
    /// Cuts `networks`, of which any two are nested or disjoint, into ranges. The label of the
    /// smallest network counts, and of equal ones that of the last.
    pub(crate) fn new(mut networks: Vec<LabelledRange<A>>) -> Self {
        // Larger networks first where they begin alike; the sort keeps the order of equal ones.
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

    /// Ends the innermost networks as long as their last address `is_over`: the network around
    /// each goes on behind it.
    fn close(&mut self, open: &mut Vec<(A, u32)>, is_over: impl Fn(A) -> bool) {
        while let Some((end, _)) = open.pop_if(|(end, _)| is_over(*end)) {
            let (_, around) = open.last().expect("the whole address space is never over");
            self.begin(end + A::from(1), *around);
        }
    }

    /// Begins a range, in the place of one that would be empty.
    fn begin(&mut self, start: A, label: u32) {
        if self.starts.last() == Some(&start) {
            self.labels.pop();
        } else {
            self.starts.push(start);
        }
        self.labels.push(label);
    }

    /// Lays buckets from the first to the last address with a label.
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

    /// First and last range of a bucket.
    fn touched_by(&self, bucket: usize) -> [u32; 2] {
        let Ok(bucket) = A::try_from(bucket) else { unreachable!("buckets are at most 2^18") };
        let first = (self.base + bucket) << self.shift;
        let last = first + ((A::from(1) << self.shift) - A::from(1));
        [first, last].map(|address| self.range([0, self.starts.len() - 1], address) as u32)
    }

    /// The range of `address`, from the `first` to the `last` that may be.
    #[inline]
    fn range(&self, [first, last]: [usize; 2], address: A) -> usize {
        first + self.starts[first + 1..=last].partition_point(|start| *start <= address)
    }

    /// The label of `address`.
    #[inline]
    pub(crate) fn label(&self, address: A) -> u32 {
        let bucket = (address >> self.shift).beyond(self.base, self.answers.len() - 1);
        let answer = self.answers[bucket];
        if answer & SEVERAL == 0 { answer } else { self.search(answer ^ SEVERAL, address) }
    }

    /// The label of `address`, whose bucket touches the ranges at `place`.
    fn search(&self, place: u32, address: A) -> u32 {
        let touched = self.touched[place as usize].map(|range| range as usize);
        self.labels[self.range(touched, address)]
    }
}
