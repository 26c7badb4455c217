//! Tests that the CPU backend equals the paper's model in every slice of random streams.

use std::collections::HashMap;
use std::sync::Mutex;

use proptest::prelude::*;
use srlg_core::scheme::PaperTypes;
use srlg_core::{
    Address, Ages, COUNTER, Config, EstimateRange, FINDER, Ipv4Pair, Params, RsraSizes, Scheme,
    Tally,
};
use srlg_reference::PaperModel;
use srlg_traffic::family::{ip, number};

use super::CpuBackend;
use crate::backend::{Backend, HostTallies, Pairs};
use crate::finder::FinderFill;
use crate::ingest::pairs::PairSlice;
use crate::state::Words;

/// A contact: an index into [`HOSTS`], a peer, and the number of slices by which it is late.
type Contact = (usize, u32, u16);

/// Extreme and neighbouring addresses, and addresses that differ only in high bits.
const HOSTS: [Address; 12] = [
    0,
    u32::MAX,
    0x0a00_0001,
    0x0a00_0002,
    0x0a00_0003,
    0x0b00_0001,
    0xc0a8_0101,
    0xc0a8_0201,
    0x8000_0000,
    0x7fff_ffff,
    0x0000_0fff,
    0x0000_1000,
];

fn configs() -> impl Strategy<Value = Config> {
    let rough = prop_oneof![
        Just((12, 10, 4, 8)),
        Just((13, 10, 4, 4)),
        Just((14, 3, 8, 8)),
        Just((13, 12, 5, 8))
    ];
    let linear = (1u32..4, 1u32..60, 32u32..80, 1u32..8);
    let rough = rough.prop_map(|(column_bits, bit_stride, rows, width)| RsraSizes {
        column_bits,
        bit_stride,
        rows,
        width,
        ..RsraSizes::PAPER
    });
    (rough, linear, 1u32..6, 8u32..40, any::<u64>()).prop_map(
        |(finder, linear, window, threshold, seed)| Config {
            threshold,
            window,
            scheme: Scheme::Paper { finder, rows: linear.0, columns: linear.1, stride: linear.3 },
            linear_width: linear.2,
            seed,
            ..Config::paper()
        },
    )
}

fn streams() -> impl Strategy<Value = Vec<Vec<Contact>>> {
    let late = prop_oneof![8 => Just(0u16), 1 => 1u16..7];
    let slice = prop::collection::vec((0..HOSTS.len(), 0u32..300, late), 0..350);
    prop::collection::vec(slice, 1..9)
}

type PaperBackend = CpuBackend<PaperTypes>;

fn backend(params: Params) -> PaperBackend {
    CpuBackend::new(params).unwrap()
}

fn assert_recorders_equal(backend: &PaperBackend, model: &PaperModel) {
    let expected: Vec<u16> = model.rsra.iter().flatten().flatten().copied().collect();
    assert_eq!(backend.export(FINDER).unwrap(), Words::W16(expected));
    assert_eq!(backend.export(COUNTER).unwrap(), Words::W16(model.slea.concat()));
}

fn assert_search_equal(backend: &mut PaperBackend, model: &PaperModel, config: &Config) {
    let params = config.validate().unwrap();
    let rsra = params.finder().rsra().unwrap();
    let (window, weight) = (config.window as u16, rsra.hot_weight());
    let span = params.span(0, config.window);
    let candidates = backend.candidates(span, &[], params.candidate_limit()).unwrap();
    let FinderFill::Rsra { hot_weight, hot_shares } = &candidates.health.fill else {
        panic!("an RSRA, not {:?}", candidates.health.fill);
    };
    assert_eq!(*hot_weight, weight);
    for row in 0..rsra.rows() {
        let hot = (0u32..).zip(backend.search.masks_of_row(row).iter());
        let hot: Vec<u32> = hot.filter(|(_, m)| m.count_ones() >= weight).map(|(c, _)| c).collect();
        assert_eq!(hot, model.hot(row as usize, window, weight));
        assert_eq!(hot_shares[row as usize], hot.len() as f64 / f64::from(rsra.columns()));
    }
    let expected: Vec<_> = model.candidates(window, weight).into_iter().map(ip).collect();
    assert_eq!(candidates.hosts, expected);
    let tallies = Mutex::new(HashMap::new());
    let put = |of: &HostTallies<'_>| {
        let &[tally] = of.tallies else { panic!("one region, not {}", of.tallies.len()) };
        assert!(tallies.lock().unwrap().insert(of.host, tally).is_none());
    };
    backend.tally(&candidates, &put).unwrap();
    let (tallies, row_weights) = (tallies.into_inner().unwrap(), candidates.row_weights.unwrap());
    for host in &candidates.hosts {
        let (host, tally) = (number(*host), tallies[host]);
        assert_eq!(tally, Tally::Union(model.union_weight(host, window)));
        let estimate = params.estimate(&[tally], span, &row_weights);
        let fast = (estimate.range != EstimateRange::Beyond).then_some(estimate.cardinality);
        assert_eq!(fast, model.cardinality(host, window));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn cpu_backend_equals_the_paper_s_model_slice_by_slice(
        config in configs(),
        stream in streams(),
    ) {
        let mut backend = backend(config.validate().unwrap());
        let mut model = PaperModel::new(config).unwrap();
        for slice in stream {
            for (host, peer, late) in slice {
                let pair = Ipv4Pair { inside: HOSTS[host], peer };
                let ages = Ages { finder: late.into(), counter: late.into() };
                backend.scan(Pairs::Plain(PairSlice::V4(&[pair])), ages).unwrap();
                model.scan(pair, late);
            }
            assert_recorders_equal(&backend, &model);
            assert_search_equal(&mut backend, &model, &config);
            backend.age(Ages { finder: 1, counter: 1 }).unwrap();
            model.next_slice();
        }
    }
}

// Sixty hot columns per row agree by chance in hundreds of thousands of tuples. The paper omits the check that
// RHFG[0](inside) equals the column of row 0. This check separates real hosts from false ones.
#[test]
fn check_of_row_0_removes_most_fake_tuples() {
    let finder = RsraSizes { column_bits: 12, bit_stride: 10, rows: 4, ..RsraSizes::PAPER };
    let config = Config {
        threshold: 16,
        scheme: Scheme::Paper { finder, rows: 5, columns: 100, stride: 16 },
        linear_width: 64,
        ..Config::paper()
    };
    let mut model = PaperModel::new(config).unwrap();
    for host in 0..60u32 {
        (0..200).for_each(|peer| model.scan(Ipv4Pair { inside: host * 0x0101_0101, peer }, 0));
    }
    let (tuples, candidates) = (model.tuples(1, 3), model.candidates(1, 3));
    assert!((0..60).all(|host| candidates.contains(&(host * 0x0101_0101))));
    // A false host passes with probability 2^-q, and the masks of the union remove further false hosts.
    assert!(tuples.len() > 100 * candidates.len(), "{} {}", tuples.len(), candidates.len());
}
