//! Selection of positions within a window by means of vector instructions.
//!
//! On x86-64 processors with AVX2 or AVX-512 VBMI2, this code replaces [`pick`](srlg_core::counter::tagged::pick) and
//! takes at most half the time. A vector comparison finds the positions of a whole line quickly; most of the time is
//! spent on listing them. Here, the selected words of a vector are moved to its front in one step. The vector is then
//! stored after the previously selected words. All later steps use the same code on all processors.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi16, _mm_set1_epi16, _mm_shuffle_epi8, _mm256_cmpeq_epi16,
    _mm256_max_epu16, _mm256_min_epu16, _mm256_movemask_epi8, _mm256_packs_epi16,
    _mm256_permute4x64_epi64, _mm256_set1_epi16, _mm256_shuffle_epi8, _mm256_subs_epu16,
    _mm512_add_epi16, _mm512_cmplt_epu16_mask, _mm512_maskz_compress_epi16, _mm512_max_epu16,
    _mm512_permutexvar_epi16, _mm512_set1_epi16, _mm512_subs_epu16, _mm512_xor_si512,
};

use srlg_core::counter::tagged::{GROUP, InWindow, LINE, STEP, Selection, Words};
use zerocopy::transmute;

/// Positions within a line.
const PLACES: Words = {
    let mut places = [0; LINE as usize];
    let mut place = 0;
    while place < LINE {
        places[place as usize] = place as u16;
        place += 1;
    }
    places
};

/// Picks the words of one line at a time with `vpcompressw`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
#[inline]
pub(super) fn avx512(group: &[Words; GROUP], wanted: Selection, found: &mut InWindow) {
    let places: __m512i = transmute!(PLACES);
    let echo_places = _mm512_xor_si512(places, _mm512_set1_epi16(wanted.twist as i16));
    let delay = _mm512_set1_epi16(wanted.delay as i16);
    let limit = _mm512_set1_epi16(wanted.limit as i16);
    // These variables are in registers, because the compiler must assume that stores to the lists change `found.count`.
    let (mut first, mut count) = (wanted.first, found.count);
    for &words in &group[..wanted.lines] {
        let touches: __m512i = transmute!(words);
        let echoes = _mm512_permutexvar_epi16(echo_places, touches);
        let oldest = _mm512_max_epu16(touches, _mm512_subs_epu16(echoes, delay));
        let within = _mm512_cmplt_epu16_mask(oldest, limit);
        let positions = _mm512_add_epi16(places, _mm512_set1_epi16(first as i16));
        // The result goes to a register first, because compressing directly to memory is slow on some processors.
        let packed = |words| -> Words { transmute!(_mm512_maskz_compress_epi16(within, words)) };
        let lists = [packed(positions), packed(touches), packed(echoes)];
        count = append(found, count, lists, within.count_ones());
        first = first.wrapping_add(LINE as u16);
    }
    found.count = count;
}

