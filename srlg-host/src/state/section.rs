//! [`Section`]: some recorders of one array, as the bytes of a body.
//!
//! Which they are is written as gaps or as a bitmap, whichever is shorter; then their words, all low
//! bytes before all high ones, as bytes of equal meaning compress best side by side. What is read
//! is checked as it is walked over: places ascend, and are within the array.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::pick::Near;
use super::{FormatError, Shape, leb128};

/// The first bytes of a section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Head {
    /// Recorders in the section.
    pub(super) count: U32,
    /// The first of them.
    pub(super) first: U32,
    /// Bytes that say which the others are.
    pub(super) places: U32,
    pub(super) fold: Fold,
    pub(super) layout: u8,
    pub(super) planes: u8,
    pub(super) reserved: U16,
}

/// How words of two ranges become numbers of one: those from `split + shift` on are written as so
/// much less. Touches and echoes of a few slices then need no high bytes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub(crate) struct Fold {
    split: U16,
    shift: U16,
}

impl Fold {
    /// Of words that are `near`.
    pub(crate) fn of(near: Near) -> Self {
        match near.echo.checked_sub(near.recent) {
            Some(shift) if near.echo > 0 => Self { split: near.recent.into(), shift: shift.into() },
            _ => Self::default(),
        }
    }

    #[inline(always)]
    pub(super) fn folded(self) -> impl Fn(u16) -> u16 + Copy {
        let (split, shift) = (self.split.get(), self.shift.get());
        move |word| if word < split { word } else { word.wrapping_sub(shift) }
    }

    fn unfolded(self, number: u16) -> Option<u16> {
        if number < self.split.get() { Some(number) } else { number.checked_add(self.shift.get()) }
    }
}

/// `layout`: gaps between recorders, less 1, as LEB128.
pub(super) const SPARSE: u8 = 0;
/// `layout`: a bit for each recorder, from the byte of the first to that of the last.
pub(super) const DENSE: u8 = 1;
/// `planes`: low bytes are there; all are 0 otherwise.
pub(super) const LOW: u8 = 1;
/// `planes`: so are high ones.
pub(super) const HIGH: u8 = 2;

/// The most bytes that a section can have.
pub(super) fn most(shape: Shape) -> usize {
    size_of::<Head>() + shape.recorders.div_ceil(8) + shape.recorders * shape.bytes
}

/// A section whose lengths are right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    head: Head,
    recorders: usize,
    places: &'a [u8],
    low: Option<&'a [u8]>,
    high: Option<&'a [u8]>,
}

impl<'a> Section<'a> {
    /// Takes the section of an array of that shape off `body`.
    pub(super) fn take(body: &mut &'a [u8], shape: Shape) -> Result<Self, FormatError> {
        let (head, rest) = Head::read_from_prefix(body).map_err(|_| CUT)?;
        *body = rest;
        let all = if shape.bytes == 1 { LOW } else { LOW | HIGH };
        let folds = head.fold.split != 0 || head.fold.shift != 0;
        if head.planes & !all != 0 || (shape.bytes == 1 && folds) {
            return Err(wrong("a section has words that its array has not"));
        }
        if head.reserved != 0 || head.layout > DENSE {
            return Err(wrong("a section has a layout that is neither 0 nor 1, or reserved bytes"));
        }
        if head.count.get() as usize > shape.recorders {
            return Err(wrong("a section has more recorders than its array"));
        }
        let mut take = |len: u32| body.split_off(..len as usize).ok_or(CUT);
        let places = take(head.places.get())?;
        let plane = |bit| if head.planes & bit == 0 { 0 } else { head.count.get() };
        let [low, high] = [plane(LOW), plane(HIGH)].map(&mut take);
        let there = |plane: &'a [u8]| (!plane.is_empty()).then_some(plane);
        Ok(Self { head, recorders: shape.recorders, places, low: there(low?), high: there(high?) })
    }

    /// Recorders in it.
    pub(crate) fn len(&self) -> usize {
        self.head.count.get() as usize
    }

    /// How its words are written.
    pub(super) fn fold(&self) -> Fold {
        self.head.fold
    }

    /// Calls `each` with every recorder and its word, ascending, up to what is wrong.
    #[inline]
    pub(crate) fn walk(&self, mut each: impl FnMut(usize, u16)) -> Result<(), FormatError> {
        let (first, fold) = (self.head.first.get() as usize, self.head.fold);
        let byte = |plane: Option<&[u8]>, at: usize| plane.map_or(0, |bytes| bytes[at]);
        let mut visit = |at, place: usize| {
            let number = u16::from_le_bytes([byte(self.low, at), byte(self.high, at)]);
            let word = fold.unfolded(number).ok_or(wrong("a section has a word beyond 16 bits"))?;
            if place >= self.recorders {
                return Err(wrong("a section has a recorder beyond its array"));
            }
            each(place, word);
            Ok(())
        };
        match self.head.layout {
            SPARSE => self.walk_gaps(first, &mut visit),
            _ => self.walk_bits(first, &mut visit),
        }
    }

    #[inline(always)]
    fn walk_gaps(
        &self,
        first: usize,
        visit: &mut impl FnMut(usize, usize) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let (mut gaps, mut place) = (self.places.iter(), first);
        for at in 0..self.len() {
            if at > 0 {
                let gap = leb128::read(&mut gaps).ok_or(GAPS)?;
                // Less than 2^32 recorders each time, as the sum is checked each time.
                place += 1 + gap as usize;
            }
            visit(at, place)?;
        }
        if gaps.next().is_some() { Err(GAPS) } else { Ok(()) }
    }

    #[inline(always)]
    fn walk_bits(
        &self,
        first: usize,
        visit: &mut impl FnMut(usize, usize) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let bits = |byte: &u8| byte.count_ones() as usize;
        if self.places.iter().map(bits).sum::<usize>() != self.len() {
            return Err(wrong("a section has not as many bits as recorders"));
        }
        let mut at = 0;
        for (bytes, place) in self.places.chunks(8).zip((first / 8 * 8..).step_by(64)) {
            let mut block = [0; 8];
            block[..bytes.len()].copy_from_slice(bytes);
            let mut bits = u64::from_le_bytes(block);
            while bits != 0 {
                visit(at, place + bits.trailing_zeros() as usize)?;
                at += 1;
                bits &= bits - 1;
            }
        }
        Ok(())
    }

    /// All its recorders, and their words.
    pub(super) fn list(&self) -> Result<(Vec<u32>, Vec<u16>), FormatError> {
        let (mut places, mut words) = (Vec::new(), Vec::new());
        self.walk(|place, word| {
            places.push(place as u32);
            words.push(word);
        })?;
        Ok((places, words))
    }
}

const CUT: FormatError = wrong("a section is cut");
const GAPS: FormatError = wrong("a section has not as many gaps as recorders");

const fn wrong(what: &'static str) -> FormatError {
    FormatError::Contents { what }
}
