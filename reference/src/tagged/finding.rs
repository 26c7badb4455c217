//! Cells, candidates and super points, and the polynomial over GF(2^32) that encodes an IPv6 host in cells.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use srlg_core::Limbs;

use super::{Id, host, words};
use super::{OWNER_KEY, PEER_KEY, PLACE_KEY, POSITION_KEY, TaggedEstimate, TaggedModel};

/// η: number of slots per host.
const SLOTS: u32 = 64;

/// Number of low bits in which the cell numbers of an IPv6 host can differ. The bits above them are the bank of the
/// host.
const BANK_BITS: u32 = 18;

/// The owner of a cell: an IPv4 host, or all IPv6 hosts with a certain fingerprint and bank.
enum Owner {
    V4(Ipv4Addr),
    V6 { fingerprint: u32, bank: u32 },
}

/// A cell of an IPv6 host: its number and its symbol.
type Point = (u32, u32);

impl TaggedModel {
    /// Returns the super points: the hosts in `candidates` whose estimate is at least θ. The largest estimate comes
    /// first. If the counter is crowded, only hosts that are clearly super points are returned.
    ///
    /// To save time, the fast code first dismisses hosts by their glimpse. At θ = 1024, this dismisses at most
    /// three in 100,000 hosts that have θ peers.
    #[must_use]
    pub fn super_points(&self, candidates: &[IpAddr]) -> Vec<(IpAddr, TaggedEstimate)> {
        let estimate = |&host| (host, self.estimate(host, self.config.window));
        let mut points: Vec<_> = candidates.iter().map(estimate).collect();
        points.retain(|(_, n)| n.cardinality >= f64::from(self.config.threshold));
        if points.iter().any(|&(host, _)| self.seems_crowded(host)) && self.load() > 4.0 {
            points.retain(|&(host, n)| self.is_clear(host, n));
        }
        points.sort_by(|a, b| b.1.cardinality.total_cmp(&a.1.cardinality).then(a.0.cmp(&b.0)));
        points
    }

    /// Returns the candidates in ascending order: hosts that hold at least [`c_min`](Self::c_min) cells in the window.
    /// An IPv6 host also needs at least four cells.
    #[must_use]
    pub fn candidates(&self) -> Vec<IpAddr> {
        let (ages, _) = self.span(self.config.window, self.cell_epoch);
        let mut v4: BTreeMap<Ipv4Addr, u32> = BTreeMap::new();
        let mut v6: BTreeMap<(u32, u32), Vec<Point>> = BTreeMap::new();
        for (place, &word) in (0..).zip(&self.cells) {
            if self.cell_age(word) < ages {
                match self.owner(place, word) {
                    Owner::V4(host) => *v4.entry(host).or_default() += 1,
                    Owner::V6 { fingerprint, bank } => {
                        let symbol = self.body(place, word) as u32;
                        v6.entry((bank, fingerprint)).or_default().push((place, symbol));
                    }
                }
            }
        }
        let c_min = self.c_min();
        let v4 = v4.into_iter().filter(|&(_, count)| count >= c_min);
        let mut candidates: Vec<IpAddr> = v4.map(|(host, _)| host.into()).collect();
        for ((_, fingerprint), points) in v6 {
            let spelt = self.spelt(fingerprint, points).into_iter();
            candidates.extend(spelt.filter(|&(_, count)| count >= c_min).map(|(host, _)| host));
        }
        candidates.sort_unstable();
        candidates
    }

