//! The kernels that scan pairs. A kernel reads every pair once and touches recorders of the finder and of the counter.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Body, Grid, Slices, Touch, Touch6, TouchPaper};
use srlg_core::counter::rows::touch_rows;
use srlg_core::counter::tagged::touch_lines;
use srlg_core::finder::cells::touch_cells;
use srlg_core::finder::touch_rsra;
use srlg_core::{IpPair, Ipv4Pair};

macro_rules! aligned {
    ($(#[$doc:meta])* $name:ident: $pair:ident of $address:ty, at $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C, align($bytes))]
        pub struct $name {
            inside: $address,
            peer: $address,
        }

        impl From<$pair> for $name {
            fn from($pair { inside, peer }: $pair) -> Self {
                Self { inside, peer }
            }
        }

        impl $name {
            #[inline(always)]
            const fn pair(self) -> $pair {
                let Self { inside, peer } = self;
                $pair { inside, peer }
            }
        }
    };
}

aligned!(
    /// A pair of IPv4 addresses, aligned to 8 bytes so that a thread can load it with one memory access.
    AlignedPair: Ipv4Pair of u32, at 8
);
aligned!(
    /// A pair of IPv4 or IPv6 addresses, aligned to 16 bytes, the maximum size of one memory access.
    AlignedPair6: IpPair of [u32; 4], at 16
);

impl Body for Touch<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            let pair = self.pairs[at].pair();
            touch_cells(&self.finder, self.cells, &pair, self.cells_age);
            touch_lines(&self.counter, self.lines, &pair, self.lines_age);
        }
    }
}

impl Body for Touch6<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            // One detector has one seed, so the counter uses the same ids.
            let pair = self.finder.ids(self.pairs[at].pair());
            touch_cells(&self.finder, self.cells, &pair, self.cells_age);
            touch_lines(&self.counter, self.lines, &pair, self.lines_age);
        }
    }
}

impl Body for TouchPaper<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            let pair = self.pairs[at].pair();
            touch_rsra(&self.finder, self.rough, &pair, self.age);
            touch_rows(&self.counter, self.linear, &pair, self.age);
        }
    }
}
