//! IPv6 hosts in cells: each cell of a host contains one value of a polynomial, and any four cells of a host spell its
//! address.
//!
//! The four 32-bit words of an address are the coefficients of a polynomial of degree 3 over GF(2^32). The cell of slot
//! j contains the *symbol*, the value of the polynomial at j + 1. Four values at different points determine the
//! polynomial, which is computed by Newton's divided differences. The low bits of the cell number are the slot, so
//! different cells of a host have different points.
//!
//! Cells that may belong to one host are grouped by a fingerprint of at least 20 bits. In a full array of 2^18 cells in
//! which each host holds four, about 3 % of the groups contain cells of two or more hosts. If four cells do not all
//! belong to one host, they spell an address whose fingerprint or cell numbers do not match the cells. The search then
//! tries a different set of four cells.

use super::params::{CellsParams, PEER_BITS, SLOTS};
use crate::hash::mix64;
use crate::ids::HostId;
use crate::pair::{Limbs, unmapped};

/// Number of cells that spell an address.
pub const SPELLING: usize = 4;

/// Maximum number of sets of four cells to try, as a multiple of the number of cells in a group. In groups of up to 13
/// cells, all sets are tried.
const TRIES_PER_CELL: u64 = 64;

/// Maximum number of cells of a group from which sets of four are formed: the cells of four hosts. Larger groups do not
/// occur by chance, but can be forged.
const MOST_TRIED: usize = 4 * SLOTS as usize;

/// Number of bits of a point, which is a number from 1 to [`SLOTS`].
const POINT_BITS: u32 = SLOTS.ilog2() + 1;

/// Returns the product in GF(2^32) of `x` and a `point`.
///
/// The reduction polynomial of the field is x^32 + x^22 + x^2 + x + 1.
#[inline(always)]
const fn times(x: u32, point: u32) -> u32 {
    let (mut product, mut bit) = (0, POINT_BITS);
    while bit > 0 {
        bit -= 1;
        let carry = (product >> 31) * 0x0040_0007;
        product = (product << 1) ^ carry ^ (x * (point >> bit & 1));
    }
    product
}

/// Returns the product of two elements of GF(2^32). The product is reduced after the loop, so the steps of the loop are
/// independent. Only the CPU calls this function, for spelling.
const fn product(x: u32, y: u32) -> u32 {
    let (mut product, mut bit) = (0u64, 0);
    while bit < u32::BITS {
        product ^= (x as u64 & (y as u64 >> bit & 1).wrapping_neg()) << bit;
        bit += 1;
    }
    // The part above 32 bits is replaced by its product with x^22 + x^2 + x + 1. Each round shortens it by ten bits.
    let mut rounds = 4;
    while rounds > 0 {
        let high = product >> 32;
        product = product & 0xffff_ffff ^ high ^ high << 1 ^ high << 2 ^ high << 22;
        rounds -= 1;
    }
    product as u32
}

/// Returns the inverse of `x` in GF(2^32), which is x^(2^32 - 2). `x` must not be 0.
const fn inverse(x: u32) -> u32 {
    let (mut power, mut square) = (1, x);
    let mut bit = 1;
    while bit < u32::BITS {
        square = product(square, square);
        power = product(power, square);
        bit += 1;
    }
    power
}

/// Inverses of all sums of two different points, indexed by the sum. Entry 0 is unused.
const INVERSES: [u32; 1 << POINT_BITS] = {
    let mut inverses = [0; 1 << POINT_BITS];
    let mut sum = 1;
    while sum < inverses.len() {
        inverses[sum] = inverse(sum as u32);
        sum += 1;
    }
    inverses
};

#[inline(always)]
fn symbol([a, b, c, d]: Limbs, slot: u32) -> u32 {
    let at = |x| times(x, slot + 1);
    at(at(at(d) ^ c) ^ b) ^ a
}

/// Returns the address whose symbols in `slots` are `symbols`. All slots must differ.
fn spell(slots: [u32; SPELLING], symbols: [u32; SPELLING]) -> Limbs {
    let mut differences = symbols;
    for level in 1..SPELLING {
        for i in (level..SPELLING).rev() {
            let gap = INVERSES[((slots[i] + 1) ^ (slots[i - level] + 1)) as usize];
            differences[i] = product(differences[i] ^ differences[i - 1], gap);
        }
    }
    // Horner's rule for polynomials multiplies by (x - point) and adds the next difference.
    let mut limbs = [differences[SPELLING - 1], 0, 0, 0];
    for i in (0..SPELLING - 1).rev() {
        for k in (0..SPELLING).rev() {
            let lower = if k == 0 { differences[i] } else { limbs[k - 1] };
            limbs[k] = lower ^ times(limbs[k], slots[i] + 1);
        }
    }
    limbs
}

