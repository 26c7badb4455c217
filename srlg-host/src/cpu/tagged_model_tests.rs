//! A detector on the CPU equals the model of the tagged scheme, step by step, on random streams.

use proptest::prelude::*;
use srlg_core::{Address, Config, Estimate, Hash, IpPair, Scheme, Tally};
use srlg_traffic::reference::{TaggedEstimate, TaggedModel, TaggedTally};

use crate::state::Words;
use crate::{Device, SlidingDetector, Snapshot, SuperPoint};

/// Neighbours, extremes, and hosts that differ in high bits only; the last one touches nothing.
const HOSTS: [Address; 9] = [
    0,
    u32::MAX,
    0x0a00_0001,
    0x0a00_0002,
    0x0b00_0001,
    0xc0a8_0101,
    0x7fff_ffff,
    0x0000_ffff,
    0x0001_0000,
];

/// One contact: an index into [`HOSTS`] and a peer.
type Contact = (usize, u32);

/// What happens to one of two nodes, the first or the second.
#[derive(Clone, Debug)]
enum Step {
    /// Contacts come in, `late` slices late, by `threads` threads.
    Ingest { contacts: Vec<Contact>, late: u32, threads: usize },
    /// Slices are skipped.
    Skip(u64),
    /// The running slice is closed.
    Close,
    /// The node's state is kept, in place of what was kept of it before.
    Keep,
    /// What was kept of the other node is merged, or its state if nothing was kept.
    Merge,
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let contact = (0..HOSTS.len() - 1, prop_oneof![0u32..40, 0u32..4000]);
    let contacts = prop_oneof![
        3 => prop::collection::vec(contact.clone(), 0..200),
        1 => prop::collection::vec(contact, 1000..3000),
    ];
    let late = prop_oneof![3 => Just(0u32), 1 => 1u32..4, 1 => 0u32..700];
    let ingest = (contacts, late, 1usize..4).prop_map(|(contacts, late, threads)| Step::Ingest {
        contacts,
        late,
        threads,
    });
    let skip = prop_oneof![2 => 1u64..5, 2 => 1u64..300, 1 => Just(1 << 40)].prop_map(Step::Skip);
    let step = prop_oneof![
        5 => ingest, 1 => skip, 3 => Just(Step::Close), 1 => Just(Step::Keep), 2 => Just(Step::Merge)
    ];
    prop::collection::vec((any::<bool>(), step), 1..16)
}

/// Windows of short and long epochs of either array, and sizes at which touches and echoes meet.
fn configs() -> impl Strategy<Value = Config> {
    let rough = prop_oneof![Just((16, 10, 4, 8)), Just((16, 4, 6, 2)), Just((17, 15, 3, 4))];
    let window = prop_oneof![1u32..12, Just(300), Just(600), Just(5000)];
    // θ is below 25: no candidate is dismissed at a glimpse.
    let linear = (1u32..9, 0u32..40, 64u32..300, 8u32..25);
    let hash = prop_oneof![Just(Hash::Murmur), Just(Hash::HalfSip13)];
    (rough, window, linear, 0u32..2, hash, any::<u64>()).prop_map(
        |(rough, window, linear, oversampling_bits, hash, seed)| Config {
            scheme: Scheme::Tagged { lines: linear.0 + linear.1, tags: linear.2 },
            threshold: linear.3,
            window,
            rough_column_bits: rough.0,
            bit_stride: rough.1,
            rough_rows: rough.2,
            rough_width: rough.3,
            oversampling_bits,
            linear_width: 32 * linear.0,
            hash,
            seed,
            ..Config::default()
        },
    )
}

/// The tally of `host` over the last `window` slices.
fn tally(detector: &mut SlidingDetector, host: Address, window: u32) -> TaggedTally {
    let span = detector.params().span(detector.slice(), window);
    let (tally, _) = detector.cell_mut().shared().query(host, span).unwrap();
    let Tally::Visible(histograms) = tally else { panic!("a tally of the paper's scheme") };
    let of_window = |bins: &[u32]| {
        let (within, beyond) = bins.split_at(span.ages as usize);
        assert!(beyond.iter().all(|&count| count == 0), "positions that are not in the window");
        within.to_vec()
    };
    TaggedTally {
        all: of_window(&histograms.all),
        own: of_window(&histograms.own),
        hidden: of_window(&histograms.hidden),
        hidden_twice: of_window(&histograms.hidden_twice),
        excluded_twice: of_window(&histograms.excluded_twice),
    }
}

