//! A section of a delta's body: some recorders of one array.
//!
//! Which they are is written as gaps or as a bitmap, whichever is shorter; then their words, all low
//! bytes before all high ones, as bytes of equal meaning compress best side by side.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::delta::entry;
use super::{FormatError, Shape};

/// The first bytes of a section.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Head {
    /// Recorders in the section.
    count: U32,
    /// The first of them.
    first: U32,
    /// Bytes that say which the others are.
    places: U32,
    layout: u8,
    planes: u8,
    reserved: [u8; 2],
}

/// `layout`: gaps between recorders, less 1, as LEB128.
const SPARSE: u8 = 0;
/// `layout`: a bit for each recorder from the first to the last.
const DENSE: u8 = 1;
/// `planes`: low bytes are there; all are 0 otherwise.
const LOW: u8 = 1;
/// `planes`: so are high ones.
const HIGH: u8 = 2;

/// The most bytes that a section can have.
pub(super) fn most(shape: Shape) -> usize {
    size_of::<Head>() + shape.recorders.div_ceil(8) + shape.recorders * shape.bytes
}

/// Appends the section of `entries` to `body`.
pub(super) fn write(entries: &[u64], body: &mut Vec<u8>) {
    let place = |entry: &u64| (entry >> 32) as u32;
    let (first, last) = (entries.first().map_or(0, place), entries.last().map_or(0, place));
    let dense = ((last - first) as usize + 1).div_ceil(8);
    let sparse = gaps(entries).map(leb128_len).sum::<usize>();
    let layout = if sparse <= dense { SPARSE } else { DENSE };
    let low: Vec<u8> = entries.iter().map(|&entry| entry as u8).collect();
    let high: Vec<u8> = entries.iter().map(|&entry| (entry >> 8) as u8).collect();
    let planes = [(LOW, &low), (HIGH, &high)].map(|(plane, bytes)| {
        match bytes.iter().all(|&byte| byte == 0) {
            true => 0,
            false => plane,
        }
    });
    let head = Head {
        count: (entries.len() as u32).into(),
        first: first.into(),
        places: (sparse.min(dense) as u32).into(),
        layout,
        planes: planes[0] | planes[1],
        reserved: [0; 2],
    };
    body.extend_from_slice(head.as_bytes());
    match layout {
        SPARSE => gaps(entries).for_each(|gap| push_leb128(body, gap)),
        _ => {
            let start = body.len();
            body.resize(start + dense, 0);
            for entry in entries {
                let bit = place(entry) - first;
                body[start + bit as usize / 8] |= 1 << (bit % 8);
            }
        }
    }
    if planes[0] != 0 {
        body.extend_from_slice(&low);
    }
    if planes[1] != 0 {
        body.extend_from_slice(&high);
    }
}

/// Recorders that are passed over, from each of `entries` to the next.
fn gaps(entries: &[u64]) -> impl Iterator<Item = u32> {
    entries.windows(2).map(|pair| ((pair[1] >> 32) - (pair[0] >> 32) - 1) as u32)
}

fn leb128_len(value: u32) -> usize {
    (32 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

fn push_leb128(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes the section of an array of that shape off `body`.
pub(super) fn read(body: &mut &[u8], shape: Shape) -> Result<Vec<u64>, FormatError> {
    let head = take(body, size_of::<Head>())?;
    let head = Head::read_from_bytes(head).expect("as many bytes as were taken");
    let (count, first) = (head.count.get() as usize, head.first.get() as usize);
    if count > shape.recorders || (count == 0 && first != 0) || head.reserved != [0; 2] {
        return Err(wrong("a section has more recorders than its array, or reserved bytes"));
    }
    let places = take(body, head.places.get() as usize)?;
    let places = match head.layout {
        SPARSE => sparse(places, count, first)?,
        DENSE => dense(places, count, first)?,
        _ => return Err(wrong("a section has a layout that is neither 0 nor 1")),
    };
    if places.last().is_some_and(|&last| last as usize >= shape.recorders) {
        return Err(wrong("a section names a recorder beyond its array"));
    }
    let planes = if shape.bytes == 1 { LOW } else { LOW | HIGH };
    if head.planes & !planes != 0 {
        return Err(wrong("a section has planes that its array has not"));
    }
    let [low, high] = [LOW, HIGH].map(|plane| match head.planes & plane {
        0 => Ok(None),
        _ => take(body, count).map(Some),
    });
    let (low, high) = (low?, high?);
    let byte = |plane: Option<&[u8]>, at: usize| plane.map_or(0, |bytes| bytes[at]);
    let words = places.into_iter().enumerate().map(|(at, place)| {
        entry(place as usize, u16::from_le_bytes([byte(low, at), byte(high, at)]).into())
    });
    Ok(words.collect())
}

fn sparse(bytes: &[u8], count: usize, first: usize) -> Result<Vec<u32>, FormatError> {
    const WRONG: FormatError = wrong("the gaps of a section are not as many as its recorders");
    // Each gap has a byte at least.
    if bytes.len() < count.saturating_sub(1) {
        return Err(WRONG);
    }
    let mut places = Vec::with_capacity(count);
    let (mut bytes, mut place) = (bytes.iter(), first as u64);
    for number in 0..count {
        if number > 0 {
            place += 1 + u64::from(leb128(&mut bytes).ok_or(WRONG)?);
        }
        places.push(
            u32::try_from(place)
                .map_err(|_| wrong("a section names a recorder beyond its array"))?,
        );
    }
    if bytes.next().is_some() { Err(WRONG) } else { Ok(places) }
}

fn leb128<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let byte = *bytes.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(value).ok();
        }
    }
    None
}

fn dense(bytes: &[u8], count: usize, first: usize) -> Result<Vec<u32>, FormatError> {
    let found: usize = bytes.iter().map(|byte| byte.count_ones() as usize).sum();
    if found != count {
        return Err(wrong("the bits of a section are not as many as its recorders"));
    }
    let mut places = Vec::with_capacity(count);
    for (at, &byte) in bytes.iter().enumerate() {
        for bit in (0..8).filter(|bit| byte >> bit & 1 == 1) {
            let place = (first + at * 8 + bit) as u64;
            places.push(
                u32::try_from(place)
                    .map_err(|_| wrong("a section names a recorder beyond its array"))?,
            );
        }
    }
    Ok(places)
}

fn take<'a>(body: &mut &'a [u8], len: usize) -> Result<&'a [u8], FormatError> {
    body.split_off(..len).ok_or(wrong("a section is cut"))
}

const fn wrong(what: &'static str) -> FormatError {
    FormatError::Contents { what }
}
