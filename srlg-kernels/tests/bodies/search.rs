//! Tests of the kernels that search the recorders for candidates.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use srlg_core::finder::regain::{HighTable, candidates, fill_high_table, high_table_lens};
use srlg_core::finder::{Rsra, RsraParams};
use srlg_core::{Params, Recorder16};
use srlg_kernels::survey::WEIGHTS;
use srlg_kernels::{Hot, Regain, Slices, Survey, filled};

use super::launch;

fn zeros(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

fn sorted(list: Vec<AtomicU32>, count: u32) -> Vec<u32> {
    let list: Vec<u32> = list.into_iter().map(AtomicU32::into_inner).collect();
    let mut list = filled(&list, count).to_vec();
    list.sort_unstable();
    list
}

pub(crate) fn assert_search_equal(all: &Params, rough: &[Recorder16], seed: u64) {
    let (span, params) = (all.span(9, 5), all.finder().rsra().unwrap());
    let mut expected = vec![0; params.estimators()];
    Rsra::new(params, rough).masks(span.finder_ages, 0, &mut expected);
    let masks: Vec<AtomicU8> = expected.iter().map(|_| AtomicU8::new(0xa5)).collect();
    let weights = zeros(4 * WEIGHTS);
    let survey =
        Survey::<Slices<'_>> { params: *params, span, rough, masks: &masks, weights: &weights };
    launch(seed, &survey);
    let masks: Vec<u8> = masks.into_iter().map(AtomicU8::into_inner).collect();
    assert_eq!(masks, expected);
    for row in 0..4 {
        let counted = weights[row * WEIGHTS..][..WEIGHTS].iter();
        let counted: u32 = counted.map(|weight| weight.load(Relaxed)).sum();
        assert_eq!(counted as usize, hot(params, &masks, row).len());
    }
    assert_hot_equal(params, &masks, seed);
    assert_candidates_equal(params, &masks, seed);
}

fn hot(params: &RsraParams, masks: &[u8], row: usize) -> Vec<u32> {
    let columns = params.columns() as usize;
    let row = (0..).zip(&masks[row * columns..][..columns]);
    let hot = row.filter(|(_, mask)| mask.count_ones() >= params.hot_weight());
    hot.map(|(column, _)| column).collect()
}

fn assert_hot_equal(params: &RsraParams, masks: &[u8], seed: u64) {
    for row in 0..4 {
        let (list, count) = (zeros(4096), zeros(1));
        let (weight, columns) = (params.hot_weight(), &list[..]);
        let params = *params;
        launch(seed, &Hot::<Slices<'_>> { params, row, weight, masks, columns, count: &count });
        assert_eq!(sorted(list, count[0].load(Relaxed)), hot(&params, masks, row as usize));
    }
}

fn assert_candidates_equal(params: &RsraParams, masks: &[u8], seed: u64) {
    let mut arrays = high_table_lens(params).map(|len| vec![0; len]);
    let [starts, highs, present] = &mut arrays;
    fill_high_table(params, [&mut *starts, &mut *highs, &mut *present]);
    let table = HighTable::new(params, [&*starts, &*highs, &*present]);
    let (weight, columns) = (params.hot_weight(), [hot(params, masks, 0), hot(params, masks, 1)]);
    let pairs = columns[0].iter().flat_map(|&base| columns[1].iter().map(move |&to| [base, to]));
    let mut expected: Vec<u32> =
        pairs.flat_map(|pair| candidates(params, table, masks, pair, weight)).collect();
    expected.sort_unstable();
    let regained = |[bases, partners]: &[Vec<u32>; 2], room| {
        let (list, count) = (zeros(room), zeros(1));
        let regain = Regain::<Slices<'_>> {
            params: *params,
            weight,
            starts: &arrays[0],
            highs: &arrays[1],
            present: &arrays[2],
            masks,
            bases,
            base_count: &[bases.len() as u32],
            partners,
            partner_count: &[partners.len() as u32],
            hosts: &list,
            found: &count,
        };
        launch(seed, &regain);
        let found = count[0].load(Relaxed);
        (found, sorted(list, found))
    };
    for room in [expected.len() + 2, expected.len() / 2] {
        let (found, hosts) = regained(&columns, room);
        assert_eq!(found as usize > room, expected.len() > room);
        match room >= expected.len() {
            true => assert_eq!(hosts, expected),
            false => assert!(hosts.iter().all(|host| expected.binary_search(host).is_ok())),
        }
    }
    // The 1,025² pairs would spell more than 2^28 addresses, which exceeds the limit.
    let many = columns.map(|of_row| of_row.into_iter().cycle().take(1025).collect());
    assert_eq!(regained(&many, 1).0, 0);
}
