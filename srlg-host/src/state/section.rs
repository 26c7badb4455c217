//! [`Section`]: some recorders of one array, as part of a body.
//!
//! The positions of recorders are written as gaps or as a bitmap, whichever is shorter. The words of the recorders
//! follow in byte planes, the plane of the lowest bytes first, because bytes of equal place value compress best
//! together. A reader checks that all positions are within the array.

use srlg_core::{ArrayShape, ReadRecorder, RecentRange, Width, Word};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::leb128;
use crate::error::{FormatError, wrong};

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct SectionHeader {
    pub(super) count: U32,
    pub(super) first: U32,
    /// Size of the gaps or the bitmap, in bytes.
    pub(super) places: U32,
    pub(super) fold: Fold,
    pub(super) layout: u8,
    /// Bit mask of the planes that are present. Bit i represents the bytes with place value `256^i`. Bytes of absent
    /// planes are 0.
    pub(super) planes: u8,
    pub(super) reserved: U16,
}

/// A mapping of 16-bit words in two ranges to one range of numbers.
///
/// `shift` is subtracted from words of at least `split + shift`. If the ranges cover only one slice, the high bytes of
/// touches and echoes are then 0 and need no plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
pub(crate) struct Fold {
    split: U16,
    shift: U16,
}

impl Fold {
    /// Returns the fold for the words within `range` in an array of this width. If the width is not 16 bits, words are
    /// left unchanged.
    pub(crate) fn of(width: Width, range: RecentRange) -> Self {
        let RecentRange { recent, echo } = range.of_width::<u16>();
        match echo.checked_sub(recent) {
            Some(shift) if width == Width::W16 && echo > 0 => {
                Self { split: recent.into(), shift: shift.into() }
            }
            _ => Self::default(),
        }
    }

    #[inline(always)]
    pub(super) fn folded<W: Word>(self) -> impl Fn(W) -> W + Copy {
        let [split, shift] = [self.split, self.shift].map(|size| W::saturated(size.get()));
        move |word| if word < split { word } else { word.wrapping_sub(shift) }
    }

    #[inline(always)]
    fn unfolded(self, number: u64) -> u64 {
        let [split, shift] = [self.split, self.shift].map(|size| u64::from(size.get()));
        if number < split { number } else { number + shift }
    }
}

/// The value of `layout` if positions are stored as gaps, minus 1, in LEB128.
pub(super) const SPARSE: u8 = 0;
/// The value of `layout` if positions are stored as a bitmap. The bitmap starts with the byte that contains the first
/// recorder and ends with the byte that contains the last recorder.
pub(super) const DENSE: u8 = 1;
/// Number of planes of the widest words.
pub(super) const MOST_PLANES: usize = 8;

/// Returns the maximum size of a section in bytes.
pub(super) fn most(shape: ArrayShape) -> usize {
    size_of::<SectionHeader>() + shape.recorders.div_ceil(8) + shape.bytes()
}

/// A section whose lengths have been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    header: SectionHeader,
    shape: ArrayShape,
    places: &'a [u8],
    planes: [Option<&'a [u8]>; MOST_PLANES],
}

impl<'a> Section<'a> {
    /// Removes a section from the start of `body` and checks its lengths.
    pub(super) fn take(body: &mut &'a [u8], shape: ArrayShape) -> Result<Self, FormatError> {
        let (header, rest) = SectionHeader::read_from_prefix(body).map_err(|_| CUT)?;
        *body = rest;
        let has_planes = u32::from(header.planes) >> shape.width.bytes() == 0;
        if !has_planes || (shape.width != Width::W16 && header.fold != Fold::default()) {
            return Err(wrong("a section has words that do not fit its array"));
        }
        if header.reserved != 0 || header.layout > DENSE {
            return Err(wrong("a section has an unknown layout or a reserved field that is not 0"));
        }
        if header.count.get() as usize > shape.recorders {
            return Err(wrong("a section has more recorders than its array"));
        }
        // On 32-bit machines, the places of a bitmap that starts so late can exceed `usize::MAX`.
        if header.count != 0 && header.first.get() as usize >= shape.recorders {
            return Err(OUTSIDE);
        }
        // A writer never produces such sections, and they would use memory without containing recorders.
        if header.places.get() as usize > shape.recorders.div_ceil(8) {
            return Err(wrong("a section needs more bytes for positions than a bitmap would"));
        }
        let mut take = |len: u32| body.split_off(..len as usize).ok_or(CUT);
        let places = take(header.places.get())?;
        if header.layout == DENSE && (header.count == 0 || places.last() == Some(&0)) {
            return Err(wrong("a section has a bitmap that is too long"));
        }
        let mut planes = [None; MOST_PLANES];
        for (bit, plane) in planes.iter_mut().enumerate() {
            if header.planes >> bit & 1 == 1 && header.count != 0 {
                *plane = Some(take(header.count.get())?);
            }
        }
        Ok(Self { header, shape, places, planes })
    }

