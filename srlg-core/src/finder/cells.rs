//! Cells: a finder whose array contains the hosts themselves.
//!
//! # The array
//! The array has M = 2^m cells of 64 bits. A keyed hash of the whole pair samples one pair in 2^τ and assigns it to one
//! of η = 64 *slots*. Host and slot determine the one cell that the pair touches. So a host touches at most η cells,
//! however many peers it has. A cell holds the host that touched it last:
//!
//! ```text
//! word     age | body                            a smaller word is more recent
//! IPv4     body = 0 | name        | peer         veiled by the cell
//! IPv6     body = 1 | fingerprint | symbol       veiled by the cell
//! bits     11     1   20            32           with 2^18 cells and more
//! ```
//!
//! - **IPv4.** The image x = P(host) is a keyed bijection of 32 bits. `high` is its m highest bits, and `low` the
//!   others. With `name = low · η + slot` and `cell = high xor h(name)`, cell and name determine x, and x determines
//!   the host. A word therefore decodes to exactly the host that touched the cell. The peer field is another bijection
//!   of the peer's address.
//! - **IPv6** ([`spell`]). 128 bits do not fit. Each cell therefore holds a value of a polynomial over GF(2^32) whose
//!   coefficients are the four words of the address. Any four cells of a host spell it.
//! - **Veil.** The body is xored with a multiple of the number of the cell. Without the veil, hosts with small bodies
//!   would win all ties in all cells.
//! - **Minimum.** Touches and merges keep the smaller word. Ageing adds to the age and saturates the *whole* word. As
//!   with all recorders, order, repetition, threads and nodes therefore do not matter.
//!
//! With fewer than 2^18 cells, names are longer and ages are shorter. If the window has too many slices for them, ages
//! count epochs of several slices.
//!
//! # Finding
//! A close counts the cells that each host holds in the window ([`owner`](CellsParams::owner)). Hosts that hold at
//! least `c_min` cells are candidates. This takes one pass over the cells, independently of the traffic.
//!
//! # Missing
//! A host with n peers has μ = n / (2^τ η) samples per slot on average. A slot is *visible* if its most recent sample
//! is more recent than all touches of its cell by other hosts. Let G(u) be the share of the cells that no host touched
//! at age u or less, which the pass counts anyway. If contacts are even over W ages, a slot is visible with the
//! following probability:
//!
//! ```text
//! p = Σ_u (e^(-μu/W) - e^(-μ(u+1)/W)) · (G(u-1) - G(u)) / ln(G(u-1) / G(u))
//! ```
//!
//! The first bracket is the probability that the most recent sample has age u. If k other hosts touched the cell at the
//! same age, each of them and the host win the tie with probability 1 / (k + 1). The number k is a Poisson number with
//! mean x = ln(G(u-1) / G(u)), so the mean of 1 / (k + 1) is (1 - e^-x) / x. Multiplied by G(u-1), this is the quotient
//! above.
//!
//! A host is missed if fewer than c_min of η slots are visible, with probability `P(Binomial(η, p) < c_min)`
//! ([`chance`]). This holds for any load, because G is measured. `c_min` is the largest number with which a host with θ
//! peers is missed with a probability of at most 1.3e-4.
//!
//! If epochs have several slices, the youngest and the oldest age in a window may have fewer, and their share of μ is
//! smaller. Samples and slots are assumed to be independent. For θ below 64, every pair is sampled, and hosts are
//! missed less often than computed.
//!
//! The load consists of the touches of other pairs. L pairs make L / (2^τ M) touches per cell, but a host makes at most
//! η. With an even load, 1 % of hosts with θ peers are missed at about L = θM / 7.1. For θ = 1024 and 2^18 cells, these
//! are 38 M pairs. At half this load, one in 10,000 is missed.

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

/// The finder of the default scheme, with an array of cells.
#[derive(Clone, Copy, Debug)]
pub struct CellsFinder;

impl Finder for CellsFinder {
    type Params = CellsParams;
    type Recorder = Recorder64;

    #[inline(always)]
    fn params(part: &FinderPart) -> &CellsParams {
        part.cells().expect("the params belong to this finder")
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
