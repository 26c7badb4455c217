//! The GPU kernels of srlg. The body of a kernel consists of a few lines that call srlg-core, which contains all the
//! maths.
//!
//! A kernel consists of a row in the table below and a [`Body`]. Many threads run the body at the same time, with the
//! same arguments. A [`Grid`] identifies the thread. The tests run bodies on the CPU in the same way.
//!
//! A row lists the following parts, from which the macro generates a [`Kernel`]:
//!
//! - the name of the entry point
//! - the type of the arguments, and the widths of recorders that the kernel supports
//! - the arguments that are passed by value
//! - the buffers that are read or written, with their element types and lengths
//! - the conditions that must be met before a launch
//! - the number of threads, or of blocks, that the work can occupy
//!
//! All data that several threads may write is atomic, and every access to it is relaxed. Results are minima, sums or
//! unordered lists, so the order of the threads does not matter. Kernels that touch recorders may run at the same
//! time, in different queues. Kernels in the same queue run one after the other. No thread waits for another thread.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx))]

#[macro_use]
mod table;

pub mod cells;
pub mod change;
#[cfg(target_arch = "nvptx64")]
mod entry;
mod grid;
mod kernel;
mod list;
pub mod looks;
pub mod owners;
pub mod regain;
pub mod scan;
pub mod survey;
pub mod tally;

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use cells::KeptHost;

pub use grid::{Grid, THREADS};
pub use kernel::{Body, Carry, Element, EntryPoint, Kernel, KernelRecorder, Length, Place, Slices};
pub use list::{add, complete, filled};
use scan::{AlignedPair, AlignedPair6};
use srlg_core::counter::tagged::Grouping;
use srlg_core::counter::tagged::glimpse::STAGES;
use srlg_core::counter::{RowsParams, TaggedParams};
use srlg_core::finder::cells::SLOTS;
use srlg_core::finder::regain::high_table_lens;
use srlg_core::finder::{CellsParams, RsraParams};
use srlg_core::{ArrayParams, HostId, Packed, Recorder16, Recorder64, Span};
use survey::{SUMS, WEIGHTS};

