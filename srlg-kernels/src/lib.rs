//! GPU kernels of srlg: every body is a few lines over srlg-core, which has all of the maths.
//!
//! A kernel is a row of the table below, and a [`Body`] that many threads call at once with the
//! same arguments but for its [`Grid`], which says which of them it is. So the host can run it
//! too, and tests do. A row reads: the name of the entry point; the structure of its arguments,
//! for recorders of which widths; arguments by value; buffers that are read or written, what they
//! hold, and how many of it; what else must hold before a launch; how many threads, or blocks of
//! threads, there is work for. [`Kernel`] is what all of this becomes.
//!
//! Invariant: whatever several threads may write is an atomic, all accesses are relaxed, and
//! all that a kernel makes of them (minima, sums, lists in any order) is the same for every
//! order of the threads. Kernels follow each other; none waits for another thread.
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
use srlg_core::counter::{RowsParams, TaggedParams};
use srlg_core::finder::cells::SLOTS;
use srlg_core::finder::regain::high_table_lens;
use srlg_core::finder::{CellsParams, RsraParams};
use srlg_core::{ArrayParams, HostId, Packed, Recorder16, Recorder64, Span};
use survey::{SUMS, WEIGHTS};

kernels! {
    /// Touches the cells of `pairs`, `cells_age` epochs ago, and their recorders in the lines of the tagged counter,
    /// `lines_age` epochs ago.
    "touch": Touch(finder: CellsParams, counter: TaggedParams, cells_age: u32, lines_age: u32) {
        reads pairs: [AlignedPair],
        writes cells: [Recorder64; finder.recorders()],
        writes lines: [Packed<Recorder16>; Packed::<Recorder16>::words(counter.recorders())],
    } threads: pairs.len();

    /// Touches the same of `pairs` of any two addresses.
    "touch_ip6": Touch6(finder: CellsParams, counter: TaggedParams, cells_age: u32, lines_age: u32) {
        reads pairs: [AlignedPair6],
        writes cells: [Recorder64; finder.recorders()],
        writes lines: [Packed<Recorder16>; Packed::<Recorder16>::words(counter.recorders())],
    } threads: pairs.len();

    /// Touches the recorders of `pairs` in an RSRA and in the rows of the paper's counter, `age` slices ago.
    "touch_paper": TouchPaper(finder: RsraParams, counter: RowsParams, age: u32) {
        reads pairs: [AlignedPair],
        writes rough: [Packed<Recorder16>; Packed::<Recorder16>::words(finder.recorders())],
        writes linear: [Packed<Recorder16>; Packed::<Recorder16>::words(counter.recorders())],
    } threads: pairs.len();

    /// Counts the cells of each of the youngest ages that IPv4 hosts hold, then those that IPv6 hosts hold, in the two
    /// halves of `ages`; and those of these ages that each owner has, in the [table](owners) of `keys` and `counts`. All are 0
    /// before.
    "count_cells": CountCells(params: CellsParams) {
        reads cells: [Recorder64; params.recorders()],
        writes ages: [AtomicU32],
        writes keys: [AtomicU64; owners::entries(&params)],
        writes counts: [AtomicU32; owners::entries(&params)],
    } threads: cells.len();

    /// Lists the IPv4 hosts that hold at least `least` of the cells that were counted: the keys of their owners as
    /// `entries`, how many cells each `holds`, and, as far as there is room, their ids as two of `hosts`.
    "list_holders": ListHolders(params: CellsParams, least: u32) {
        reads keys: [u64; owners::entries(&params)],
        reads counts: [u32; owners::entries(&params)],
        writes entries: [AtomicU64],
        writes holds: [AtomicU32; entries.len()],
        writes hosts: [AtomicU32],
        writes count: [AtomicU32; 1],
    } threads: keys.len(),
    where least > 0;

    /// Adds to such a list those of the `kept` hosts that [`ListHolders`] leaves out: their numbers, with the bit
    /// [`KEPT`](cells::KEPT).
    "list_kept": ListKept(params: CellsParams, least: u32) {
        reads kept: [KeptHost],
        reads keys: [u64; owners::entries(&params)],
        reads counts: [u32; owners::entries(&params)],
        writes entries: [AtomicU64],
        writes holds: [AtomicU32; entries.len()],
        writes hosts: [AtomicU32],
        writes count: [AtomicU32; 1],
    } threads: kept.len();

    /// Lists the cells of the `ages` youngest ages that IPv6 hosts hold whose fingerprints have at least `least` of those that
    /// were counted: their numbers and their words.
    "list_held": ListHeld(params: CellsParams, ages: u32, least: u32) {
        reads cells: [Recorder64; params.recorders()],
        reads keys: [u64; owners::entries(&params)],
        reads counts: [u32; owners::entries(&params)],
        writes places: [AtomicU32; params.recorders()],
        writes words: [Recorder64; params.recorders()],
        writes count: [AtomicU32; 1],
    } threads: cells.len();

    /// Writes the mask of every rough estimator over `span`, row after row, and counts the hot
    /// ones: per row and weight one of `weights`.
    "survey": Survey(params: RsraParams, span: Span) {
        reads rough: [Recorder16; params.recorders()],
        writes masks: [AtomicU8; params.estimators()],
        writes weights: [AtomicU32; params.rows() as usize * WEIGHTS],
    } threads: params.estimators();

    /// Counts, per row of `row_len` recorders, those with a word below `limit`: the sum of
    /// [`SUMS`] of `sums`.
    "count": Count<R: 16>(row_len: u32, limit: u32) {
        reads recorders: [R],
        writes sums: [AtomicU32; recorders.len() / row_len as usize * SUMS],
    } threads: recorders.len();

    /// Lists the columns of `row` whose masks have at least `weight`.
    "hot": Hot(params: RsraParams, row: u32, weight: u32) {
        reads masks: [u8; params.estimators()],
        writes columns: [AtomicU32],
        writes count: [AtomicU32; 1],
    } threads: params.columns() as usize,
    where row < params.rows();

    /// Lists the hosts whose columns in rows 0 and 1 are among `bases` and `partners` and whose
    /// union estimator has a weight of at least `weight`; none where the params do not accept the
    /// search, or where a list of columns had no room for all.
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

    /// Counts `positions` of the linear estimators, from number `first` on, of those `hosts` that the list of `numbers`
    /// names, of which there are `count`, from entry `skip` on: into `bins`, [`Grouping::bin_words`] per host, for as many
    /// hosts as there is room for.
    "tally": Tally(params: TaggedParams, grouping: Grouping, first: u32, positions: u32, skip: u32) {
        reads hosts: [HostId],
        reads numbers: [u32],
        reads count: [u32; 1],
        reads linear: [Recorder16; params.recorders()],
        writes bins: [AtomicU32],
    } blocks: bins.len() / grouping.bin_words() * tally::parts_of(positions),
    where first <= params.positions() && positions <= params.positions() - first
        && numbers.len() <= hosts.len();

    /// Lists those of the `numbers`, of which there are `count`, whose glimpse over `span` dismisses nobody: it is in `bins`, in
    /// [groups for a bound](Grouping::for_bound).
    "glimpse": Glimpse(params: TaggedParams, span: Span) {
        reads numbers: [u32],
        reads count: [u32; 1],
        reads bins: [u32],
        writes left: [AtomicU32; numbers.len()],
        writes left_count: [AtomicU32; 1],
    } threads: bins.len() / Grouping::for_bound(span).bin_words();

    /// Adds up the `bins` of the hosts of `numbers`, from entry `skip` on, which are by [age](Grouping::of_ages), to `groups`
    /// [for a bound](Grouping::for_bound).
    "regroup": Regroup(span: Span, skip: u32) {
        reads numbers: [u32],
        reads count: [u32; 1],
        reads bins: [u32],
        writes groups: [AtomicU32;
            bins.len() / Grouping::of_ages(span).bin_words() * Grouping::for_bound(span).bin_words()],
    } threads: groups.len();

    /// Lists which of the hosts of `numbers`, from entry `skip` on, whose fine regions are in `bins`, in
    /// [groups for a bound](Grouping::for_bound), may reach the threshold: their numbers in `bins`.
    "reach": Reach(params: TaggedParams, span: Span, skip: u32) {
        reads numbers: [u32],
        reads count: [u32; 1],
        reads bins: [u32],
        writes reached: [AtomicU32; bins.len() / Grouping::for_bound(span).bin_words()],
        writes reached_count: [AtomicU32; 1],
    } threads: reached.len();

    /// Writes of each host that `reached` lists, from entry `first` on, its number, its `tallies` of `bins`, and the words of
    /// the cells that all of its slots go to, for as many hosts as there is room for.
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

    /// Adds up the weights of the first `positions` of the union estimators of `hosts`.
    "union_weight": Union(params: RowsParams, span: Span, positions: u32) {
        reads hosts: [HostId],
        reads linear: [Recorder16; params.recorders()],
        writes weights: [AtomicU32; hosts.len()],
    } blocks: hosts.len() * tally::parts_of(positions),
    where positions <= params.width();

    /// Ages all recorders by `step`; no other kernel may run.
    "age": Age<R: 16, 64>(step: u64) {
        writes recorders: [R],
    } threads: recorders.len();

    /// Merges `words`, aged by `step`, into the recorders from number `first` on.
    "merge": Merge<R: 16, 64>(first: u32, step: u64) {
        reads words: [R::Word],
        writes recorders: [R::Swapped],
    } threads: words.len(),
    where R::swapped(first as usize + words.len()) <= recorders.len();

    /// Lists the recorders whose word is below `recent`, and those for which it is so after `echo` is
    /// taken off, in lines that have one of the former: their numbers and their words.
    "extract": Extract<R: 16, 64>(recent: u64, echo: u64) {
        reads recorders: [R],
        writes places: [AtomicU32],
        writes words: [R; places.len()],
        writes count: [AtomicU32; 1],
    } threads: recorders.len();

    /// Merges the recorders of such a list, aged by `step`. Those beyond the recorders are left out.
    "apply": Apply<R: 16, 64>(step: u64) {
        reads places: [u32],
        reads words: [R::Word; places.len()],
        writes recorders: [R::Swapped],
    } threads: places.len();

    /// Copies the words of the recorders numbered `places`.
    "gather": Gather<R: 16, 64>() {
        reads recorders: [R],
        reads places: [u32],
        writes words: [R; places.len()],
    } threads: places.len();
}