fn modelled(estimate: Estimate) -> TaggedEstimate {
    let Estimate { cardinality, std_error, range, .. } = estimate;
    TaggedEstimate { cardinality, std_error, range }
}

/// A detector, its model, and what was kept of both.
struct Node {
    detector: SlidingDetector,
    model: TaggedModel,
    kept: Option<(Snapshot, TaggedModel)>,
}

impl Node {
    fn new(config: Config) -> Self {
        let detector = SlidingDetector::new(config, Device::Cpu).unwrap();
        Self { detector, model: TaggedModel::new(config).unwrap(), kept: None }
    }

    fn ingest(&mut self, contacts: &[Contact], late: u32, threads: usize) {
        let pair = |&(host, bip): &Contact| IpPair { aip: HOSTS[host], bip };
        let pairs: Vec<IpPair> = contacts.iter().map(pair).collect();
        pairs.iter().for_each(|&pair| self.model.touch(pair, late));
        std::thread::scope(|scope| {
            for pairs in pairs.chunks(pairs.len().div_ceil(threads).max(1)) {
                let detector = &self.detector;
                scope.spawn(move || detector.ingest_late(pairs, late).unwrap());
            }
        });
    }

    fn close(&mut self) {
        let candidates = self.model.candidates();
        let points = self.model.super_points(&candidates);
        let report = self.detector.close_slice().unwrap();
        assert_eq!(report.candidates, candidates.len());
        let reported = report.super_points.iter().map(|point| {
            let &SuperPoint { host, cardinality, std_error, range, .. } = point;
            (host.to_bits(), TaggedEstimate { cardinality, std_error, range })
        });
        assert!(reported.eq(points));
        self.model.advance_to(self.detector.slice());
    }

    fn skip_to(&mut self, slice: u64) {
        self.detector.skip_to(slice).unwrap();
        self.model.advance_to(slice);
    }

    fn state(&self) -> (Snapshot, TaggedModel) {
        (self.detector.snapshot().unwrap(), self.model.clone())
    }

    /// Merges the state of `other`; a state of a later slice waits until that is running.
    fn merge(&mut self, other: &Self) {
        let (snapshot, model) = other.kept.clone().unwrap_or_else(|| other.state());
        self.skip_to(snapshot.slice().max(self.detector.slice()));
        self.detector.merge_snapshot(&snapshot).unwrap();
        self.model.merge(&model);
    }

    fn assert_equal(&mut self, config: &Config) {
        let rsra = self.model.rsra.iter().flatten().copied().collect();
        let expected = [Words::W8(rsra), Words::W16(self.model.slea.clone())];
        let snapshot = self.detector.snapshot().unwrap();
        assert!(snapshot.words == expected, "the recorders differ");
        for window in [1, config.window.div_ceil(2), config.window] {
            for host in HOSTS {
                let expected = self.model.tally(host, window);
                assert_eq!(tally(&mut self.detector, host, window), expected);
                let estimate = self.detector.cardinality_within(host.into(), window).unwrap();
                assert_eq!(modelled(estimate), self.model.estimate(host, window));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn detector_equals_the_model_of_the_tagged_scheme_step_by_step(
        config in configs(),
        steps in steps(),
    ) {
        let mut nodes = [Node::new(config), Node::new(config)];
        for (of_second, step) in steps {
            let [first, second] = &mut nodes;
            let (node, other) = if of_second { (second, first) } else { (first, second) };
            match step {
                Step::Ingest { contacts, late, threads } => node.ingest(&contacts, late, threads),
                Step::Skip(slices) => node.skip_to(node.detector.slice() + slices),
                Step::Close => node.close(),
                Step::Keep => node.kept = Some(node.state()),
                Step::Merge => node.merge(other),
            }
            node.assert_equal(&config);
        }
    }
}