impl CellsParams {
    /// Returns the cell number and the word for a contact of the IPv6 `host` in `slot`, `age` epochs ago.
    #[inline(always)]
    pub(super) fn touch_of_id(&self, host: Limbs, id: HostId, slot: u32, age: u32) -> (u32, u64) {
        let spread = id.lo.wrapping_add(slot.wrapping_mul(0x9e37_79b1));
        let place = self.hash.of(spread, self.place_key) >> (u32::BITS - self.bank_bits());
        let bank = self.hash.of(id.lo, self.owner_key) >> 1 >> (u32::BITS - 1 - self.banks());
        let place = bank << self.bank_bits() | place & !(SLOTS - 1) | slot;
        let name = 1 << self.name_bits() | self.fingerprint(id);
        let body = u64::from(name) << PEER_BITS | u64::from(symbol(host, slot));
        (place, self.word(place, body, age))
    }

    #[inline(always)]
    fn fingerprint(&self, id: HostId) -> u32 {
        self.hash.of(id.hi, self.owner_key) >> (u32::BITS - self.name_bits())
    }

    /// Calls `each` for every IPv6 host that the search finds in `cells`. The second argument is the number of the
    /// host's cells, which is at least [`SPELLING`].
    ///
    /// `cells` contains the numbers and words of cells that have the same fingerprint. The function reorders `cells`.
    pub fn spell(&self, mut cells: &mut [(u32, u64)], mut each: impl FnMut(Limbs, u32)) {
        // Sorting makes the result independent of the order of the cells.
        cells.sort_unstable();
        let mut tries = TRIES_PER_CELL * cells.len().min(MOST_TRIED) as u64;
        while let Some((host, own)) = self.spell_one(cells, &mut tries) {
            each(host, own as u32);
            cells = &mut cells[own..];
        }
    }

    /// Returns a host that four of `cells` spell, and the number of its cells. Moves the host's cells to the front of
    /// `cells`. At most `tries` sets of four cells are tried, and `tries` is decremented for each set.
    fn spell_one(&self, cells: &mut [(u32, u64)], tries: &mut u64) -> Option<(Limbs, usize)> {
        let fours = choose(cells.len().min(MOST_TRIED) as u64, SPELLING as u64);
        let most = *tries;
        (0..fours.min(most)).find_map(|number| {
            *tries -= 1;
            // If there are few sets, all sets are tried in order. If there are many, random sets are tried.
            let four = combination(if fours <= most { number } else { mix64(number) % fours });
            let host = self.try_four(four.map(|i| cells[i]))?;
            let id = self.id_keys.id(self.hash, host);
            let is_own = |&(place, word): &(u32, u64)| {
                self.touch_of_id(host, id, place % SLOTS, self.age(word)) == (place, word)
            };
            // For most incorrect sets, the first cell already contradicts the address.
            if !is_own(&cells[four[0]]) {
                return None;
            }
            let own = partition(cells, is_own);
            (own >= SPELLING).then_some((host, own))
        })
    }

    /// Returns the address that `cells` spell, or `None` if a slot occurs twice or the address is IPv4-mapped.
    fn try_four(&self, cells: [(u32, u64); SPELLING]) -> Option<Limbs> {
        let slots = cells.map(|(place, _)| place % SLOTS);
        let is_twice = |i: usize| slots[..i].contains(&slots[i]);
        if (1..SPELLING).any(is_twice) {
            return None;
        }
        let limbs = spell(slots, cells.map(|(place, word)| self.body(place, word) as u32));
        // The cells of IPv4 hosts do not contain symbols.
        unmapped(limbs).is_none().then_some(limbs)
    }
}

fn choose(n: u64, k: u64) -> u64 {
    (0..k).fold(1, |ways, i| ways * n.saturating_sub(i) / (i + 1))
}

/// Returns combination number `rank` of four different numbers. Combinations are ordered by their largest number, then
/// by the next largest, and so on. The first `choose(n, 4)` combinations consist of numbers below n.
fn combination(mut rank: u64) -> [usize; SPELLING] {
    core::array::from_fn(|i| {
        let k = (SPELLING - i) as u64;
        let mut largest = k - 1;
        while choose(largest + 1, k) <= rank {
            largest += 1;
        }
        rank -= choose(largest, k);
        largest as usize
    })
}

fn partition(cells: &mut [(u32, u64)], own: impl Fn(&(u32, u64)) -> bool) -> usize {
    let mut count = 0;
    for i in 0..cells.len() {
        if own(&cells[i]) {
            cells.swap(count, i);
            count += 1;
        }
    }
    count
}