kernels! {
    /// Kernel that touches the cells of `pairs`, and the recorders of `pairs` in the lines of the tagged counter. The
    /// age of the contacts is `cells_age` in epochs of the cells, and `lines_age` in epochs of the counter.
    "touch": Touch(finder: CellsParams, counter: TaggedParams, cells_age: u32, lines_age: u32) {
        reads pairs: [AlignedPair],
        writes cells: [Recorder64; finder.recorders()],
        writes lines: [Packed<Recorder16>; Packed::<Recorder16>::words(counter.recorders())],
    } threads: pairs.len();

    /// Kernel that does the work of [`Touch`] for `pairs` of IPv4 or IPv6 addresses.
    "touch_ip6": Touch6(finder: CellsParams, counter: TaggedParams, cells_age: u32, lines_age: u32) {
        reads pairs: [AlignedPair6],
        writes cells: [Recorder64; finder.recorders()],
        writes lines: [Packed<Recorder16>; Packed::<Recorder16>::words(counter.recorders())],
    } threads: pairs.len();

    /// Kernel that touches the recorders of `pairs` in an RSRA and in the rows of the paper's counter. The contacts are
    /// `age` slices old.
    "touch_paper": TouchPaper(finder: RsraParams, counter: RowsParams, age: u32) {
        reads pairs: [AlignedPair],
        writes rough: [Packed<Recorder16>; Packed::<Recorder16>::words(finder.recorders())],
        writes linear: [Packed<Recorder16>; Packed::<Recorder16>::words(counter.recorders())],
    } threads: pairs.len();

    /// Kernel that counts the cells whose age is less than `ages.len() / 2`, by age and by owner.
    ///
    /// For each age, the first half of `ages` receives the number of cells that IPv4 hosts hold, and the second half
    /// receives the number of cells that IPv6 hosts hold. The [table](owners) of `keys` and `counts` receives the
    /// number of counted cells of each owner. The caller must first set `ages`, `keys` and `counts` to 0.
    "count_cells": CountCells(params: CellsParams) {
        reads cells: [Recorder64; params.recorders()],
        writes ages: [AtomicU32],
        writes keys: [AtomicU64; owners::entries(&params)],
        writes counts: [AtomicU32; owners::entries(&params)],
    } threads: cells.len();

    /// Kernel that lists the IPv4 hosts that hold at least `least` of the counted cells. The kernel writes the
    /// [key](srlg_core::finder::cells::Owner::key) of each host to `entries` and the host's cell count to `holds`. If
    /// there is room, the kernel writes the ID of each host as two words to `hosts`.
    "list_holders": ListHolders(params: CellsParams, least: u32) {
        reads keys: [u64; owners::entries(&params)],
        reads counts: [u32; owners::entries(&params)],
        writes entries: [AtomicU64],
        writes holds: [AtomicU32; entries.len()],
        writes hosts: [AtomicU32],
        writes count: [AtomicU32; 1],
    } threads: keys.len(),
    where least > 0;

    /// Kernel that adds hosts in `kept` to the list of [`ListHolders`]: IPv4 hosts with fewer than `least` counted
    /// cells, and all IPv6 hosts. The entry of such a host is its index in `kept`, with the bit [`KEPT`](cells::KEPT)
    /// set.
    "list_kept": ListKept(params: CellsParams, least: u32) {
        reads kept: [KeptHost],
        reads keys: [u64; owners::entries(&params)],
        reads counts: [u32; owners::entries(&params)],
        writes entries: [AtomicU64],
        writes holds: [AtomicU32; entries.len()],
        writes hosts: [AtomicU32],
        writes count: [AtomicU32; 1],
    } threads: kept.len();

    /// Kernel that lists the indices and words of cells that IPv6 hosts hold and whose age is less than `ages`. It
    /// lists a cell only if at least `least` counted cells have its fingerprint.
    "list_held": ListHeld(params: CellsParams, ages: u32, least: u32) {
        reads cells: [Recorder64; params.recorders()],
        reads keys: [u64; owners::entries(&params)],
        reads counts: [u32; owners::entries(&params)],
        writes places: [AtomicU32; params.recorders()],
        writes words: [Recorder64; params.recorders()],
        writes count: [AtomicU32; 1],
    } threads: cells.len();

    /// Kernel that writes the mask of every rough estimator over `span`, row after row. It counts the hot estimators in
    /// `weights`, which has one entry for each row and weight.
    "survey": Survey(params: RsraParams, span: Span) {
        reads rough: [Recorder16; params.recorders()],
        writes masks: [AtomicU8; params.estimators()],
        writes weights: [AtomicU32; params.rows() as usize * WEIGHTS],
    } threads: params.estimators();

    /// Kernel that counts the recorders whose word is below `limit` in each row of `row_len` recorders. The count of a
    /// row is the sum of the row's [`SUMS`] entries in `sums`.
    "count": Count<R: 16>(row_len: u32, limit: u32) {
        reads recorders: [R],
        writes sums: [AtomicU32; recorders.len() / row_len as usize * SUMS],
    } threads: recorders.len();

    /// Kernel that lists the columns of `row` whose masks have a weight of at least `weight`.
    "hot": Hot(params: RsraParams, row: u32, weight: u32) {
        reads masks: [u8; params.estimators()],
        writes columns: [AtomicU32],
        writes count: [AtomicU32; 1],
    } threads: params.columns() as usize,
    where row < params.rows();

    /// Kernel that lists the hosts whose union estimator has a weight of at least `weight`, and whose columns in rows 0
    /// and 1 are in `bases` and `partners`. The kernel lists no host if there are too many columns to search, or if a
    /// list of columns was too short.
    "regain": Regain(params: RsraParams, weight: u32) {
        reads starts: [u32; high_table_lens(&params)[0]],
        reads highs: [u32; high_table_lens(&params)[1]],
        reads present: [u32; high_table_lens(&params)[2]],
        reads masks: [u8; params.estimators()],
        reads bases: [u32],
        reads base_count: [u32; 1],
        reads partners: [u32],
        reads partner_count: [u32; 1],
        writes hosts: [AtomicU32],
        writes found: [AtomicU32; 1],
    } blocks: bases.len();

    /// Kernel that counts, by bin, `positions` positions of each host's linear estimator, starting at `first`.
    ///
    /// The list `numbers` has `count` entries, which are indices into `hosts`. The kernel processes the listed hosts
    /// from entry `skip` on, until `bins` is full. Each host occupies [`Grouping::bin_words`] words of `bins`.
    "tally": Tally(params: TaggedParams, grouping: Grouping, first: u32, positions: u32, skip: u32) {
        reads hosts: [HostId],
        reads numbers: [u32],
        reads count: [u32; 1],
        reads linear: [Recorder16; params.recorders()],
        writes bins: [AtomicU32],
    } blocks: bins.len() / grouping.bin_words() * tally::parts_of(positions),
    where first <= params.positions() && positions <= params.positions() - first
        && numbers.len() <= hosts.len();

    /// Kernel that lists the hosts of `numbers` whose glimpses over `span` do not dismiss them. `numbers` has `count`
    /// entries. The positions that each stage adds are in `bins`, one stage after the other, grouped by
    /// [`Grouping::for_bound`].
    "glimpse": Glimpse(params: TaggedParams, span: Span) {
        reads numbers: [u32],
        reads count: [u32; 1],
        reads bins: [u32],
        writes left: [AtomicU32; numbers.len()],
        writes left_count: [AtomicU32; 1],
    } threads: bins.len() / (STAGES * Grouping::for_bound(span).bin_words());

    /// Kernel that converts `bins`, which are grouped by [`Grouping::of_ages`], to `groups`, which are grouped by
    /// [`Grouping::for_bound`]. The bins belong to the hosts of `numbers` from entry `skip` on.
    "regroup": Regroup(span: Span, skip: u32) {
        reads numbers: [u32],
        reads count: [u32; 1],
        reads bins: [u32],
        writes groups: [AtomicU32;
            bins.len() / Grouping::of_ages(span).bin_words() * Grouping::for_bound(span).bin_words()],
    } threads: groups.len();

    /// Kernel that lists which hosts of `numbers`, from entry `skip` on, may reach the threshold. `bins` contains the
    /// fine regions of these hosts, grouped by [`Grouping::for_bound`]. The list identifies hosts by their index in
    /// `bins`.
    "reach": Reach(params: TaggedParams, span: Span, skip: u32) {
        reads numbers: [u32],
        reads count: [u32; 1],
        reads bins: [u32],
        writes reached: [AtomicU32; bins.len() / Grouping::for_bound(span).bin_words()],
        writes reached_count: [AtomicU32; 1],
    } threads: reached.len();

    /// Kernel that records the hosts in the list `reached`, from entry `first` on, until the buffers are full. For each
    /// host, it writes the index in `hosts` to `recorded`, the host's part of `bins` to `tallies`, and the words of the
    /// host's cells, by slot, to `peers`.
    "record": Record(params: CellsParams, span: Span, skip: u32, first: u32) {
        reads hosts: [HostId],
        reads numbers: [u32],
        reads reached: [u32],
        reads reached_count: [u32; 1],
        reads bins: [u32],
        reads cells: [Recorder64; params.recorders()],
        writes recorded: [AtomicU32],
        writes peers: [Recorder64; recorded.len() * SLOTS as usize],
        writes tallies: [AtomicU32; recorded.len() * Grouping::of_ages(span).bin_words()],
    } blocks: recorded.len();

    /// Kernel that computes the weight of the first `positions` positions of each host's union estimator.
    "union_weight": Union(params: RowsParams, span: Span, positions: u32) {
        reads hosts: [HostId],
        reads linear: [Recorder16; params.recorders()],
        writes weights: [AtomicU32; hosts.len()],
    } blocks: hosts.len() * tally::parts_of(positions),
    where positions <= params.width();

    /// Kernel that ages all recorders by `step`. No other kernel may run at the same time.
    "age": Age<R: 16, 64>(step: u64) {
        writes recorders: [R],
    } threads: recorders.len();

    /// Kernel that merges `words`, aged by `step`, into the recorders from index `first` on.
    "merge": Merge<R: 16, 64>(first: u32, step: u64) {
        reads words: [R::Word],
        writes recorders: [R::Swapped],
    } threads: words.len(),
    where R::swapped(first as usize + words.len()) <= recorders.len();

    /// Kernel that lists the indices and words of recent recorders. A recorder is recent if its word is below `recent`.
    /// If a line contains a word below `recent`, recorders of the line whose word minus `echo` is below `recent` are
    /// also recent.
    "extract": Extract<R: 16, 64>(recent: u64, echo: u64) {
        reads recorders: [R],
        writes places: [AtomicU32],
        writes words: [R; places.len()],
        writes count: [AtomicU32; 1],
    } threads: recorders.len();

    /// Kernel that merges the recorders that [`Extract`] listed, aged by `step`. It ignores indices beyond the array.
    "apply": Apply<R: 16, 64>(step: u64) {
        reads places: [u32],
        reads words: [R::Word; places.len()],
        writes recorders: [R::Swapped],
    } threads: places.len();

    /// Kernel that copies the words of the recorders whose indices are in `places`.
    "gather": Gather<R: 16, 64>() {
        reads recorders: [R],
        reads places: [u32],
        writes words: [R; places.len()],
    } threads: places.len();
}
