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
pub mod regain;
pub mod scan;
pub mod survey;
pub mod tally;

use core::sync::atomic::{AtomicU8, AtomicU32};

pub use grid::{Grid, THREADS};
pub use kernel::{Body, Carry, Element, EntryPoint, Kernel, KernelRecorder, Length, Place, Slices};
pub use list::{add, complete, filled};
use srlg_core::counter::{RowsParams, TaggedParams};
use srlg_core::finder::regain::high_table_lens;
use srlg_core::finder::{CellsParams, RsraParams};
use srlg_core::{ArrayParams, HostId, Ip6Pair, IpPair, Packed, Recorder16, Recorder64, Span};
use survey::{SUMS, WEIGHTS};

kernels! {
    /// Touches the cells of `pairs`, `age` epochs ago.
    "touch_cells": TouchCells(params: CellsParams, age: u32) {
        reads pairs: [IpPair],
        writes recorders: [Recorder64; params.recorders()],
    } threads: pairs.len();

    /// Touches the recorders of `pairs` in an RSRA, `age` slices ago.
    "touch_rsra": TouchRsra(params: RsraParams, age: u32) {
        reads pairs: [IpPair],
        writes recorders: [Packed<Recorder16>; Packed::<Recorder16>::words(params.recorders())],
    } threads: pairs.len();

    /// Touches the recorders of `pairs` in the lines of the tagged counter, `age` epochs ago.
    "touch_lines": TouchLines(params: TaggedParams, age: u32) {
        reads pairs: [IpPair],
        writes recorders: [Packed<Recorder16>; Packed::<Recorder16>::words(params.recorders())],
    } threads: pairs.len();

    /// Touches the recorders of `pairs` in the rows of the paper's counter, `age` slices ago.
    "touch_rows": TouchRows(params: RowsParams, age: u32) {
        reads pairs: [IpPair],
        writes recorders: [Packed<Recorder16>; Packed::<Recorder16>::words(params.recorders())],
    } threads: pairs.len();

    /// Touches the cells of `pairs` of any two addresses, `age` epochs ago.
    "touch_cells_ip6": TouchCells6(params: CellsParams, age: u32) {
        reads pairs: [Ip6Pair],
        writes recorders: [Recorder64; params.recorders()],
    } threads: pairs.len();

    /// Touches the recorders of `pairs` of any two addresses in the lines of the tagged counter, `age` epochs ago.
    "touch_lines_ip6": TouchLines6(params: TaggedParams, age: u32) {
        reads pairs: [Ip6Pair],
        writes recorders: [Packed<Recorder16>; Packed::<Recorder16>::words(params.recorders())],
    } threads: pairs.len();

    /// Counts the cells of each of the youngest ages that IPv4 hosts hold, then those that IPv6 hosts hold, in the two
    /// halves of `ages`; and those of these ages that each owner has, by its counter. All are 0 before.
    "count_cells": CountCells(params: CellsParams) {
        reads cells: [Recorder64; params.recorders()],
        writes ages: [AtomicU32],
        writes owners: [AtomicU32; params.recorders()],
    } threads: cells.len();

    /// Lists the cells of the `ages` youngest ages whose owner's counter is at least `least`: their
    /// numbers and their words.
    "list_cells": ListCells(params: CellsParams, ages: u32, least: u32) {
        reads cells: [Recorder64; params.recorders()],
        reads owners: [u32; params.recorders()],
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

    /// Counts `positions` of the linear estimators of `hosts`, from number `first` on, into `bins`,
    /// [`Span::bin_words`] per host.
    "tally": Tally(params: TaggedParams, span: Span, first: u32, positions: u32) {
        reads hosts: [HostId],
        reads linear: [Recorder16; params.recorders()],
        writes bins: [AtomicU32; hosts.len() * span.bin_words()],
    } blocks: hosts.len() * tally::parts_of(positions),
    where first <= params.positions() && positions <= params.positions() - first;

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
