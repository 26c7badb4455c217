use super::*;
use crate::Config;
use crate::recorder::Recorder16;
extern crate std;
use proptest::prelude::*;
use std::vec::Vec;

fn small() -> Params {
    let config = Config {
        threshold: 8,
        linear_rows: 3,
        linear_columns: 50,
        linear_width: 64,
        linear_stride: 2,
        ..Config::paper()
    };
    config.validate().unwrap()
}

fn untouched(params: &Params) -> Vec<Recorder16> {
    (0..params.linear_recorders()).map(|_| Recorder16::new(Recorder16::UNTOUCHED)).collect()
}

#[test]
fn last_estimator_of_a_row_ends_with_the_row() {
    let params = small();
    assert_eq!(params.linear_row_len(), 49 * 2 + 64);
    let recorders = untouched(&params);
    let slea = Slea::new(&params, &recorders);
    for aip in 0..1000 {
        assert_eq!((0..3).map(|row| slea.estimator(row, aip).len()).sum::<usize>(), 3 * 64);
    }
}

#[test]
fn tally_counts_a_position_only_while_every_row_is_in_the_window() {
    let params = small();
    let mut recorders = untouched(&params);
    let (aip, pair) = (0x0a00_0001, IpPair { aip: 0x0a00_0001, bip: 77 });
    Slea::new(&params, &recorders).touch(&[pair], 0);
    let weight = |recorders: &[Recorder16], ages| {
        Slea::new(&params, recorders)
            .union_weight(aip, Span { ages, oldest_slices: 1, oldest_length: 1 })
    };
    assert_eq!(weight(&recorders, 1), 1);
    let position = params.linear_position(77) as usize;
    Slea::new(&params, &recorders).estimator(2, aip)[position].most_recent(0);
    recorders.iter_mut().for_each(|r| r.grow(1));
    for row in 0..2 {
        // Rows 0 and 1 are touched again: row 2 alone decides.
        Slea::new(&params, &recorders).estimator(row, aip)[position].most_recent(0);
    }
    assert_eq!([1, 2].map(|ages| weight(&recorders, ages)), [0, 1]);
}

fn small_tagged(seed: u64) -> Params {
    let config =
        Config { threshold: 8, linear_columns: 50, linear_width: 70, seed, ..Config::tagged() };
    config.validate().unwrap()
}

/// The visible ages of a run, position by position, as the module's text says it.
fn visible(params: &Params, recorders: &[Recorder16], aip: Address) -> Histograms {
    let slea = Slea::new(params, recorders);
    let mut histograms = Histograms { all: [0; AGES], own: [0; AGES] };
    for position in 0..params.linear_width() as usize {
        let rows: Vec<(u16, u16, u16)> = (0..params.linear_rows())
            .map(|row| {
                let word = slea.estimator(row, aip)[position].word();
                let own = Tagger::new(params, row, aip).tag(position as u16);
                (word >> params.tag_bits(), word & 0xff, own)
            })
            .collect();
        let age = rows.iter().map(|row| row.0).max().unwrap();
        let oldest = || rows.iter().filter(|row| row.0 == age);
        let own = oldest().any(|row| row.1 == row.2) && oldest().all(|row| row.1 <= row.2);
        histograms.all[usize::from(age)] += 1;
        histograms.own[usize::from(age)] += u32::from(own);
    }
    histograms
}

proptest! {
    // Few ages and foreigners from few hosts, so that rows tie and tags meet.
    #[test]
    fn histograms_match_their_definition(
        seed: u64,
        touches in prop::collection::vec((0u32..4, any::<u32>(), 0u32..4), 0..400),
    ) {
        let params = small_tagged(seed);
        let recorders = untouched(&params);
        for (aip, bip, age) in touches {
            Slea::new(&params, &recorders).touch(&[IpPair { aip, bip }], age);
        }
        for aip in 0..5 {
            let tally = Slea::new(&params, &recorders).tally(aip, params.span(9, 5), 70);
            prop_assert_eq!(tally, Tally::Visible(visible(&params, &recorders, aip)));
        }
    }

    #[test]
    fn order_and_batches_of_touches_do_not_matter(
        seed: u64,
        mut touches in prop::collection::vec((0u32..40, any::<u32>()), 1..300),
        batch in 1usize..200,
    ) {
        let params = small_tagged(seed);
        let words = |touches: &[(u32, u32)], batch: usize| {
            let recorders = untouched(&params);
            let pairs: Vec<IpPair> = touches.iter().map(|&(aip, bip)| IpPair { aip, bip }).collect();
            pairs.chunks(batch).for_each(|pairs| Slea::new(&params, &recorders).touch(pairs, 0));
            recorders.iter().map(Reading::word).collect::<Vec<_>>()
        };
        let expected = words(&touches, 1);
        touches.reverse();
        touches.extend_from_within(..touches.len() / 2);
        prop_assert_eq!(words(&touches, batch), expected);
    }
}

#[test]
fn own_touches_without_foreigners_are_all_visible() {
    let params = small_tagged(1);
    let recorders = untouched(&params);
    let pairs: Vec<IpPair> = (0..30).map(|bip| IpPair { aip: 7, bip }).collect();
    Slea::new(&params, &recorders).touch(&pairs, 3);
    let mut positions: Vec<u32> = (0..30).map(|bip| params.linear_position(bip)).collect();
    positions.sort_unstable();
    positions.dedup();
    let histograms = visible(&params, &recorders, 7);
    assert_eq!(histograms.own[3] as usize, positions.len());
    assert_eq!(histograms.all[255] as usize, 70 - positions.len());
}
