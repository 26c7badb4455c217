//! A model of the default scheme. The counter follows docs/tagged-recorders.md, and the finder follows docs/design.md.
//!
//! This file covers sizes and epochs, hosts and regions, touches and echoes, ageing and merging. `counting` covers the
//! tally of a host's positions and the estimates that are computed from it. `finding` covers the cells, the candidates,
//! and the reconstruction of IPv6 hosts from cells.
//!
//! The ages in `cells` and `slea` are always relative to the running slice, `slice`.

mod counting;
mod finding;

use std::net::{IpAddr, Ipv6Addr};

use srlg_core::hash::{Key, KeySequence, reduce};
use srlg_core::{Config, ConfigError, IpPair, Limbs, Scheme};

use finding::name_bits;

pub use counting::{TaggedEstimate, TaggedTally};

/// Number of recorders in a line.
const LINE: u32 = 32;

// These constants are indices into the sequence of keys that the seed generates. The paper's scheme uses the other
// keys.
const POSITION_KEY: usize = 1;
const HOST_KEY: usize = 4;
const LINE_KEY: usize = 12;
const TAG_KEY: usize = 13;
const OWNER_KEY: usize = 14;
const PEER_KEY: usize = 15;
const PLACE_KEY: usize = 16;
const LIMB_KEYS: [usize; 2] = [17, 18];

/// The ID of an IPv4 or IPv6 host, as two 32-bit words. `lo` selects the lines of a host and identifies a peer. `hi`
/// determines the tags, and also the fingerprint of an IPv6 host.
#[derive(Clone, Copy)]
struct Id {
    lo: u32,
    hi: u32,
}

/// A region of a linear estimator. Every peer touches the fine region. A peer also touches the coarsest of the other
/// regions for which the lowest 16 bits of the peer's hash are a number below `parts`.
#[derive(Clone, Copy, Debug)]
struct Region {
    first: u32,
    /// Number of positions if every pair is counted.
    full: u32,
    /// Number of positions in use.
    width: u32,
    parts: u32,
}

impl Region {
    /// Returns the regions of a linear estimator, from the fine region of `width` positions to the coarsest region. If
    /// one pair in `share` is counted, the first whole lines of each region are in use, up to this part of it.
    fn all(width: u32, share: u32) -> Vec<Self> {
        let b = width.ilog2();
        let coarse: &[(u32, u32)] = match width {
            0..256 => &[],
            256..1024 => &[(width, 1 << (b - 6))],
            1024..16_384 => &[(8192, (1 << (b - 7)).min(48)), (4096, 1 << (b - 3))],
            _ => &[(32_768, 48), (8192, 1 << (b - 6))],
        };
        let mut first = 0;
        let all = [(width, 1)].into_iter().chain(coarse.iter().copied());
        all.map(|(full, c)| {
            let width = full / share / LINE * LINE;
            let region = Self { first, full, width, parts: 65_536 / c };
            first += full;
            region
        })
        .collect()
    }

    /// Returns the position that `hash` selects in this region, or `None` if the position is not in use.
    fn position(&self, hash: u32) -> Option<u32> {
        let within = reduce(hash, self.full);
        (within < self.width).then_some(self.first + within)
    }
}

/// A model of the default scheme: the cells and the SLEA as plain integers.
#[derive(Clone, Debug)]
pub struct TaggedModel {
    config: Config,
    keys: Vec<Key>,
    /// m: number of bits of a cell's index. There are 2^m cells.
    cell_bits: u32,
    /// Number of bits of an age in a cell.
    age_bits: u32,
    /// Number of slices in an epoch of the cells.
    cell_epoch: u64,
    /// E: number of slices in an epoch of the SLEA.
    epoch: u64,
    /// W: maximum number of ages in a window. The age in the word of an echo is W higher than the age in the word of
    /// its touch.
    window_ages: u32,
    /// T: number of tags. A word in the SLEA is `age * tags + tag`.
    tags: u32,
    lines: u32,
    regions: Vec<Region>,
    slice: u64,
    /// Words of all cells, by cell number.
    pub cells: Vec<u64>,
    /// Words of all recorders in the SLEA, line by line.
    pub slea: Vec<u16>,
}