    /// Returns the hosts that can be recovered from four of the `points` of a fingerprint, and the number of points of
    /// each host.
    fn spelt(&self, fingerprint: u32, mut points: Vec<Point>) -> Vec<(IpAddr, u32)> {
        let mut spelt = Vec::new();
        'again: loop {
            for four in fours(points.len()) {
                let four = four.map(|it| points[it]);
                let slots = four.map(|(place, _)| place % SLOTS);
                if (1..4).any(|it| slots[..it].contains(&slots[it])) {
                    continue;
                }
                let limbs = solve(four.map(|(place, symbol)| (place % SLOTS, symbol)));
                let is_own = |&(place, is): &Point| {
                    let (id, slot) = (self.id(host(limbs)), place % SLOTS);
                    let is_of_host = self.fingerprint(id) == fingerprint;
                    is_of_host && self.place(id, slot) == place && symbol(limbs, slot) == is
                };
                if four.iter().all(is_own) {
                    let own = points.iter().filter(|point| is_own(point)).count();
                    points.retain(|point| !is_own(point));
                    spelt.push((host(limbs), own as u32));
                    continue 'again;
                }
            }
            return spelt;
        }
    }

    /// Returns the largest number c such that a host with θ peers holds at least c cells with a probability of at least
    /// 1 - 1.3e-4. The result is never below 2.
    #[must_use]
    pub fn c_min(&self) -> u32 {
        let p = self.visible();
        let chance = |cells: u32| {
            let ways =
                (0..cells).fold(1.0, |ways, i| ways * f64::from(SLOTS - i) / f64::from(i + 1));
            ways * p.powi(cells as i32) * (1.0 - p).powi((SLOTS - cells) as i32)
        };
        let below = |c_min: u32| (0..c_min).map(chance).sum::<f64>();
        (3..=SLOTS).take_while(|&c_min| below(c_min) <= 1.3e-4).last().unwrap_or(2)
    }

    /// Returns p, the probability that a slot of a host with θ peers is visible. The contacts of the host are assumed
    /// to be spread evenly over the slices of the window.
    fn visible(&self) -> f64 {
        let window = self.config.window;
        let samples = f64::from(self.config.threshold) / f64::from(SLOTS << self.tau());
        // The window may extend before slice 0, where there were no contacts.
        let epoch =
            |late: u32| (self.slice as i64 - i64::from(late)).div_euclid(self.cell_epoch as i64);
        let (ages, _) = self.span(window, self.cell_epoch);
        // This is the share of the cells that were not touched at a smaller age. If there is no such cell, half a cell
        // is counted.
        let free = |age: usize| {
            let count = self.cells.iter().filter(|&&word| self.cell_age(word) >= age).count();
            (count as f64).max(0.5) / self.cells.len() as f64
        };
        let mut none_before = 1.0;
        let mut visible = 0.0;
        for number in 0..ages {
            let slices =
                (0..window).filter(|&late| epoch(0) - epoch(late) == number as i64).count();
            let none = libm::exp(-samples * slices as f64 / f64::from(window));
            // The host and the other hosts that touched the cell at the same age win a tie with equal probability.
            let (before, after) = (free(number), free(number + 1));
            let won = (before - after) / libm::log(before / after);
            visible += none_before * (1.0 - none) * if before == after { before } else { won };
            none_before *= none;
        }
        visible
    }

    /// Returns the slot of a pair, or `None` if the pair is not sampled. One pair in 2^τ is sampled.
    pub(super) fn slot(&self, host: Id, peer: Id) -> Option<u32> {
        let peer = self.hash(peer.lo, POSITION_KEY);
        let mut hash = self.spread(host) ^ peer;
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        (hash.leading_zeros() >= self.tau()).then_some(hash >> 12 & (SLOTS - 1))
    }

    /// Returns τ. If θ is below 64, all pairs are sampled. Otherwise, 32 to 64 pairs of a host with θ peers are sampled
    /// on average.
    fn tau(&self) -> u32 {
        (self.config.threshold / 32).max(1).ilog2()
    }

    /// Returns the number of the cell that a pair touches in `slot`, and the word that the pair writes. The bits of the
    /// word below the age are the body xored with the veil of the cell.
    pub(super) fn cell_word(&self, [host, peer]: [IpAddr; 2], slot: u32, age: u64) -> (usize, u64) {
        let (place, body) = match host {
            IpAddr::V4(host) => self.v4_cell(host, peer, slot),
            IpAddr::V6(address) => {
                let (id, family) = (self.id(host), 1 << name_bits(self.cell_bits));
                let name: u32 = family | self.fingerprint(id);
                (
                    self.place(id, slot),
                    u64::from(name) << 32 | u64::from(symbol(words(address), slot)),
                )
            }
        };
        (place as usize, self.aged(age).saturating_add(body ^ self.veil(place)))
    }

    /// Returns the number of the cell for a slot of an IPv4 host, and the body of the cell's word.
    ///
    /// A keyed bijection maps the host to an image. The low bits of the image and the slot form the name. The high
    /// bits, xored with a hash of the name, are the cell number. The name and the cell number therefore determine the
    /// host.
    fn v4_cell(&self, host: Ipv4Addr, peer: IpAddr, slot: u32) -> (u32, u64) {
        let image = self.config.hash.scramble(host.to_bits(), self.keys[OWNER_KEY]);
        let (high, low) =
            (image >> (32 - self.cell_bits), image & ((1 << (32 - self.cell_bits)) - 1));
        let name = low * SLOTS + slot;
        let is_ipv6 = peer.is_ipv6();
        let (host, mut peer) = (self.id(host.into()), self.id(peer).lo);
        if is_ipv6 {
            // An IPv6 peer does not fit into a cell. It is replaced by the first following address that, as a peer of
            // the host, would not belong to this slot.
            let is_shown = |peer: u32| self.slot(host, Id { lo: peer, hi: peer }) == Some(slot);
            while is_shown(peer) {
                peer = peer.wrapping_add(1);
            }
        }
        let peer = self.config.hash.scramble(peer, self.keys[PEER_KEY]);
        (high ^ self.shift(name), u64::from(name) << 32 | u64::from(peer))
    }

    /// Returns the number of the cell for a slot of an IPv6 host. The lowest bits of the number are the slot, and the
    /// bits above the lowest `BANK_BITS` bits are the bank of the host.
    fn place(&self, id: Id, slot: u32) -> u32 {
        let bank_bits = self.cell_bits.min(BANK_BITS);
        let bank = u64::from(self.hash(id.lo, OWNER_KEY)) >> (32 - (self.cell_bits - bank_bits));
        let slot_key = id.lo.wrapping_add(slot.wrapping_mul(0x9e37_79b1));
        let in_bank = self.hash(slot_key, PLACE_KEY) >> (32 - bank_bits);
        ((bank as u32) << bank_bits) + in_bank / SLOTS * SLOTS + slot
    }

    /// Returns the fingerprint of an IPv6 host, which is the same in all of its cells.
    fn fingerprint(&self, id: Id) -> u32 {
        self.hash(id.hi, OWNER_KEY) >> (32 - name_bits(self.cell_bits))
    }

    fn owner(&self, place: u32, word: u64) -> Owner {
        let (name, names) = ((self.body(place, word) >> 32) as u32, 1 << name_bits(self.cell_bits));
        if name >= names {
            return Owner::V6 { fingerprint: name - names, bank: place >> BANK_BITS };
        }
        let image = ((place ^ self.shift(name)) << (32 - self.cell_bits)) | (name / SLOTS);
        Owner::V4(Ipv4Addr::from_bits(self.config.hash.unscramble(image, self.keys[OWNER_KEY])))
    }

    /// Returns the body of a cell's word: the bits below the age, without the veil.
    fn body(&self, place: u32, word: u64) -> u64 {
        (word & (u64::MAX >> self.age_bits)) ^ self.veil(place)
    }

    fn cell_age(&self, word: u64) -> usize {
        (word >> (64 - self.age_bits)) as usize
    }

    /// Returns the amount that `age` adds to a word, limited to the maximum of a word.
    pub(super) fn aged(&self, age: u64) -> u64 {
        age.saturating_mul(1 << (64 - self.age_bits))
    }

    /// Returns the hash of a name. The high bits of the image are xored with it to compute the cell number.
    fn shift(&self, name: u32) -> u32 {
        self.hash(name, PLACE_KEY) >> (32 - self.cell_bits)
    }

    /// Returns the veil of a cell. Bodies are xored with it, so that the winner of a tie between two hosts depends on
    /// the cell.
    fn veil(&self, place: u32) -> u64 {
        (u64::from(place) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.age_bits
    }
}

