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

    /// Replaces `numbers` by the words that they represent. Returns an error if a word does not fit its array.
    #[inline(always)]
    fn unfold<W: Word>(self, numbers: &mut [W]) -> Result<(), FormatError> {
        if self.shift == 0 {
            return Ok(());
        }
        let [split, shift] = [self.split, self.shift].map(|size| W::saturated(size.get()));
        let mut largest = W::default();
        for number in numbers {
            largest = largest.max(*number);
            *number = if *number < split { *number } else { number.saturating_add(shift) };
        }
        let fits = largest < split || largest <= W::MAX.wrapping_sub(shift);
        if fits { Ok(()) } else { Err(wrong("a section has a word too large for its array")) }
    }
}

/// The value of `layout` if positions are stored as gaps, minus 1, in LEB128.
pub(super) const SPARSE: u8 = 0;
/// The value of `layout` if positions are stored as a bitmap. The bitmap starts with the byte that contains the first
/// recorder and ends with the byte that contains the last recorder.
pub(super) const DENSE: u8 = 1;
/// Number of planes of the widest words.
pub(super) const MOST_PLANES: usize = 8;

/// Number of bytes of gaps that are decoded together, and minimum number of recorders in a block of a bitmap. The lines
/// of the recorders in a block fit into the first-level cache.
const BLOCK: usize = 256;
/// Maximum number of recorders that are decoded together.
const MOST_PER_BLOCK: usize = 2 * BLOCK;
/// Number of positions in a bitmap that are decoded together, even if fewer remain.
const PLACES_PER_STEP: usize = 4;

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

    /// Calls `each` with the positions and words of a block of recorders at a time, in ascending order, until an error
    /// is found. All positions are within the array.
    ///
    /// # Panics
    /// Panics if the words of the array are not as wide as `W`.
    #[inline]
    pub(crate) fn walk<W: Word>(
        &self,
        mut each: impl FnMut(&[u32], &[W]),
    ) -> Result<(), FormatError> {
        assert_eq!(W::WIDTH, self.shape.width, "the words differ in width from the array");
        let (mut at, mut words) = (0, [W::default(); MOST_PER_BLOCK]);
        let visit = |places: &[u32]| {
            let words = &mut words[..places.len()];
            self.read_words(at, words)?;
            at += places.len();
            each(places, words);
            Ok(())
        };
        match self.header.layout {
            SPARSE => self.walk_gaps(visit)?,
            _ => self.walk_bits(visit)?,
        }
        if at == self.len() { Ok(()) } else { Err(COUNT) }
    }

    /// Reads the words of the recorders that start at index `at` of each plane.
    #[inline(always)]
    fn read_words<W: Word>(&self, at: usize, words: &mut [W]) -> Result<(), FormatError> {
        words.fill(W::default());
        if words.len() > self.len() - at {
            return Err(COUNT);
        }
        for (number, plane) in self.planes.iter().enumerate() {
            let Some(plane) = plane else { continue };
            for (word, &byte) in words.iter_mut().zip(&plane[at..]) {
                *word = *word | W::of_bytes(|other| if other == number { byte } else { 0 });
            }
        }
        self.header.fold.unfold(words)
    }

    /// Calls `each` with the positions of a block of recorders at a time.
    #[inline(always)]
    fn walk_gaps(
        &self,
        mut each: impl FnMut(&[u32]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let first = self.header.first.get();
        let (mut places, mut count) = ([first; MOST_PER_BLOCK], usize::from(self.len() > 0));
        let (mut place, mut shift) = (u64::from(first), 0);
        for bytes in self.places.chunks(BLOCK) {
            let mut highest = 0;
            // The loop has no branch, because the processor could not predict where gaps end.
            for &byte in bytes {
                let ends = byte < 0x80;
                place = place.wrapping_add(u64::from(byte & 0x7f).wrapping_shl(shift));
                place = place.wrapping_add(ends.into());
                places[count % MOST_PER_BLOCK] = place as u32;
                count += usize::from(ends);
                highest = shift.max(highest);
                shift = if ends { 0 } else { shift + 7 };
            }
            if highest > leb128::LAST_SHIFT {
                return Err(GAPS);
            }
            if place >= self.shape.recorders as u64 {
                return Err(OUTSIDE);
            }
            each(&places[..count])?;
            count = 0;
        }
        each(&places[..count])?;
        if shift == 0 { Ok(()) } else { Err(GAPS) }
    }

    /// Calls `each` with the positions of a block of recorders at a time.
    #[inline(always)]
    fn walk_bits(
        &self,
        mut each: impl FnMut(&[u32]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let (mut places, mut count) = ([0; MOST_PER_BLOCK], 0);
        let first = u64::from(self.header.first.get()) / 8 * 8;
        for (bytes, first) in self.places.chunks(8).zip((first..).step_by(64)) {
            let mut block = [0; 8];
            block[..bytes.len()].copy_from_slice(bytes);
            let mut bits = u64::from_le_bytes(block);
            if bits == 0 {
                continue;
            }
            if first + u64::from(bits.ilog2()) >= self.shape.recorders as u64 {
                return Err(OUTSIDE);
            }
            let last = count + bits.count_ones() as usize;
            // Entries after the last one are overwritten later.
            for at in (count..last).step_by(PLACES_PER_STEP) {
                for at in at..at + PLACES_PER_STEP {
                    places[at % MOST_PER_BLOCK] =
                        (first as u32).wrapping_add(bits.trailing_zeros());
                    bits &= bits.wrapping_sub(1);
                }
            }
            count = last;
            if count >= BLOCK {
                each(&places[..count])?;
                count = 0;
            }
        }
        each(&places[..count])
    }

    pub(crate) fn list<W: Word>(&self) -> Result<(Vec<u32>, Vec<W>), FormatError> {
        let (mut all_places, mut all_words) = (Vec::new(), Vec::new());
        self.walk(|places, words| {
            all_places.extend_from_slice(places);
            all_words.extend_from_slice(words);
        })?;
        Ok((all_places, all_words))
    }
}

const OUTSIDE: FormatError = wrong("a section has a recorder outside its array");
const CUT: FormatError = wrong("a section is truncated");
const GAPS: FormatError = wrong("a section has a gap that is truncated or too long");
const COUNT: FormatError = wrong("a section has different numbers of positions and recorders");
