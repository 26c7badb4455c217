//! A detector on the CPU equals the model of the tagged scheme, step by step, on random streams.

mod node;

use proptest::prelude::*;
use srlg_core::{Config, Hash, Scheme};

use node::{Contact, HOSTS, Node};

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
    /// What the other node's last slices touched is merged: as many slices more than one, modulo
    /// the window.
    MergeLast(u32),
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    // Some hosts have many more peers than others: where θ is in the hundreds, too, hosts are below,
    // around and above it.
    let host = prop_oneof![4 => 0usize..2, 2 => 2usize..4, 1 => 4..HOSTS.len() - 1];
    let contact = (host, prop_oneof![0u32..40, 0u32..4000]);
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
    let merge_last = prop_oneof![0u32..4, any::<u32>()].prop_map(Step::MergeLast);
    let step = prop_oneof![
        5 => ingest, 1 => skip, 3 => Just(Step::Close), 1 => Just(Step::Keep),
        2 => Just(Step::Merge), 2 => merge_last,
    ];
    prop::collection::vec((any::<bool>(), step), 1..16)
}

/// Windows of short and long epochs of either array, and sizes at which touches and echoes meet.
/// θ is below 25: no candidate is dismissed at a glimpse.
fn configs() -> impl Strategy<Value = Config> {
    let rough = prop_oneof![Just((16, 10, 4, 8)), Just((16, 4, 6, 2)), Just((17, 15, 3, 4))];
    let window = prop_oneof![1u32..12, Just(300), Just(600), Just(5000)];
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

/// The same with θ so large that glimpses, of one line or two, dismiss candidates: more than 25 of
/// θ opposite hosts fall into one. The finder samples so many that there are candidates far below θ.
fn glimpsing_configs() -> impl Strategy<Value = Config> {
    (configs(), 1u32..17, 0u32..200, 26u32..40, 0u32..6).prop_map(
        |(config, lines_of_host, more_lines, glimpsed, oversampling_bits)| {
            let Scheme::Tagged { tags, .. } = config.scheme else { unreachable!("all are tagged") };
            let lines_of_glimpse = lines_of_host.div_ceil(8);
            Config {
                scheme: Scheme::Tagged { lines: lines_of_host + more_lines, tags },
                threshold: glimpsed * lines_of_host.div_ceil(lines_of_glimpse),
                linear_width: 32 * lines_of_host,
                oversampling_bits,
                ..config
            }
        },
    )
}

/// Two nodes of `config` do all `steps`, each as its model does.
fn follow(config: Config, steps: Vec<(bool, Step)>) {
    let mut nodes = [Node::new(config), Node::new(config)];
    for (of_second, step) in steps {
        let [first, second] = &mut nodes;
        let (node, other) = if of_second { (second, first) } else { (first, second) };
        match step {
            Step::Ingest { contacts, late, threads } => node.ingest(&contacts, late, threads),
            Step::Skip(slices) => node.skip_to(node.detector.slice() + slices),
            Step::Close => _ = node.close(),
            Step::Keep => node.keep(),
            Step::Merge => node.merge(other),
            Step::MergeLast(more) => node.merge_last(other, 1 + more % config.window),
        }
        node.assert_equal();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn detector_equals_the_model_of_the_tagged_scheme_step_by_step(
        config in configs(),
        steps in steps(),
    ) {
        prop_assert_eq!(config.validate().unwrap().glimpse_positions(), None);
        follow(config, steps);
    }

    #[test]
    fn detector_that_takes_glimpses_equals_the_model_step_by_step(
        config in glimpsing_configs(),
        steps in steps(),
    ) {
        prop_assert!(config.validate().unwrap().glimpse_positions().is_some());
        follow(config, steps);
    }
}

// Random streams might happen to have no super point, and no candidate that is dismissed.
#[test]
fn merged_super_points_are_reported_and_small_candidates_are_dismissed_at_a_glimpse() {
    let config = Config {
        scheme: Scheme::Tagged { lines: 200, tags: 64 },
        threshold: 400,
        window: 4,
        // τ is 6 less 4: of 20 opposite hosts 5 are sampled, and 3 recorders make a candidate.
        oversampling_bits: 4,
        rough_column_bits: 16,
        bit_stride: 10,
        rough_rows: 4,
        linear_width: 256,
        ..Config::default()
    };
    assert_eq!(config.validate().unwrap().glimpse_positions(), Some(32));
    let peers = |host: usize, peers: std::ops::Range<u32>| peers.map(move |peer| (host, peer));
    let [mut node, mut other] = [Node::new(config), Node::new(config)];
    // Half of host 2 is at each node, all of host 3 in a snapshot of the other one.
    let contacts: Vec<Contact> = peers(2, 0..250).chain(peers(4, 0..20)).collect();
    node.ingest(&contacts, 0, 1);
    other.ingest(&peers(3, 0..600).collect::<Vec<_>>(), 0, 1);
    node.merge(&other);
    node.assert_equal();
    assert_eq!(node.close(), [HOSTS[3]]);
    other.close();
    other.ingest(&peers(2, 250..500).collect::<Vec<_>>(), 0, 1);
    node.merge_last(&mut other, 1);
    node.assert_equal();

    let [candidates, left] = node.search();
    assert!(candidates.contains(&HOSTS[4]) && !left.contains(&HOSTS[4]), "{candidates:x?}");
    let mut reported = node.close();
    reported.sort_unstable();
    assert_eq!(reported, [HOSTS[2], HOSTS[3]]);
}
