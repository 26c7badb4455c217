//! Tests that run every kernel on several CPU threads at the same time and in any order. The results must equal those
//! of srlg-core on one thread.

mod cells;
mod changes;
mod contacts;
mod looks;
mod search;
mod touches;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use proptest::prelude::*;
use srlg_core::counter::Rows;
use srlg_core::{
    COUNTER, Config, HashFamily, HostId, Params, ReadRecorder, RecentRange, Recorder, Recorder16,
    Recorder32, Recorder64, RsraSizes, Scheme, Span, count_below, host,
};
use srlg_kernels as kernels;
use srlg_kernels::{Body, Grid, KernelRecorder, Slices, survey};
use zerocopy::{FromBytes, IntoBytes};

use cells::{assert_cells_equal, assert_gathered};
use changes::assert_changes_equal;
use contacts::{Contacts, HOSTS, HOSTS6, contacts, contacts_of_both};
use looks::{assert_looks, assert_tallies};
use search::assert_search_equal;
use touches::{touched_paper, touched_tagged};

/// Runs all GPU threads of `body` on three CPU threads, in an order that depends on `seed`.
fn launch(seed: u64, body: &(impl Body + Sync)) {
    let (blocks, threads) = (3 + (seed % 5) as u32, 8);
    let grid = |thread| Grid { block: thread / threads, blocks, thread: thread % threads, threads };
    let mut grids: Vec<Grid> = (0..blocks * threads).map(grid).collect();
    let order =
        |grid: &Grid| seed.rotate_left(7 * grid.block + 3 * grid.thread).wrapping_mul(0x9e37);
    grids.sort_by_key(order);
    std::thread::scope(|scope| {
        for share in grids.chunks(grids.len().div_ceil(3)) {
            scope.spawn(|| share.iter().for_each(|&grid| body.run(grid)));
        }
    });
}

const ROUGH: RsraSizes = RsraSizes { rows: 4, column_bits: 12, bit_stride: 10, ..RsraSizes::PAPER };

fn config(scheme: Scheme, linear_width: u32, seed: u64) -> Config {
    Config { scheme, linear_width, seed, threshold: 16, window: 5, ..Config::default() }
}

fn tagged() -> impl Strategy<Value = Params> {
    let hash = prop_oneof![Just(HashFamily::Murmur), Just(HashFamily::HalfSip13)];
    (12u32..16, 32u32..90, 64u32..400, hash, any::<u64>()).prop_map(
        |(cell_bits, lines, tags, hash, seed)| {
            let scheme = Scheme::Tagged { cell_bits, lines, tags };
            Config { hash, ..config(scheme, 512, seed) }.validate().unwrap()
        },
    )
}

fn paper() -> impl Strategy<Value = Params> {
    (1u32..5, 1u32..30, 1u32..9, any::<u64>()).prop_map(|(rows, columns, stride, seed)| {
        config(Scheme::Paper { finder: ROUGH, rows, columns, stride }, 70, seed).validate().unwrap()
    })
}

fn untouched<R: Recorder>(recorders: usize) -> Vec<R> {
    (0..recorders).map(|_| R::new(R::UNTOUCHED)).collect()
}

/// Returns the atomic values that contain `recorders` untouched recorders.
fn swapped<R: KernelRecorder>(recorders: usize) -> Vec<R::Swapped> {
    let bytes = [u8::MAX; 8];
    let untouched = || R::Swapped::read_from_prefix(&bytes).unwrap().0;
    (0..R::swapped(recorders)).map(|_| untouched()).collect()
}

fn recorders_of<R: KernelRecorder>(mut swapped: Vec<R::Swapped>, recorders: usize) -> Vec<R> {
    let bytes = swapped.as_mut_slice().as_mut_bytes().chunks_exact(size_of::<R>());
    bytes.take(recorders).map(|recorder| R::read_from_bytes(recorder).unwrap()).collect()
}

/// Returns the range of words below `recent`, for recorders without echoes.
fn recent(recent: u64) -> RecentRange {
    RecentRange { recent, echo: 0 }
}

fn words<R: Recorder>(recorders: &[R]) -> Vec<R::Word> {
    recorders.iter().map(ReadRecorder::word).collect()
}

