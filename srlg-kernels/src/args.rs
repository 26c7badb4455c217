//! What a launch passes: one structure per entry point, filled by the host, taken by value.
//!
//! Both sides share these types, so neither can take one argument for another. The fields are
//! named as the arguments of the kernels' bodies. Pointers are to device memory: each to as many
//! elements as its length beside it says, or as `params` imply (`Params::rough_recorders`,
//! `Params::linear_recorders`, `regain::high_table_lens`, one mask per rough estimator).

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use srlg_core::{Address, Ages, IpPair, Params, Recorder8, Recorder16, Span, Twin};

/// The arguments of an entry point.
pub trait Arguments {
    /// The name of the entry point.
    const NAME: &'static str;
}

macro_rules! arguments {
    ($(
        $(#[$doc:meta])*
        $name:ident $(<$recorder:ident>)? { $($field:ident: $type:ty,)* }
        => $($entry:literal for $arguments:ty),+;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            #[repr(C)]
            #[allow(missing_docs, reason = "as the arguments of the body")]
            pub struct $name $(<$recorder>)? { $(pub $field: $type,)* }
            $(impl Arguments for $arguments { const NAME: &'static str = $entry; })+
        )*

        /// The names of all entry points.
        pub const NAMES: &[&str] = &[$($($entry),+),*];
    };
}

arguments! {
    /// [`scan`](crate::scan::scan) of `len` pairs; two recorders are a twin.
    Scan {
        params: Params, ages: Ages, pairs: *const IpPair, len: u32,
        rough: *const Recorder8, linear: *const Twin,
    } => "scan" for Scan;

    /// [`scan_rows`](crate::scan::scan_rows) of `len` pairs.
    ScanRows {
        params: Params, ages: Ages, pairs: *const IpPair, len: u32,
        rough: *const Recorder16, linear: *const Recorder16,
    } => "scan_rows" for ScanRows;

    /// [`survey`](crate::survey::survey).
    Survey<R> {
        params: Params, span: Span, rough: *const R,
        masks: *const AtomicU8, weights: *const AtomicU32,
    } => "survey8" for Survey<Recorder8>, "survey16" for Survey<Recorder16>;

    /// [`weigh`](crate::survey::weigh).
    Weigh {
        params: Params, span: Span, linear: *const Recorder16, weights: *const AtomicU32,
    } => "weigh" for Weigh;

    /// [`hot`](crate::survey::hot); `len` is that of `columns`.
    Hot {
        params: Params, row: u32, weight: u32, masks: *const u8,
        columns: *const AtomicU32, len: u32, count: *const AtomicU32,
    } => "hot" for Hot;

    /// [`regain`](crate::regain::regain); `columns` have `len` each and are complete lists by
    /// their `counts`, `hosts` have `limit`.
    Regain {
        params: Params, weight: u32, table: [*const u32; 3], masks: *const u8,
        columns: [*const u32; 2], len: u32, counts: [*const u32; 2],
        hosts: *const AtomicU32, limit: u32, found: *const AtomicU32,
    } => "regain" for Regain;

    /// [`tally`](crate::tally::tally) of `hosts`: `len`, of which `count` says how many are
    /// filled, and as many times the bins of a host.
    Tally {
        params: Params, span: Span, positions: u32,
        hosts: *const Address, len: u32, count: *const u32,
        linear: *const Recorder16, bins: *const AtomicU32,
    } => "tally" for Tally;

    /// [`union`](crate::tally::union) of `hosts`: `len`, of which `count` says how many are
    /// filled.
    Union {
        params: Params, span: Span, hosts: *const Address, len: u32, count: *const u32,
        linear: *const Recorder16, weights: *const AtomicU32,
    } => "union_weight" for Union;

    /// [`age`](crate::change::age) of `len` recorders.
    Age<R> {
        recorders: *const R, len: u32, step: u32,
    } => "age8" for Age<Recorder8>, "age16" for Age<Recorder16>;

    /// [`merge`](crate::change::merge) of `words_len` words into `len` recorders.
    Merge<R> {
        recorders: *const R, len: u32, first: u32, words: *const u16, words_len: u32, step: u32,
    } => "merge8" for Merge<Recorder8>, "merge16" for Merge<Recorder16>;

    /// [`extract`](crate::change::extract) from the RSRA: words below `ages`; `len` is that of
    /// `recent`.
    ExtractRough<R> {
        params: Params, ages: u32, recorders: *const R,
        recent: *const AtomicU64, len: u32, count: *const AtomicU32,
    } => "extract_rough8" for ExtractRough<Recorder8>,
        "extract_rough16" for ExtractRough<Recorder16>;

    /// [`extract`](crate::change::extract) from the SLEA, by `Params::is_recent`; `len` is that
    /// of `recent`.
    ExtractLinear {
        params: Params, ages: u32, recorders: *const Recorder16,
        recent: *const AtomicU64, len: u32, count: *const AtomicU32,
    } => "extract_linear" for ExtractLinear;

    /// [`apply`](crate::change::apply) of `entries_len` entries to `len` recorders.
    Apply<R> {
        recorders: *const R, len: u32, entries: *const u64, entries_len: u32, step: u32,
    } => "apply8" for Apply<Recorder8>, "apply16" for Apply<Recorder16>;
}