/// Picks 8 words at a time by shuffling bytes, with a table of all possible selections.
#[target_feature(enable = "avx2")]
pub(super) fn avx2(group: &[Words; GROUP], wanted: Selection, found: &mut InWindow) {
    let delay = _mm256_set1_epi16(wanted.delay as i16);
    let most = _mm256_set1_epi16((wanted.limit - 1) as i16);
    let (eight, twist) = (transmute!(FIRST_EIGHT), Twist::new(wanted.twist));
    let (mut first, mut count) = (wanted.first, found.count);
    for touches in &group[..wanted.lines] {
        let [low, high]: [__m256i; 2] = transmute!(*touches);
        let [echoes_low, echoes_high] = twist.of(low, high);
        let echoes: Words = transmute!([echoes_low, echoes_high]);
        // The `map` of arrays is not used here, because the compiler might not compile it for the caller's vectors.
        let low = _mm256_max_epu16(low, _mm256_subs_epu16(echoes_low, delay));
        let high = _mm256_max_epu16(high, _mm256_subs_epu16(echoes_high, delay));
        let low = _mm256_cmpeq_epi16(low, _mm256_min_epu16(low, most));
        let high = _mm256_cmpeq_epi16(high, _mm256_min_epu16(high, most));
        // The bytes are restored to the order of the words.
        let bytes = _mm256_permute4x64_epi64::<0xd8>(_mm256_packs_epi16(low, high));
        let within = _mm256_movemask_epi8(bytes).to_le_bytes();
        let eights = touches.as_chunks::<8>().0.iter().zip(echoes.as_chunks::<8>().0);
        for ((touches, echoes), within) in eights.zip(within) {
            let packing: __m128i = transmute!(PACKINGS[usize::from(within)]);
            let packed = |words: [u16; 8]| -> [u16; 8] {
                transmute!(_mm_shuffle_epi8(transmute!(words), packing))
            };
            let positions: [u16; 8] =
                transmute!(_mm_add_epi16(eight, _mm_set1_epi16(first as i16)));
            count = append(
                found,
                count,
                [packed(positions), packed(*touches), packed(*echoes)],
                within.count_ones(),
            );
            first = first.wrapping_add(8);
        }
    }
    found.count = count;
}

/// A permutation that moves each echo of a line to the position of its touch. The echo of the touch at position i is at
/// position `i ^ twist`.
#[derive(Clone, Copy)]
struct Twist {
    /// Order of the bytes within each group of 8 words, determined by the low three bits of the twist.
    bytes: __m256i,
    /// Whether the halves of each group of 16 words are exchanged.
    quarters: bool,
    /// Whether the halves of the line are exchanged.
    halves: bool,
}

impl Twist {
    #[target_feature(enable = "avx2")]
    fn new(twist: u32) -> Self {
        let mut bytes = [0; 32];
        let mut byte = 0;
        while byte < 32 {
            bytes[byte] = (byte as u8 % 16) ^ (2 * (twist as u8 & 7));
            byte += 1;
        }
        Self { bytes: transmute!(bytes), quarters: twist & 8 != 0, halves: twist & 16 != 0 }
    }

    #[target_feature(enable = "avx2")]
    fn of(self, low: __m256i, high: __m256i) -> [__m256i; 2] {
        let [low, high] = if self.halves { [high, low] } else { [low, high] };
        let low = _mm256_shuffle_epi8(low, self.bytes);
        let high = _mm256_shuffle_epi8(high, self.bytes);
        if !self.quarters {
            return [low, high];
        }
        [_mm256_permute4x64_epi64::<0x4e>(low), _mm256_permute4x64_epi64::<0x4e>(high)]
    }
}

const FIRST_EIGHT: [u16; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Byte orders that move the selected words in a group of 8 to the front. Bit i of the index is 1 if word i is
/// selected.
const PACKINGS: [[u8; 16]; 256] = {
    let mut packings = [[0; 16]; 256];
    let mut choice = 0;
    while choice < 256 {
        let (mut word, mut count) = (0, 0);
        while word < 8 {
            if choice >> word & 1 == 1 {
                packings[choice][2 * count] = 2 * word as u8;
                packings[choice][2 * count + 1] = 2 * word as u8 + 1;
                count += 1;
            }
            word += 1;
        }
        choice += 1;
    }
    packings
};

/// Appends the first `more` entries of each of the `lists` (positions, touches and echoes) to the first `count` entries
/// of `found`.
///
/// Returns the total number of entries.
#[inline(always)]
fn append<const N: usize>(
    found: &mut InWindow,
    count: usize,
    lists: [[u16; N]; 3],
    more: u32,
) -> usize {
    const { assert!(N <= STEP) };
    let [positions, touches, echoes] = lists;
    found.positions[count..][..N].copy_from_slice(&positions);
    found.touches[count..][..N].copy_from_slice(&touches);
    found.echoes[count..][..N].copy_from_slice(&echoes);
    count + more as usize
}
