//! What a launch passes: [`Kernel`]s become the structures of srlg-kernels' [`args`].

use cudarc::driver::DriverError;
use srlg_core::{Address, Ages, IpPair, Params, Recorder8, Recorder16, Span};
use srlg_kernels::args::{self, Arguments};

use super::driver::Memory;
use crate::gpu::device::{Memory as _, Part};
use crate::gpu::kernel::{Array, Kernel};

/// Takes the arguments of an entry point.
pub(super) trait Launcher {
    /// Launches it.
    fn launch<A: Arguments>(self, arguments: A) -> Result<(), DriverError>;
}

/// Launches the entry point of `kernel`: where there are two, that for the width of the recorders.
pub(super) fn pass(
    kernel: &Kernel<'_, Memory>,
    params: &Params,
    launcher: impl Launcher,
) -> Result<(), DriverError> {
    macro_rules! by_width {
        ($array:expr, $arguments:ident($($field:expr),*)) => {
            if $array.recorder_bytes(params) == 1 {
                launcher.launch($arguments::<Recorder8>($($field),*))
            } else {
                launcher.launch($arguments::<Recorder16>($($field),*))
            }
        };
    }
    let p = *params;
    match *kernel {
        Kernel::Scan { ages, pairs, rough, linear } if p.is_tagged() => {
            launcher.launch(scan(p, ages, pairs, rough, linear))
        }
        Kernel::Scan { ages, pairs, rough, linear } => {
            launcher.launch(scan_rows(p, ages, pairs, rough, linear))
        }
        Kernel::Survey { span, rough, masks, weights } => {
            by_width!(Array::Rough, survey(p, span, rough, masks, weights))
        }
        Kernel::Weigh { span, linear, weights } => {
            let (linear, weights) = (all(linear), at(weights));
            launcher.launch(args::Weigh { params: p, span, linear, weights })
        }
        Kernel::Hot { row, weight, masks, columns, count } => {
            launcher.launch(hot(p, [row, weight], masks, columns, count))
        }
        Kernel::Regain { weight, table, masks, columns, counts, hosts, found } => {
            launcher.launch(regain(p, weight, (table, masks), (columns, counts), (hosts, found)))
        }
        Kernel::Tally { span, positions, hosts, count, linear, bins } => {
            launcher.launch(tally(p, (span, positions), (hosts, count), linear, bins))
        }
        Kernel::Union { span, hosts, count, linear, weights } => {
            launcher.launch(union(p, span, (hosts, count), linear, weights))
        }
        Kernel::Age { array, recorders, step } => by_width!(array, age(recorders, step)),
        Kernel::Merge { array, recorders, first, words, step } => {
            by_width!(array, merge(recorders, first, words, step))
        }
        Kernel::Extract { array: Array::Linear, ages, recorders, recent, count } => {
            launcher.launch(extract_linear(p, ages, recorders, recent, count))
        }
        Kernel::Extract { array, ages, recorders, recent, count } => {
            by_width!(array, extract_rough(p, ages, recorders, recent, count))
        }
        Kernel::Apply { array, recorders, entries, step } => {
            by_width!(array, apply(recorders, entries, step))
        }
    }
}

type M<'a> = &'a Memory;
type P<'a> = Part<'a, Memory>;

/// The address of a part.
fn at<T>(part: P<'_>) -> *const T {
    part.address() as *const T
}

/// The address of all of a memory.
fn all<T>(memory: M<'_>) -> *const T {
    at(memory.all())
}

/// The length of a part, in values of `T`.
fn len<T>(part: P<'_>) -> u32 {
    u32::try_from(part.len::<T>()).expect("no part has 2^32 values")
}

fn scan(params: Params, ages: Ages, pairs: P<'_>, rough: M<'_>, linear: M<'_>) -> args::Scan {
    let len = len::<IpPair>(pairs);
    args::Scan { params, ages, pairs: at(pairs), len, rough: all(rough), linear: all(linear) }
}

fn scan_rows(
    params: Params,
    ages: Ages,
    pairs: P<'_>,
    rough: M<'_>,
    linear: M<'_>,
) -> args::ScanRows {
    let len = len::<IpPair>(pairs);
    args::ScanRows { params, ages, pairs: at(pairs), len, rough: all(rough), linear: all(linear) }
}

fn survey<R>(
    params: Params,
    span: Span,
    rough: M<'_>,
    masks: M<'_>,
    weights: P<'_>,
) -> args::Survey<R> {
    args::Survey { params, span, rough: all(rough), masks: all(masks), weights: at(weights) }
}

fn hot(
    params: Params,
    [row, weight]: [u32; 2],
    masks: M<'_>,
    columns: M<'_>,
    count: P<'_>,
) -> args::Hot {
    let (len, masks) = (len::<u32>(columns.all()), all(masks));
    args::Hot { params, row, weight, masks, columns: all(columns), len, count: at(count) }
}

fn regain(
    params: Params,
    weight: u32,
    (table, masks): ([M<'_>; 3], M<'_>),
    (columns, counts): ([M<'_>; 2], [P<'_>; 2]),
    (hosts, found): (P<'_>, P<'_>),
) -> args::Regain {
    args::Regain {
        params,
        weight,
        table: table.map(all),
        masks: all(masks),
        columns: columns.map(all),
        len: len::<u32>(columns[0].all()),
        counts: counts.map(at),
        hosts: at(hosts),
        limit: len::<u32>(hosts),
        found: at(found),
    }
}

fn tally(
    params: Params,
    (span, positions): (Span, u32),
    (hosts, count): (P<'_>, P<'_>),
    linear: M<'_>,
    bins: P<'_>,
) -> args::Tally {
    let (len, linear, bins) = (len::<Address>(hosts), all(linear), at(bins));
    args::Tally { params, span, positions, hosts: at(hosts), len, count: at(count), linear, bins }
}

fn union(
    params: Params,
    span: Span,
    (hosts, count): (P<'_>, P<'_>),
    linear: M<'_>,
    weights: P<'_>,
) -> args::Union {
    let (len, linear, weights) = (len::<Address>(hosts), all(linear), at(weights));
    args::Union { params, span, hosts: at(hosts), len, count: at(count), linear, weights }
}

fn age<R>(recorders: M<'_>, step: u32) -> args::Age<R> {
    args::Age { recorders: all(recorders), len: len::<R>(recorders.all()), step }
}

fn merge<R>(recorders: M<'_>, first: u32, words: P<'_>, step: u32) -> args::Merge<R> {
    let (len, words_len) = (len::<R>(recorders.all()), len::<u16>(words));
    args::Merge { recorders: all(recorders), len, first, words: at(words), words_len, step }
}

fn extract_rough<R>(
    params: Params,
    ages: u32,
    recorders: M<'_>,
    recent: P<'_>,
    count: P<'_>,
) -> args::ExtractRough<R> {
    let (len, recorders, recent) = (len::<u64>(recent), all(recorders), at(recent));
    args::ExtractRough { params, ages, recorders, recent, len, count: at(count) }
}

fn extract_linear(
    params: Params,
    ages: u32,
    recorders: M<'_>,
    recent: P<'_>,
    count: P<'_>,
) -> args::ExtractLinear {
    let (len, recorders, recent) = (len::<u64>(recent), all(recorders), at(recent));
    args::ExtractLinear { params, ages, recorders, recent, len, count: at(count) }
}

fn apply<R>(recorders: M<'_>, entries: P<'_>, step: u32) -> args::Apply<R> {
    let (len, entries_len) = (len::<R>(recorders.all()), len::<u64>(entries));
    args::Apply { recorders: all(recorders), len, entries: at(entries), entries_len, step }
}
