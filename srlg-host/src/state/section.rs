//! [`Section`]: some recorders of one array, as the bytes of a body.
//!
//! Which they are is written as gaps or as a bitmap, whichever is shorter; then their words, a plane
//! of bytes after the other, all lowest bytes first, as bytes of equal meaning compress best side by
//! side. What is read is checked as it is walked over: places ascend, and are within the array.

use srlg_core::{ArrayShape, ReadRecorder, RecentRange, Width, Word};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::leb128;
use crate::error::{FormatError, wrong};

/// The first bytes of a section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct SectionHeader {
    /// Recorders in the section.
    pub(super) count: U32,
    /// The first of them.
    pub(super) first: U32,
    /// Bytes that say which the others are.
    pub(super) places: U32,
    pub(super) fold: Fold,
    pub(super) layout: u8,
    /// Bit i: the bytes that count `256^i` are there; all are 0 otherwise.
    pub(super) planes: u8,
    pub(super) reserved: U16,
}

/// How words of 16 bits in two ranges become numbers in one: a word from `split + shift` on is
/// written as the word less `shift`. Touches and echoes of a few slices then need no high bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
pub(crate) struct Fold {
    split: U16,
    shift: U16,
}

impl Fold {
    /// Of words in `range`, of an array of that width; other words than those of 16 bits are
    /// written as they are.
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

/// `layout`: gaps between recorders, less 1, as LEB128.
pub(super) const SPARSE: u8 = 0;
/// `layout`: a bit for each recorder, from the byte of the first to that of the last.
pub(super) const DENSE: u8 = 1;
/// Planes of the widest words.
pub(super) const MOST_PLANES: usize = 8;

/// The most bytes that a section can have.
pub(super) fn most(shape: ArrayShape) -> usize {
    size_of::<SectionHeader>() + shape.recorders.div_ceil(8) + shape.bytes()
}

/// A section whose lengths are right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    header: SectionHeader,
    shape: ArrayShape,
    places: &'a [u8],
    planes: [Option<&'a [u8]>; MOST_PLANES],
}

impl<'a> Section<'a> {
    /// Takes the section of an array of that shape off `body`.
    pub(super) fn take(body: &mut &'a [u8], shape: ArrayShape) -> Result<Self, FormatError> {
        let (header, rest) = SectionHeader::read_from_prefix(body).map_err(|_| CUT)?;
        *body = rest;
        let has_planes = u32::from(header.planes) >> shape.width.bytes() == 0;
        if !has_planes || (shape.width != Width::W16 && header.fold != Fold::default()) {
            return Err(wrong("a section has words that its array has not"));
        }
        if header.reserved != 0 || header.layout > DENSE {
            return Err(wrong("a section has a layout that is neither 0 nor 1, or reserved bytes"));
        }
        if header.count.get() as usize > shape.recorders {
            return Err(wrong("a section has more recorders than its array"));
        }
        // No writer makes these, and they would stay in memory for no recorder.
        if header.places.get() as usize > shape.recorders.div_ceil(8) {
            return Err(wrong("a section has more bytes of places than a bitmap of its array"));
        }
        let mut take = |len: u32| body.split_off(..len as usize).ok_or(CUT);
        let places = take(header.places.get())?;
        if header.layout == DENSE && (header.count == 0 || places.last() == Some(&0)) {
            return Err(wrong("a section has a bitmap that is longer than its recorders"));
        }
        let mut planes = [None; MOST_PLANES];
        for (bit, plane) in planes.iter_mut().enumerate() {
            if header.planes >> bit & 1 == 1 && header.count != 0 {
                *plane = Some(take(header.count.get())?);
            }
        }
        Ok(Self { header, shape, places, planes })
    }

    /// The array that it is of.
    pub(super) fn shape(&self) -> ArrayShape {
        self.shape
    }

    /// Recorders in it.
    pub(crate) fn len(&self) -> usize {
        self.header.count.get() as usize
    }

    /// How its words are written.
    pub(super) fn fold(&self) -> Fold {
        self.header.fold
    }

    /// Calls `each` with every recorder and its word, ascending, up to what is wrong.
    ///
    /// # Panics
    /// When its array has other words.
    #[inline]
    pub(crate) fn walk<W: Word>(&self, mut each: impl FnMut(usize, W)) -> Result<(), FormatError> {
        assert_eq!(W::WIDTH, self.shape.width, "words of the array");
        match self.header.layout {
            SPARSE => self.walk_gaps(&mut each),
            _ => self.walk_bits(&mut each),
        }
    }

    /// Calls `each` with the recorder `place` and its word, which is word number `at`.
    #[inline(always)]
    fn visit<W: Word>(
        self,
        at: usize,
        place: usize,
        each: &mut impl FnMut(usize, W),
    ) -> Result<(), FormatError> {
        let number = W::of_bytes(|byte| self.planes[byte].map_or(0, |bytes| bytes[at]));
        let word = W::try_from(self.header.fold.unfolded(number.into()));
        let word = word.map_err(|_| wrong("a section has a word that its array cannot have"))?;
        if place >= self.shape.recorders {
            return Err(wrong("a section has a recorder beyond its array"));
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
                // Less than 2^32 recorders each time, as the sum is checked each time.
                place += 1 + gap as usize;
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
            return Err(wrong("a section has not as many bits as recorders"));
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

    /// All its recorders, and their words.
    pub(crate) fn list<W: Word>(&self) -> Result<(Vec<u32>, Vec<W>), FormatError> {
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