/// Returns all sets of four distinct numbers below `count`.
fn fours(count: usize) -> impl Iterator<Item = [usize; 4]> {
    let of_three = move |a, b, c| (c + 1..count).map(move |d| [a, b, c, d]);
    let of_two = move |a, b| (b + 1..count).flat_map(move |c| of_three(a, b, c));
    (0..count).flat_map(move |a| (a + 1..count).flat_map(move |b| of_two(a, b)))
}

/// Returns the number of bits of a name.
pub(super) fn name_bits(cell_bits: u32) -> u32 {
    (32 - cell_bits + SLOTS.ilog2()).max(20)
}

/// Polynomial of the field: x^32 + x^22 + x^2 + x + 1. Bit i represents x^i.
const FIELD: u64 = 1 << 32 | 1 << 22 | 0b111;

/// Returns the product of two polynomials over GF(2), modulo the polynomial of the field.
fn product(a: u32, b: u32) -> u32 {
    let mut product = (0..32)
        .filter(|&bit| b >> bit & 1 == 1)
        .fold(0u64, |product, bit| product ^ u64::from(a) << bit);
    for bit in (32..64).rev() {
        if product >> bit & 1 == 1 {
            product ^= FIELD << (bit - 32);
        }
    }
    product as u32
}

fn power(x: u32, exponent: u32) -> u32 {
    (0..32).rev().fold(1, |power, bit| {
        let square = product(power, power);
        if exponent >> bit & 1 == 1 { product(square, x) } else { square }
    })
}

/// Returns the inverse of `x`, which must not be 0. Because x^(2^32 - 1) is 1, the inverse is x^(2^32 - 2).
fn inverse(x: u32) -> u32 {
    power(x, u32::MAX - 1)
}

/// Returns the symbol of `host` in the cell of a slot. The words of the host are the coefficients of a polynomial, from
/// degree 0 upwards. The symbol is the value of this polynomial at slot + 1.
fn symbol(host: Limbs, slot: u32) -> u32 {
    let terms = (0..).zip(host).map(|(exponent, word)| product(word, power(slot + 1, exponent)));
    terms.fold(0, |sum, term| sum ^ term)
}

/// Returns the host that has these symbols in these slots. All slots must differ.
fn solve(points: [(u32, u32); 4]) -> Limbs {
    // A row contains the powers of slot + 1, followed by the symbol of the slot.
    let mut rows = points.map(|(slot, symbol)| {
        let mut row = [symbol; 5];
        (0..4).for_each(|exponent| row[exponent as usize] = power(slot + 1, exponent));
        row
    });
    for column in 0..4 {
        let pivot = (column..4).find(|&row| rows[row][column] != 0);
        rows.swap(column, pivot.expect("points in different slots have one solution"));
        let scale = inverse(rows[column][column]);
        rows[column] = rows[column].map(|it| product(it, scale));
        let subtracted = rows[column];
        for row in (0..4).filter(|&row| row != column) {
            let times = rows[row][column];
            (0..5).for_each(|it| rows[row][it] ^= product(times, subtracted[it]));
        }
    }
    rows.map(|row| row[4])
}
