//! Cells: a finder whose array holds the hosts themselves.
//!
//! # The array
//! M = 2^m cells of 64 bits. A keyed hash of the whole pair samples one pair in 2^τ, and gives it
//! one of η = 64 *slots*. Host and slot name the one cell that the pair touches. So a host touches
//! at most η cells, however many opposite hosts it has, and a cell holds who touched it last:
//!
//! ```text
//! word     age | body                            a smaller word is more recent
//! IPv4     body = 0 | name        | peer         veiled by the cell
//! IPv6     body = 1 | fingerprint | symbol       veiled by the cell
//! bits     11     1   20            32           of 2^18 cells and more
//! ```
//!
//! - **IPv4.** x = P(host) is a keyed bijection of 32 bits; `high` are its m highest bits and `low`
//!   the others. `name = low · η + slot`, and `cell = high xor h(name)`: cell and name give x back, and
//!   x the host. A word therefore decodes to exactly the host that touched the cell. The peer is
//!   another bijection of the opposite host.
//! - **IPv6** ([`spell`]). 128 bits do not fit, so each cell holds a value of a polynomial over GF(2^32)
//!   whose coefficients are the four words of the address: any four cells of a host spell it.
//! - **Veil.** The body is xored with a multiple of the number of the cell. Otherwise hosts with small bodies would
//!   win all ties, everywhere.
//! - **Minimum.** Touches and merges keep the smaller word, ageing adds to the age and saturates the
//!   *whole* word; so order, repetition, threads and nodes do not matter, as with all recorders. In
//!   fewer cells than 2^18 names are longer and ages shorter; they count epochs of several
//!   slices where the window has too many.
//!
//! # Finding
//! A close counts, per host, the cells that it holds in the window; hosts that hold at least `c_min`
//! are candidates ([`owner`](CellsParams::owner)). This is one pass over the cells, whatever the traffic was.
//!
//! # Missing
//! A host of n opposite hosts has μ = n / (2^τ η) samples per slot on average. A slot is *visible* when
//! its most recent sample is more recent than whatever strangers touched the cell with: let
//! G(u) be the share of the cells that nobody touched within the age u or less, which the pass counts anyway.
//! With contacts even over W ages a slot is visible with probability
//!
//! ```text
//! p = Σ_u (e^(-μu/W) - e^(-μ(u+1)/W)) · (G(u-1) - G(u)) / ln(G(u-1) / G(u))
//! ```
//!
//! as the most recent sample has age u with the probability in the first bracket. Of k strangers of the same age
//! and the host each wins the tie with probability 1 / (k + 1); k is a Poisson number with mean x = ln(G(u-1) / G(u)),
//! over which the mean of 1 / (k + 1) is (1 - e^-x) / x: times G(u-1) the quotient above. A
//! host is missed when fewer than c_min of η slots are visible, `P(Binomial(η, p) < c_min)` ([`chance`]). This
//! holds for any load, as G is measured; `c_min` is the largest number at which θ is missed with probability 1.3e-4 at
//! most. Where an age has fewer slices, as the youngest and the oldest in a window may where epochs have
//! several, its share of μ is as much less. (Samples and slots are taken as independent. Below θ of 64 every pair is sampled,
//! and hosts are missed less often than that.)
//!
//! The load is what other pairs touch: L pairs make L / (2^τ M) touches per cell, but no host more than
//! η. At even load 1 % of hosts of θ are missed at some L = θM / 7.1, 38 M pairs for 2^18 cells and θ = 1024, and one in
//! 10,000 at half as many.

pub mod chance;
mod params;
mod peers;
pub mod spell;
mod touch;
mod word;

use super::{Finder, FinderPart};
use crate::ids::Batch;
use crate::recorder::Recorder64;
use crate::view::ArrayView;

pub use params::{CellsParams, SLOTS};
pub use peers::Peer;
pub use touch::{CellTouch, touch_cells};
pub use word::{Owner, Spot};

/// The recorders of an array of cells.
pub type CellArray<'a, R> = ArrayView<'a, CellsParams, R>;

/// Finds hosts by an array of cells: the finder of the default scheme.
#[derive(Clone, Copy, Debug)]
pub struct CellsFinder;

impl Finder for CellsFinder {
    type Params = CellsParams;
    type Recorder = Recorder64;

    #[inline(always)]
    fn params(part: &FinderPart) -> &CellsParams {
        part.cells().expect("params of this finder")
    }

    type Touch = CellTouch;

    #[inline(always)]
    fn touch(
        cells: CellArray<'_, Recorder64>,
        pairs: &impl Batch,
        age: u32,
        later: impl FnMut(CellTouch),
    ) {
        cells.find_touches(pairs, age, later);
    }

    #[inline(always)]
    fn place(touch: CellTouch) -> u32 {
        touch.place
    }

    #[inline(always)]
    fn apply(cells: CellArray<'_, Recorder64>, touches: &[CellTouch]) {
        cells.apply(touches);
    }
}

#[cfg(test)]
mod ghost_tests;
#[cfg(test)]
mod ipv6_tests;
#[cfg(test)]
mod pinned_tests;
#[cfg(test)]
mod spell_tests;
#[cfg(test)]
mod tests;
