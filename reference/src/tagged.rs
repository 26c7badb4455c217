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
use srlg_core::{Config, ConfigError, Ip6Pair, Limbs, Scheme};

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

/// A region of a linear estimator. A peer touches the coarsest region for which the lowest s bits of the peer's hash
/// are 0.
#[derive(Clone, Copy, Debug)]
struct Region {
    first: u32,
    width: u32,
    s: u32,
}

impl Region {
    /// Returns the regions of a linear estimator, from the fine region of `width` positions to the coarsest region.
    fn all(width: u32) -> Vec<Self> {
        let coarse: &[(u32, u32)] = match width {
            0..256 => &[],
            256..1024 => &[(width, width.ilog2() - 6)],
            1024..16_384 => &[(4096, width.ilog2() - 7), (4096, width.ilog2() - 3)],
            _ => &[(8192, width.ilog2() - 6)],
        };
        let mut regions = vec![Self { first: 0, width, s: 0 }];
        for &(width, s) in coarse {
            let before = regions[regions.len() - 1];
            regions.push(Self { first: before.first + before.width, width, s });
        }
        regions
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
            regions: Region::all(config.linear_width),
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

    /// Touches the recorders of a pair whose contact was `late` slices ago. A sampled pair touches a cell. Every pair
    /// writes a touch and an echo into the SLEA. A recorder keeps the smaller of its current word and the new word.
    pub fn touch(&mut self, pair: impl Into<Ip6Pair>, late: u32) {
        let Ip6Pair { inside, peer } = pair.into();
        let hosts = [host(inside), host(peer)];
        let [inside, peer] = hosts.map(|host| self.id(host));
        if let Some(slot) = self.slot(inside, peer) {
            let (place, word) = self.cell_word(hosts, slot, self.age(late, self.cell_epoch));
            self.cells[place] = word.min(self.cells[place]);
        }
        let position = self.position(inside, peer);
        let (age, window_ages) = (self.age(late, self.epoch), u64::from(self.window_ages));
        let [touch, echo] = self.places(inside, position);
        let [tag, echo_tag] = self.tags_of(inside, position);
        for (place, age, tag) in [(touch, age, tag), (echo, age + window_ages, echo_tag)] {
            let word = (age * u64::from(self.tags) + u64::from(tag)).min(0xffff) as u16;
            self.slea[place] = word.min(self.slea[place]);
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

    /// Returns z, the position of `host` that its contacts with `peer` touch. The position is in the coarsest
    /// region for which the lowest s bits of the peer's hash are 0. The position is xored with bits of the host, so
    /// that a popular peer touches different positions of different hosts.
    fn position(&self, host: Id, peer: Id) -> u32 {
        let hash = self.hash(peer.lo, POSITION_KEY);
        let is_chosen = |region: &&Region| hash.is_multiple_of(1 << region.s);
        let Region { first, width, .. } =
            *self.regions.iter().rfind(is_chosen).expect("the fine region has s = 0");
        (first + reduce(hash, width)) ^ (self.spread(host) % LINE)
    }

    /// Returns the indices of the recorders for the touch and for the echo of a position. Both recorders are in the
    /// same line. The xor of their indices is the twist of the host.
    fn places(&self, host: Id, position: u32) -> [usize; 2] {
        let twist = 1 + reduce(self.spread(host), LINE - 1);
        let line = self.hash(self.host_seed(host).wrapping_add(position / LINE), LINE_KEY);
        let touch = LINE * reduce(line, self.lines) + position % LINE;
        [touch as usize, (touch ^ twist) as usize]
    }

    /// Returns the bits of a host that determine its twist, the order of its positions in a line, and which of its
    /// pairs are sampled.
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

    /// Returns p, the share of peers that touch the region with the index `region`.
    fn share(&self, region: usize) -> f64 {
        let from =
            |region: usize| self.regions.get(region).map_or(0.0, |it| 0.5f64.powi(it.s as i32));
        from(region) - from(region + 1)
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
