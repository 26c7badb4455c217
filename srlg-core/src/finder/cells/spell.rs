//! IPv6 hosts in cells: each cell of a host holds a value of one polynomial, and any four of them
//! spell the address.
//!
//! The four 32-bit words of an address are the coefficients of a polynomial of degree 3 over GF(2^32); the
//! cell of slot j holds its value at j + 1, the *symbol*. Four values at different points determine the
//! polynomial (Lagrange; here by Newton's divided differences). The slot is the low bits of the number of the
//! cell, so cells of a host in different places have different points.
//!
//! A fingerprint of 20 bits or more says which cells may be of one host. Some 3 % of groups of equal
//! fingerprints hold a stranger; four cells that are not of one host spell an address with another
//! fingerprint or other places, and other fours are tried.

use super::params::{CellsParams, PEER_BITS, SLOTS};
use crate::hash::mix64;
use crate::ids::HostId;
use crate::pair::{Limbs, unmapped};

/// Cells that spell an address.
pub const SPELLING: usize = 4;

/// Fours of a group that are tried, per cell in it: all fours of up to thirteen cells.
const TRIES_PER_CELL: u64 = 64;

/// Cells of a group whose fours are tried: as many as four hosts have at most. Chance makes no larger groups; somebody who
/// makes words up may.
const MOST_TRIED: usize = 4 * SLOTS as usize;

/// Bits of a point: 1 to [`SLOTS`].
const POINT_BITS: u32 = SLOTS.ilog2() + 1;

/// The product in GF(2^32) of `x` and a `point`. The field's polynomial is x^32 + x^22 + x^2 + x + 1.
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

/// The product of any two. No bit waits for another, which takes 64 bits: for spelling, on the CPU alone.
const fn product(x: u32, y: u32) -> u32 {
    let (mut product, mut bit) = (0u64, 0);
    while bit < u32::BITS {
        product ^= (x as u64 & (y as u64 >> bit & 1).wrapping_neg()) << bit;
        bit += 1;
    }
    // What is above 32 bits is that times x^22 + x^2 + x + 1: each round leaves ten bits less above them.
    let mut rounds = 4;
    while rounds > 0 {
        let high = product >> 32;
        product = product & 0xffff_ffff ^ high ^ high << 1 ^ high << 2 ^ high << 22;
        rounds -= 1;
    }
    product as u32
}

/// The inverse of `x`, which is not 0: x^(2^32 - 2).
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

/// The inverses of all sums of two different points; the first is of none.
const INVERSES: [u32; 1 << POINT_BITS] = {
    let mut inverses = [0; 1 << POINT_BITS];
    let mut sum = 1;
    while sum < inverses.len() {
        inverses[sum] = inverse(sum as u32);
        sum += 1;
    }
    inverses
};

/// The symbol of an address in a slot.
#[inline(always)]
fn symbol([a, b, c, d]: Limbs, slot: u32) -> u32 {
    let at = |x| times(x, slot + 1);
    at(at(at(d) ^ c) ^ b) ^ a
}

/// The address of which `symbols` are those in `slots`, all different.
fn spell(slots: [u32; SPELLING], symbols: [u32; SPELLING]) -> Limbs {
    let mut differences = symbols;
    for level in 1..SPELLING {
        for i in (level..SPELLING).rev() {
            let gap = INVERSES[((slots[i] + 1) ^ (slots[i - level] + 1)) as usize];
            differences[i] = product(differences[i] ^ differences[i - 1], gap);
        }
    }
    // Horner's rule for polynomials: times (x - point), plus the next difference.
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
    /// The cell and the word of contacts of an IPv6 `host` with that `id` in a slot, `age` epochs ago.
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

    /// Calls `each` with the IPv6 hosts that `cells`, numbers and words of cells of one fingerprint, spell,
    /// and with how many of them each holds: at least [`SPELLING`]. Reorders `cells`.
    pub fn spell(&self, mut cells: &mut [(u32, u64)], mut each: impl FnMut(Limbs, u32)) {
        // Whatever the order was: the answer does not depend on it.
        cells.sort_unstable();
        let mut tries = TRIES_PER_CELL * cells.len().min(MOST_TRIED) as u64;
        while let Some((host, own)) = self.spell_one(cells, &mut tries) {
            each(host, own as u32);
            cells = &mut cells[own..];
        }
    }

    /// A host that four of `cells` spell, and how many of them it holds, which are moved to the front; after `tries`
    /// at most, less those that it took.
    fn spell_one(&self, cells: &mut [(u32, u64)], tries: &mut u64) -> Option<(Limbs, usize)> {
        let fours = choose(cells.len().min(MOST_TRIED) as u64, SPELLING as u64);
        let most = *tries;
        (0..fours.min(most)).find_map(|number| {
            *tries -= 1;
            // All in turn where they are few, random ones else.
            let four = combination(if fours <= most { number } else { mix64(number) % fours });
            let host = self.try_four(four.map(|i| cells[i]))?;
            let id = self.id_keys.id(self.hash, host);
            let is_own = |&(place, word): &(u32, u64)| {
                self.touch_of_id(host, id, place % SLOTS, self.age(word)) == (place, word)
            };
            // What no host was spelt with does not get past its first cell.
            if !is_own(&cells[four[0]]) {
                return None;
            }
            let own = partition(cells, is_own);
            (own >= SPELLING).then_some((host, own))
        })
    }

    /// The host that these cells spell; `None` where a slot comes twice.
    fn try_four(&self, cells: [(u32, u64); SPELLING]) -> Option<Limbs> {
        let slots = cells.map(|(place, _)| place % SLOTS);
        let is_twice = |i: usize| slots[..i].contains(&slots[i]);
        if (1..SPELLING).any(is_twice) {
            return None;
        }
        let limbs = spell(slots, cells.map(|(place, word)| self.body(place, word) as u32));
        // A host of IPv4 holds cells of its own kind.
        unmapped(limbs).is_none().then_some(limbs)
    }
}

/// `n` over `k`.
fn choose(n: u64, k: u64) -> u64 {
    (0..k).fold(1, |ways, i| ways * n.saturating_sub(i) / (i + 1))
}

/// Combination number `rank` of four different numbers, in the order of the largest first: those below n are
/// the first n over 4.
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

/// Moves the `cells` that are `own` to the front, and returns how many.
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
