//! Cells: a finder whose array contains the hosts themselves.
//!
//! # The array
//! The array has M = 2^m cells of 64 bits. A keyed hash of the whole pair samples one pair in 2^τ and assigns it to one
//! of η = 64 *slots*. The host and the slot determine the one cell that the pair touches. A host therefore touches at
//! most η cells, however many peers it has. A cell contains the host that touched it last:
//!
//! ```text
//! word     age | body                            a smaller word is more recent
//! IPv4     body = 0 | name        | peer         veiled by the cell
//! IPv6     body = 1 | fingerprint | symbol       veiled by the cell
//! bits     11     1   20            32           with 2^18 cells and more
//! ```
//!
//! - **IPv4.** The number x = P(host) is the image of the 32-bit address under a keyed bijection. `high` contains the m
//!   highest bits of x, and `low` contains the other bits. The name is `low · η + slot`, and the cell is
//!   `high xor h(name)`. The cell and the name determine x, and x determines the host. A word therefore decodes to
//!   exactly the host that touched the cell. The peer field contains the image of the peer's address under a second
//!   bijection.
//! - **IPv6** ([`spell`]). An address of 128 bits does not fit into a cell. Each cell therefore contains one value of a
//!   polynomial over GF(2^32) whose coefficients are the four words of the address. Any four cells of a host determine
//!   its address; they *spell* it.
//! - **Veil.** The body is xored with the *veil* of the cell, a constant that is computed from the cell number. Without
//!   veils, hosts with small bodies would win the ties in all cells.
//! - **Minimum.** Touches and merges keep the smaller word. Ageing increases the age and saturates the *whole* word. As
//!   with all recorders, the result therefore does not depend on the order or repetition of touches, or on their
//!   assignment to threads and nodes.
//!
//! With fewer than 2^18 cells, names have more bits and ages have fewer. If the window has more slices than an age can
//! count, ages count epochs of several slices.
//!
//! # Finding
//! When a slice closes, the detector counts the cells that each host holds in the window
//! ([`owner`](CellsParams::owner)). Hosts that hold at least `c_min` cells are candidates. This count takes one pass
//! over the cells, regardless of the traffic.
//!
//! # Missing
//! A host with n peers has μ = n / (2^τ η) samples per slot on average. A slot is *visible* if the host touched its
//! cell and no other host touched this cell with a smaller word. Let G(u) be the share of the cells that no host
//! touched at age u or less. The pass over the cells also measures G. If contacts are spread evenly over W ages, a slot
//! is visible with the following probability:
//!
//! ```text
//! p = Σ_u (e^(-μu/W) - e^(-μ(u+1)/W)) · (G(u-1) - G(u)) / ln(G(u-1) / G(u))
//! ```
//!
//! The first factor is the probability that the most recent sample has age u. If k other hosts touched the cell at this
//! age, the host wins the tie with probability 1 / (k + 1). The number k is Poisson-distributed with mean x = ln(G(u-1)
//! / G(u)). The mean of 1 / (k + 1) is therefore (1 - e^-x) / x. Multiplied by G(u-1), this mean is the quotient above.
//!
//! A host is missed if fewer than c_min of its η slots are visible. The probability of a miss is
//! `P(Binomial(η, p) < c_min)` ([`chance`]). This formula holds for any load, because G is measured. `c_min` is the
//! largest number of cells for which the probability of missing a host with θ peers is at most 1.3e-4. `c_min` is at
//! least 2.
//!
//! If epochs have several slices, the youngest and the oldest age in a window may have fewer slices than an epoch. Ages
//! with fewer slices have a smaller share of μ. Samples and slots are assumed to be independent. For θ below 64, every
//! pair is sampled, and hosts are missed less often than computed.
//!
//! The load is the number L of distinct pairs in the window. L pairs cause at most L / (2^τ M) touches per cell on
//! average, because a host touches at most η cells. At an evenly spread load of about L = θM / 7.1 pairs, 1 % of the
//! IPv4 hosts with θ peers are missed. For θ = 1024 and 2^18 cells, this load is 38 M pairs. At half this load, one in
//! 10,000 of these hosts is missed.

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

/// The array of the default finder, which consists of cells.
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