    pub(super) fn shape(&self) -> ArrayShape {
        self.shape
    }

    pub(crate) fn len(&self) -> usize {
        self.header.count.get() as usize
    }

    pub(super) fn fold(&self) -> Fold {
        self.header.fold
    }

    /// Calls `each` with every recorder and its word, in ascending order, until an error is found.
    ///
    /// # Panics
    /// Panics if the words of the array are not as wide as `W`.
    #[inline]
    pub(crate) fn walk<W: Word>(&self, mut each: impl FnMut(usize, W)) -> Result<(), FormatError> {
        assert_eq!(W::WIDTH, self.shape.width, "the words differ in width from the array");
        match self.header.layout {
            SPARSE => self.walk_gaps(&mut each),
            _ => self.walk_bits(&mut each),
        }
    }

    /// Calls `each` with recorder `place` and its word, which is at index `at` of each plane.
    #[inline(always)]
    fn visit<W: Word>(
        self,
        at: usize,
        place: usize,
        each: &mut impl FnMut(usize, W),
    ) -> Result<(), FormatError> {
        let number = W::of_bytes(|byte| self.planes[byte].map_or(0, |bytes| bytes[at]));
        let word = W::try_from(self.header.fold.unfolded(number.into()));
        let word = word.map_err(|_| wrong("a section has a word too large for its array"))?;
        if place >= self.shape.recorders {
            return Err(OUTSIDE);
        }
        each(place, word);
        Ok(())
    }

    #[inline(always)]
    fn walk_gaps<W: Word>(self, each: &mut impl FnMut(usize, W)) -> Result<(), FormatError> {
        let first = self.header.first.get() as usize;
        let (mut gaps, mut place) = (self.places.iter(), first);
        for at in 0..self.len() {
            if at > 0 {
                let gap = leb128::read(&mut gaps).ok_or(GAPS)?;
                // On 32-bit machines, the sum can exceed `usize::MAX`. Every array ends before that place.
                place = place.saturating_add(gap as usize).saturating_add(1);
            }
            self.visit(at, place, each)?;
        }
        if gaps.next().is_some() { Err(GAPS) } else { Ok(()) }
    }

    #[inline(always)]
    fn walk_bits<W: Word>(self, each: &mut impl FnMut(usize, W)) -> Result<(), FormatError> {
        let first = self.header.first.get() as usize;
        let bits = |byte: &u8| byte.count_ones() as usize;
        if self.places.iter().map(bits).sum::<usize>() != self.len() {
            return Err(wrong("a section has different numbers of bits and recorders"));
        }
        let mut at = 0;
        for (bytes, place) in self.places.chunks(8).zip((first / 8 * 8..).step_by(64)) {
            let mut block = [0; 8];
            block[..bytes.len()].copy_from_slice(bytes);
            let mut bits = u64::from_le_bytes(block);
            while bits != 0 {
                self.visit(at, place + bits.trailing_zeros() as usize, each)?;
                at += 1;
                bits &= bits - 1;
            }
        }
        Ok(())
    }

    pub(crate) fn list<W: Word>(&self) -> Result<(Vec<u32>, Vec<W>), FormatError> {
        let (mut places, mut words) = (Vec::new(), Vec::new());
        self.walk(|place, word| {
            places.push(place as u32);
            words.push(word);
        })?;
        Ok((places, words))
    }
}

const OUTSIDE: FormatError = wrong("a section has a recorder outside its array");
const CUT: FormatError = wrong("a section is truncated");
const GAPS: FormatError = wrong("a section has the wrong number of gaps for its recorders");