fn row_weights(params: &Params, span: Span, linear: &[Recorder16], seed: u64) -> Vec<u32> {
    let sizes = params.counter_sizes();
    let sums = sizes.rows as usize * survey::SUMS;
    let sums: Vec<AtomicU32> = (0..sums).map(|_| AtomicU32::new(0)).collect();
    let (row_len, limit) = (sizes.row_len, params.recent_ranges(span)[COUNTER].of_width().recent);
    let count = kernels::Count::<Slices<'_>, _> { row_len, limit, recorders: linear, sums: &sums };
    launch(seed, &count);
    let of_row = |sums: &[AtomicU32]| sums.iter().map(|sum| sum.load(Relaxed)).sum();
    sums.chunks_exact(survey::SUMS).map(of_row).collect()
}

fn expected_weights(params: &Params, span: Span, linear: &[Recorder16]) -> Vec<u32> {
    let limit = params.recent_ranges(span)[COUNTER].of_width().recent;
    let rows = linear.chunks_exact(params.counter_sizes().row_len as usize);
    rows.map(|row| count_below(row, limit)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn kernels_of_the_tagged_scheme_equal_srlg_core(
        params in tagged(),
        contacts in contacts_of_both(),
        seed in any::<u64>(),
    ) {
        let (cells, linear) = touched_tagged(&params, &contacts, seed);
        assert_cells_equal(&params, &cells, seed);
        let all = params;
        let params = *all.counter().tagged().unwrap();
        let hosts: Vec<HostId> = HOSTS.map(HostId::from).into_iter()
            .chain(HOSTS6.map(|limbs| all.host_id(host(limbs))))
            .collect();

        let span = all.span(9, 4);
        for (first, positions) in [(0, 64), (0, 512), (512, 512)] {
            assert_tallies(&params, &linear, &hosts, span, first..first + positions, seed);
        }
        assert_looks(&all, &linear, &cells, &hosts, span, seed);
        prop_assert_eq!(row_weights(&all, span, &linear, seed), expected_weights(&all, span, &linear));
        assert_gathered(&cells, seed);
        assert_gathered(&linear, seed);
        let age_step = all.finder().age_step();
        assert_changes_equal(&cells, recent(3 * age_step), 2 * age_step, seed);
        let [recent, echo, step] = [3, params.echo_delay(), 2].map(|ages| params.step(ages).into());
        assert_changes_equal(&linear, RecentRange { recent, echo }, step, seed);
    }

    #[test]
    fn kernels_of_the_paper_s_scheme_equal_srlg_core(
        params in paper(),
        contacts in contacts(),
        seed in any::<u64>(),
    ) {
        let (rough, linear) = touched_paper(&params, &contacts, seed);
        assert_search_equal(&params, &rough, seed);
        let all = params;
        let params = *all.counter().rows().unwrap();
        let rows = Rows::new(&params, &linear);

        let span = all.span(9, 4);
        for positions in [33, 70] {
            let weights: Vec<AtomicU32> = HOSTS.iter().map(|_| AtomicU32::new(0)).collect();
            let (hosts, linear) = (&HOSTS.map(HostId::from)[..], &linear[..]);
            let of_hosts = &weights[..];
            launch(
                seed,
                &kernels::Union::<Slices<'_>> {
                    params, span, positions, hosts, linear, weights: of_hosts
                },
            );
            for (host, weight) in HOSTS.into_iter().zip(weights) {
                prop_assert_eq!(weight.into_inner(), rows.tally(host, span, 0..positions));
            }
        }
        prop_assert_eq!(row_weights(&all, span, &linear, seed), expected_weights(&all, span, &linear));
        assert_changes_equal(&rough, recent(3), 2, seed);
        assert_changes_equal(&linear, recent(3), 2, seed);
    }

    #[test]
    fn kernels_change_wide_recorders(
        wide in prop::collection::vec(prop_oneof![0u64..9, u64::MAX - 9..=u64::MAX, any::<u64>()], 1..300),
        step in prop_oneof![0u64..9, any::<u64>()],
        seed in any::<u64>(),
    ) {
        let narrow: Vec<Recorder32> = wide.iter().map(|&word| Recorder32::new(word as u32)).collect();
        let wide: Vec<Recorder64> = wide.iter().map(|&word| Recorder64::new(word)).collect();
        assert_changes_equal(&narrow, recent(5), step, seed);
        let above_32_bits = RecentRange { recent: 1 << 40, echo: 1 << 41 };
        assert_changes_equal(&wide, above_32_bits, step, seed);
    }
}
