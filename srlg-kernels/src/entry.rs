//! Entry points: pointers in, slices out. The only unsafe code of this crate.
//!
//! # Contract of a launch
//! Every pointer of the [`args`] is to device memory that stays allocated while
//! the kernel runs, is aligned for its type, and has as many elements as `args` says. `params`
//! come from `Config::validate`. What is no atomic nobody writes meanwhile. Kernels beside each
//! other may touch the recorders of the SLEA by 16 bits and, as twins, by 32: each such access is
//! an atomic of the memory system, which works on aligned words of 32 bits. srlg-host checks the
//! lengths before every launch.
//!
//! A kernel over the RSRA comes twice, for recorders of 8 bits (tagged scheme) and of 16 bits
//! (paper's scheme).
#![allow(unsafe_code, reason = "a kernel gets its memory as pointers")]

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _grid_dim_x, _thread_idx_x, trap};
use core::slice::from_raw_parts;
use core::sync::atomic::{AtomicU8, AtomicU32};

use crate::survey::{SUMS, WEIGHTS};
use crate::{Grid, List, args, change, complete, filled, regain, scan, survey, tally};
use srlg_core::regain::{HighTable, high_table_lens};
use srlg_core::{Recorder, Recorder8, Recorder16};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: a trap ends the kernel, and the host sees that it failed.
    unsafe { trap() }
}

fn grid() -> Grid {
    // SAFETY: these read registers that every thread has.
    let [block, blocks, lane, lanes] =
        unsafe { [_block_idx_x(), _grid_dim_x(), _thread_idx_x(), _block_dim_x()] };
    Grid { block: block as u32, blocks: blocks as u32, lane: lane as u32, lanes: lanes as u32 }
}

/// `len` elements.
///
/// # Safety
/// `first` points to so many, for as long as the kernel runs; see the contract of a launch.
unsafe fn slice<'a, T>(first: *const T, len: usize) -> &'a [T] {
    // SAFETY: the caller's promise.
    unsafe { from_raw_parts(first, len) }
}

macro_rules! entry_points {
    ($($entry:ident($a:ident: $arguments:ty) $body:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "ptx-kernel" fn $entry($a: $arguments) {
                // SAFETY: the contract of a launch.
                unsafe { $body }
            }
        )*
    };
}

entry_points! {
    scan(a: args::Scan) {
        let pairs = slice(a.pairs, a.len as usize);
        let rough = slice(a.rough, a.params.rough_recorders());
        let linear = slice(a.linear, a.params.linear_recorders() / 2);
        scan::scan(grid(), &a.params, a.ages, pairs, (rough, linear))
    };
    scan_rows(a: args::ScanRows) {
        let pairs = slice(a.pairs, a.len as usize);
        let rough = slice(a.rough, a.params.rough_recorders());
        let linear = slice(a.linear, a.params.linear_recorders());
        scan::scan_rows(grid(), &a.params, a.ages, pairs, (rough, linear))
    };
    survey8(a: args::Survey<Recorder8>) survey(&a);
    survey16(a: args::Survey<Recorder16>) survey(&a);
    weigh(a: args::Weigh) {
        let linear = slice(a.linear, a.params.linear_recorders());
        let weights = slice(a.weights, a.params.linear_rows() as usize * SUMS);
        survey::weigh(grid(), &a.params, a.span, linear, weights)
    };
    hot(a: args::Hot) {
        let masks = slice(a.masks, a.params.rough_estimators());
        let columns = List::new(slice(a.columns, a.len as usize), &*a.count);
        survey::hot(grid(), &a.params, (a.row, a.weight), masks, columns)
    };
    regain(a: args::Regain) {
        let [starts, highs, present] = high_table_lens(&a.params);
        let [starts, highs, present] =
            [slice(a.table[0], starts), slice(a.table[1], highs), slice(a.table[2], present)];
        let table = HighTable::new(&a.params, starts, highs, present);
        let masks = slice(a.masks, a.params.rough_estimators());
        let column = |row: usize| complete(slice(a.columns[row], a.len as usize), *a.counts[row]);
        let hosts = List::new(slice(a.hosts, a.limit as usize), &*a.found);
        regain::regain(grid(), &a.params, a.weight, (table, masks), [column(0), column(1)], hosts)
    };
    tally(a: args::Tally) {
        let hosts = filled(slice(a.hosts, a.len as usize), *a.count);
        let linear = slice(a.linear, a.params.linear_recorders());
        let bins = slice(a.bins, a.len as usize * a.span.bins());
        tally::tally(grid(), &a.params, (a.span, a.positions), hosts, linear, bins)
    };
    union_weight(a: args::Union) {
        let hosts = filled(slice(a.hosts, a.len as usize), *a.count);
        let linear = slice(a.linear, a.params.linear_recorders());
        tally::union(grid(), &a.params, a.span, hosts, linear, slice(a.weights, a.len as usize))
    };
    age8(a: args::Age<Recorder8>) age(&a);
    age16(a: args::Age<Recorder16>) age(&a);
    merge8(a: args::Merge<Recorder8>) merge(&a);
    merge16(a: args::Merge<Recorder16>) merge(&a);
    extract_rough8(a: args::ExtractRough<Recorder8>) extract_rough(&a);
    extract_rough16(a: args::ExtractRough<Recorder16>) extract_rough(&a);
    extract_linear(a: args::ExtractLinear) {
        let recorders = slice(a.recorders, a.params.linear_recorders());
        let recent = List::new(slice(a.recent, a.len as usize), &*a.count);
        let is_recent = |word| a.params.is_recent(word as u16, a.ages);
        change::extract(grid(), recorders, is_recent, recent)
    };
    apply8(a: args::Apply<Recorder8>) apply(&a);
    apply16(a: args::Apply<Recorder16>) apply(&a);
}

// SAFETY, for all of these: the contract of a launch.

unsafe fn survey<R: Recorder>(a: &args::Survey<R>) {
    let rows = a.params.rough_rows() as usize;
    // SAFETY: the caller's promise.
    let (rough, masks, weights): (_, &[AtomicU8], &[AtomicU32]) = unsafe {
        (
            slice(a.rough, a.params.rough_recorders()),
            slice(a.masks, a.params.rough_estimators()),
            slice(a.weights, rows * WEIGHTS),
        )
    };
    survey::survey(grid(), &a.params, a.span, rough, (masks, weights));
}

unsafe fn age<R: Recorder>(a: &args::Age<R>) {
    // SAFETY: the caller's promise.
    change::age(grid(), unsafe { slice(a.recorders, a.len as usize) }, a.step);
}

unsafe fn merge<R: Recorder>(a: &args::Merge<R>) {
    // SAFETY: the caller's promise.
    let (recorders, words) =
        unsafe { (slice(a.recorders, a.len as usize), slice(a.words, a.words_len as usize)) };
    change::merge(grid(), recorders, a.first, words, a.step);
}

unsafe fn extract_rough<R: Recorder>(a: &args::ExtractRough<R>) {
    // SAFETY: the caller's promise.
    let (recorders, recent) = unsafe {
        let recent = List::new(slice(a.recent, a.len as usize), &*a.count);
        (slice(a.recorders, a.params.rough_recorders()), recent)
    };
    change::extract(grid(), recorders, |word| word < a.ages, recent);
}

unsafe fn apply<R: Recorder>(a: &args::Apply<R>) {
    // SAFETY: the caller's promise.
    let (recorders, entries) =
        unsafe { (slice(a.recorders, a.len as usize), slice(a.entries, a.entries_len as usize)) };
    change::apply(grid(), recorders, entries, a.step);
}
