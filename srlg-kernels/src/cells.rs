//! The kernels that count the cells of each host when a slice closes, and list the candidates.

use core::sync::atomic::Ordering::Relaxed;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::list::next;
use crate::{Body, CountCells, Grid, ListHeld, ListHolders, ListKept, Slices, owners};
use srlg_core::finder::cells::Owner;
use srlg_core::{HostId, ReadRecorder, Recorder};

/// Bit that is set in an entry of a candidate list if the entry is the index of a kept host. If the bit is not set, the
/// entry is the [key](Owner::key) of an owner.
pub const KEPT: u64 = 1 << 63;

/// A host that is always a candidate.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct KeptHost {
    /// [Key](Owner::key) of the host, or 0 for an IPv6 host, because one cell does not determine an IPv6 address.
    pub key: u64,
    /// ID of the host.
    pub id: HostId,
}

impl Body for CountCells<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for place in grid.of_all(self.cells.len()) {
            let word = self.cells[place].word();
            let (age, of_one) = (self.params.age(word) as usize, self.ages.len() / 2);
            if age < of_one {
                let owner = self.params.owner(place as u32, word);
                let of_family = age + usize::from(owner.is_fingerprint()) * of_one;
                self.ages[of_family].fetch_add(1, Relaxed);
                owners::count(&self.params, self.keys, self.counts, owner);
            }
        }
    }
}

/// Adds a host to the list of candidates of `$kernel`, if the list is not full.
macro_rules! list {
    ($kernel:expr, $entry:expr, $cells:expr, $host:expr) => {
        if let Some(at) = next($kernel.entries.len(), &$kernel.count[0]) {
            $kernel.entries[at].store($entry, Relaxed);
            $kernel.holds[at].store($cells, Relaxed);
            let HostId { lo, hi } = $host;
            if 2 * at + 1 < $kernel.hosts.len() {
                $kernel.hosts[2 * at].store(lo, Relaxed);
                $kernel.hosts[2 * at + 1].store(hi, Relaxed);
            }
        }
    };
}

impl Body for ListHolders<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for entry in grid.of_all(self.keys.len()) {
            let cells = self.counts[entry];
            // An entry without a key has no count.
            if cells >= self.least
                && let Some(owner) = Owner::of_key(self.keys[entry])
                && let Some(host) = self.params.host(owner)
            {
                list!(self, owner.key(), cells, HostId::from(host));
            }
        }
    }
}

impl Body for ListKept<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for number in grid.of_all(self.kept.len()) {
            let KeptHost { key, id } = self.kept[number];
            let cells = match Owner::of_key(key) {
                Some(owner) => owners::cells(&self.params, self.keys, self.counts, owner),
                None => 0,
            };
            if cells < self.least {
                list!(self, KEPT | number as u64, cells, id);
            }
        }
    }
}

impl Body for ListHeld<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for place in grid.of_all(self.cells.len()) {
            let word = self.cells[place].word();
            let owner = self.params.owner(place as u32, word);
            if self.params.age(word) < self.ages
                && owner.is_fingerprint()
                && owners::cells(&self.params, self.keys, self.counts, owner) >= self.least
                && let Some(entry) = next(self.places.len(), &self.count[0])
            {
                self.places[entry].store(place as u32, Relaxed);
                self.words[entry].set(word);
            }
        }
    }
}