impl TaggedModel {
    /// Creates a model for `config`. All recorders are untouched, and slice 0 is running.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first rule that `config` breaks.
    ///
    /// # Panics
    /// Panics if `config` does not have the tagged scheme.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let Scheme::Tagged { cell_bits, lines, tags } = config.scheme else {
            panic!("a tagged model needs the tagged scheme, got {:?}", config.scheme);
        };
        let window = config.window;
        let shortest_epoch = |most_ages: u32| match window <= most_ages {
            true => 1,
            false => window.div_ceil(most_ages - 1),
        };
        let epoch = shortest_epoch(0xffff / (2 * tags));
        let window_ages = if epoch == 1 { window } else { window.div_ceil(epoch) + 1 };
        let mut keys = KeySequence::new(config.seed);
        // The rest of a word consists of 32 bits for a peer, a bit for the family, and a name.
        let age_bits = 64 - 32 - 1 - name_bits(cell_bits);
        Ok(Self {
            config,
            keys: (0..=LIMB_KEYS[1]).map(|_| keys.next_key()).collect(),
            cell_bits,
            age_bits,
            cell_epoch: shortest_epoch((1 << age_bits) - 1).into(),
            epoch: epoch.into(),
            window_ages,
            tags: 0xffff / (2 * window_ages),
            lines,
            regions: Region::all(config.linear_width, config.share),
            slice: 0,
            cells: vec![u64::MAX; 1 << cell_bits],
            slea: vec![0xffff; (lines * LINE) as usize],
        })
    }

    /// Returns the number of the running slice.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// Touches the recorders of a pair whose contact was `late` slices ago. A sampled pair touches a cell. A pair
    /// writes a touch and an echo into the SLEA for each of its positions. A recorder keeps the smaller of its current
    /// word and the new word.
    pub fn touch(&mut self, pair: impl Into<IpPair>, late: u32) {
        let IpPair { inside, peer } = pair.into();
        let hosts = [host(inside), host(peer)];
        let [inside, peer] = hosts.map(|host| self.id(host));
        if let Some(slot) = self.slot(inside, peer) {
            let (place, word) = self.cell_word(hosts, slot, self.age(late, self.cell_epoch));
            self.cells[place] = word.min(self.cells[place]);
        }
        let (age, window_ages) = (self.age(late, self.epoch), u64::from(self.window_ages));
        for position in self.positions(inside, peer) {
            let [touch, echo] = self.places(inside, position);
            let [tag, echo_tag] = self.tags_of(inside, position);
            for (place, age, tag) in [(touch, age, tag), (echo, age + window_ages, echo_tag)] {
                let word = (age * u64::from(self.tags) + u64::from(tag)).min(0xffff) as u16;
                self.slea[place] = word.min(self.slea[place]);
            }
        }
    }

    /// Makes `slice` the running slice, and ages every recorder by the number of epochs that have started since the
    /// previous running slice.
    ///
    /// # Panics
    /// Panics if `slice` is before the running slice.
    pub fn advance_to(&mut self, slice: u64) {
        assert!(
            slice >= self.slice,
            "cannot advance to slice {slice}: slice {} is running",
            self.slice
        );
        let begun = |epoch: u64| (slice / epoch - self.slice / epoch).min(0xffff);
        let (cell_step, step) =
            (self.aged(begun(self.cell_epoch)), begun(self.epoch) * u64::from(self.tags));
        for word in &mut self.cells {
            *word = word.saturating_add(cell_step);
        }
        for word in &mut self.slea {
            *word = (u64::from(*word) + step).min(0xffff) as u16;
        }
        self.slice = slice;
    }

    /// Merges `other`, which must have the same configuration, into this model. Before the merge, a copy of `other` is
    /// aged to the running slice of this model.
    ///
    /// # Panics
    /// Panics if `other` is ahead of this model.
    pub fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        other.advance_to(self.slice);
        for (ours, theirs) in self.cells.iter_mut().zip(&other.cells) {
            *ours = (*ours).min(*theirs);
        }
        for (ours, theirs) in self.slea.iter_mut().zip(&other.slea) {
            *ours = (*ours).min(*theirs);
        }
    }

    fn hash(&self, word: u32, key: usize) -> u32 {
        self.config.hash.of(word, self.keys[key])
    }

    /// Returns the age of a contact that was `late` slices ago, in epochs of `epoch` slices. If the contact was before
    /// slice 0, the age is larger than all valid ages.
    fn age(&self, late: u32, epoch: u64) -> u64 {
        match self.slice.checked_sub(late.into()) {
            Some(then) => (self.slice / epoch - then / epoch).min(0xffff),
            None => 0xffff,
        }
    }

    /// Returns the positions of `host` that its contacts with `peer` touch: one in the fine region, and one in a coarse
    /// region if the peer belongs to one. Positions that are not in use are left out.
    ///
    /// The hash of a peer depends on the host, so that a popular peer touches different positions of different hosts,
    /// and hosts with the same peers do not have the same errors.
    fn positions(&self, host: Id, peer: Id) -> Vec<u32> {
        let hash = self.hash(peer.lo.wrapping_add(self.host_seed(host)), POSITION_KEY);
        let (fine, coarse) = self.regions.split_first().expect("a fine region");
        let coarse = coarse.iter().rfind(|region| hash % 65_536 < region.parts);
        [fine].into_iter().chain(coarse).filter_map(|region| region.position(hash)).collect()
    }

    /// Returns the indices of the recorders for the touch and for the echo of a position. Both recorders are in the
    /// same line. The xor of their indices is the twist of the host.
    fn places(&self, host: Id, position: u32) -> [usize; 2] {
        let twist = 1 + reduce(self.spread(host), LINE - 1);
        let line = self.hash(self.host_seed(host).wrapping_add(position / LINE), LINE_KEY);
        let touch = LINE * reduce(line, self.lines) + position % LINE;
        [touch as usize, (touch ^ twist) as usize]
    }

    /// Returns the bits of a host that determine its twist, and which of its pairs are sampled.
    fn spread(&self, host: Id) -> u32 {
        self.host_seed(host).wrapping_mul(0x9e37_79b1)
    }

    /// Returns the hash from which the lines of `host` are derived.
    fn host_seed(&self, host: Id) -> u32 {
        self.hash(host.lo, HOST_KEY)
    }

    fn tags_of(&self, host: Id, position: u32) -> [u32; 2] {
        let first = self.hash(host.hi, TAG_KEY);
        let second = self.hash(first, TAG_KEY);
        let factor = (first >> 16) as u16 | 1;
        let mut x = (position as u16 ^ first as u16).wrapping_mul(0x9e6d);
        x = (x ^ (x >> 7)).wrapping_mul(factor);
        x = (x ^ (x >> 9)).wrapping_add(second as u16).wrapping_mul(0xa2b5);
        let y = (x ^ (x >> 8)).wrapping_mul(factor);
        [x, y ^ (y >> 7)].map(|uniform| (u32::from(uniform) * self.tags) >> 16)
    }

    /// Returns the ID of `host`: the address of an IPv4 host twice, or two hashes of the address of an IPv6 host.
    fn id(&self, host: IpAddr) -> Id {
        match host {
            IpAddr::V4(host) => Id { lo: host.to_bits(), hi: host.to_bits() },
            IpAddr::V6(host) => {
                let keys = LIMB_KEYS.map(|key| self.keys[key]);
                let [lo, hi] = self.config.hash.of_limbs(words(host), &keys);
                Id { lo, hi }
            }
        }
    }

    /// Returns q, the probability that a peer touches a given position in use of the region with the index `region`.
    fn rate(&self, region: usize) -> f64 {
        let coarser = if region == 0 { None } else { self.regions.get(region + 1) };
        let parts = self.regions[region].parts - coarser.map_or(0, |coarser| coarser.parts);
        f64::from(parts) / 65_536.0 / f64::from(self.regions[region].full)
    }
}

/// Returns the four 32-bit words of an address, most significant word first.
fn words(host: Ipv6Addr) -> Limbs {
    [96, 64, 32, 0].map(|shift| (host.to_bits() >> shift) as u32)
}

/// Returns the host whose address consists of these words. An IPv4-mapped address becomes an IPv4 host.
fn host(words: Limbs) -> IpAddr {
    let bits = words.iter().fold(0u128, |bits, &word| bits << 32 | u128::from(word));
    Ipv6Addr::from_bits(bits).to_canonical()
}
