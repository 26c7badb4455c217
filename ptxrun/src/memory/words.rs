//! [`Words`], the bytes of an allocation.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Alignment of the first byte in host memory, in bytes, which is the size of a page.
const ALIGNMENT: usize = 4096;

/// Bytes in a word.
const BYTES: usize = 8;

/// Bytes that any number of threads may access at the same time.
///
/// All accesses are relaxed atomic operations on the 64-bit word that contains an element. The order of bytes is little
/// endian, as on the device.
#[derive(Debug)]
pub(crate) struct Words {
    words: Box<[AtomicU64]>,
    /// Number of words before the first byte.
    skipped: usize,
    /// Number of bytes.
    len: usize,
}

impl Words {
    /// Creates `len` bytes with the value `fill`.
    pub(crate) fn new(len: usize, fill: u8) -> Self {
        let fill = u64::from_ne_bytes([fill; BYTES]);
        let count = len.div_ceil(BYTES) + ALIGNMENT / BYTES;
        let words: Box<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(fill)).collect();
        let skipped = (words.as_ptr() as usize).wrapping_neg() % ALIGNMENT / BYTES;
        Self { words, skipped, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the host address of the first byte. Programs may write to it until the words are dropped.
    pub(crate) fn host_address(&self) -> *mut c_void {
        self.words[self.skipped..].as_ptr().cast_mut().cast()
    }

    /// Returns the element of `bytes` bytes at byte `at`, which must be a multiple of `bytes`. The element is extended
    /// to 64 bits, by its sign if `signed`.
    #[inline(always)]
    pub(crate) fn load(&self, at: usize, bytes: usize, signed: bool) -> u64 {
        // Loads are frequent, so bits above and below the element are removed by two shifts, without a mask.
        let unused = 64 - 8 * bytes;
        let top = self.word(at).load(Relaxed) << (unused - at % BYTES * 8);
        match signed {
            true => (top as i64 >> unused) as u64,
            false => top >> unused,
        }
    }

    /// Sets the element of `bytes` bytes at byte `at`, which must be a multiple of `bytes`, to the low bytes of
    /// `value`.
    #[inline(always)]
    pub(crate) fn store(&self, at: usize, bytes: usize, value: u64) {
        match bytes {
            BYTES => self.word(at).store(value, Relaxed),
            _ => drop(self.update(at, bytes, |_| value)),
        }
    }

    /// Replaces the element of `bytes` bytes at byte `at`, which must be a multiple of `bytes`, by `new` of it. Returns
    /// the previous element.
    #[inline(always)]
    pub(crate) fn update(&self, at: usize, bytes: usize, new: impl Fn(u64) -> u64) -> u64 {
        let place = Place::new(at, bytes);
        let updated = |word: u64| {
            let new = new(word >> place.shift & place.mask) & place.mask;
            Some(word & !(place.mask << place.shift) | new << place.shift)
        };
        let (Ok(before) | Err(before)) = self.word(at).fetch_update(Relaxed, Relaxed, updated);
        before >> place.shift & place.mask
    }

    /// Copies the bytes from byte `at` on to `to`.
    pub(crate) fn read(&self, at: usize, to: &mut [u8]) {
        let head = to.len().min(at.wrapping_neg() % BYTES);
        let (head, rest) = to.split_at_mut(head);
        let (body, tail) = rest.as_chunks_mut::<BYTES>();
        let read = |at: usize, to: &mut [u8]| {
            (at..).zip(to).for_each(|(at, byte)| *byte = self.load(at, 1, false) as u8);
        };
        read(at, head);
        let first = at + head.len();
        let words = &self.words[self.skipped + first / BYTES..];
        for (to, word) in body.iter_mut().zip(words) {
            *to = word.load(Relaxed).to_le_bytes();
        }
        read(first + body.len() * BYTES, tail);
    }

    /// Copies `from` to the bytes from byte `at` on.
    pub(crate) fn write(&self, at: usize, from: &[u8]) {
        let head = from.len().min(at.wrapping_neg() % BYTES);
        let (head, rest) = from.split_at(head);
        let (body, tail) = rest.as_chunks::<BYTES>();
        let write = |at: usize, from: &[u8]| {
            (at..).zip(from).for_each(|(at, &byte)| self.store(at, 1, byte.into()));
        };
        write(at, head);
        let first = at + head.len();
        let words = &self.words[self.skipped + first / BYTES..];
        for (&from, word) in body.iter().zip(words) {
            word.store(u64::from_le_bytes(from), Relaxed);
        }
        write(first + body.len() * BYTES, tail);
    }

    /// Sets `bytes` bytes from byte `at` on to `value`.
    pub(crate) fn fill(&self, at: usize, bytes: usize, value: u8) {
        let page = [value; ALIGNMENT];
        for first in (0..bytes).step_by(ALIGNMENT) {
            self.write(at + first, &page[..ALIGNMENT.min(bytes - first)]);
        }
    }

    #[inline(always)]
    fn word(&self, at: usize) -> &AtomicU64 {
        &self.words[self.skipped + at / BYTES]
    }
}

/// The bits of an element in its word.
struct Place {
    shift: usize,
    mask: u64,
}

impl Place {
    #[inline(always)]
    fn new(at: usize, bytes: usize) -> Self {
        Self { shift: at % BYTES * 8, mask: u64::MAX >> (64 - 8 * bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_a_word_are_independent() {
        let words = Words::new(16, 0xa5);
        words.store(8, 8, 0x0807_0605_0403_0201);
        words.store(10, 2, 0xffff_bbaa);
        assert_eq!(words.update(12, 4, |old| old + 1), 0x0807_0605);
        assert_eq!(words.load(8, 8, false), 0x0807_0606_bbaa_0201);
        assert_eq!(words.load(15, 1, true), 8);
        assert_eq!(words.load(0, 4, false), 0xa5a5_a5a5);
        assert_eq!(words.load(4, 2, true), 0xffff_ffff_ffff_a5a5);
        assert_eq!(words.host_address() as usize % ALIGNMENT, 0);
    }

    #[test]
    fn fills_start_and_end_anywhere() {
        let words = Words::new(9_000, 0);
        words.fill(3, 8_990, 7);
        let mut all = vec![0; 9_000];
        words.read(0, &mut all);
        assert!(all[3..8_993].iter().all(|&byte| byte == 7));
        assert!(all[..3].iter().chain(&all[8_993..]).all(|&byte| byte == 0));
    }

    #[test]
    fn copies_start_and_end_anywhere() {
        let from: Vec<u8> = (1..=40).collect();
        for at in 0..17 {
            for len in 0..24 {
                let words = Words::new(41, 0);
                words.write(at, &from[..len]);
                let mut all = [9; 41];
                words.read(0, &mut all);
                assert_eq!(all[at..at + len], from[..len]);
                assert!(all[..at].iter().chain(&all[at + len..]).all(|&byte| byte == 0));
                let mut part = vec![9; len];
                words.read(at, &mut part);
                assert_eq!(part, from[..len]);
            }
        }
    }
}
