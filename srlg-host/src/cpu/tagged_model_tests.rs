//! Tests that a detector on the CPU equals the model of the tagged scheme in every step of random streams.

mod contacts;
mod node;

use proptest::prelude::*;
use srlg_core::{Config, HashFamily, Scheme};

use contacts::{Contact, HOSTS};
use node::Node;

#[derive(Clone, Debug)]
enum Action {
    Ingest {
        contacts: Vec<Contact>,
        late: u32,
        threads: usize,
    },
    Skip(u64),
    Close,
    /// Saves the state of the node in place of the previously saved one.
    Keep,
    /// Merges the saved state of the other node, or its current state if none was saved.
    Merge,
    /// Merges a delta of the other node. The delta covers `1 + n % window` slices, where n is the value of the field.
    MergeLast(u32),
}

fn steps() -> impl Strategy<Value = Vec<(bool, Action)>> {
    // Some hosts have many more peers than others. Even if θ is in the hundreds, there are hosts below, near and above
    // it.
    let host = prop_oneof![4 => 0usize..2, 2 => 2usize..4, 1 => 4..HOSTS.len() - 1];
    let contact = (host, prop_oneof![0u32..40, 0u32..4000]);
    // Strangers have at most two peers each. They hide cells of the fixed hosts.
    let stranger = (HOSTS.len()..30_000, 0u32..2);
    let contacts = prop_oneof![
        3 => prop::collection::vec(contact.clone(), 0..200),
        1 => prop::collection::vec(contact, 1000..3000),
        1 => prop::collection::vec(stranger, 1000..4000),
    ];
    let late = prop_oneof![3 => Just(0u32), 1 => 1u32..4, 1 => 0u32..700];
    let ingest = (contacts, late, 1usize..4).prop_map(|(contacts, late, threads)| Action::Ingest {
        contacts,
        late,
        threads,
    });
    let skip = prop_oneof![2 => 1u64..5, 2 => 1u64..300, 1 => Just(1 << 40)].prop_map(Action::Skip);
    let merge_last = prop_oneof![0u32..4, any::<u32>()].prop_map(Action::MergeLast);
    let step = prop_oneof![
        5 => ingest, 1 => skip, 3 => Just(Action::Close), 1 => Just(Action::Keep),
        2 => Just(Action::Merge), 2 => merge_last,
    ];
    prop::collection::vec((any::<bool>(), step), 1..16)
}

/// Returns configurations with short and long epochs. The arrays are so small that touches and echoes compete for
/// recorders.
///
/// θ is at most 16, so no glimpse dismisses a candidate. Linear estimators have one, two or three regions.
fn configs() -> impl Strategy<Value = Config> {
    // With few cells, the model is fast for any window. With many cells, it is slow if a window has many ages.
    let any_window = prop_oneof![1u32..12, Just(300), Just(600), Just(5000)];
    let sizes = prop_oneof![5 => (12u32..17, any_window), 1 => (17u32..20, 1u32..12)];
    let lines_of_host = prop_oneof![4 => 2u32..8, 2 => 8u32..24, 1 => 32u32..40];
    let linear = (lines_of_host, 0u32..40, 64u32..300, 8u32..17);
    let hash = prop_oneof![Just(HashFamily::Murmur), Just(HashFamily::HalfSip13)];
    (sizes, linear, hash, any::<u64>()).prop_map(|((cell_bits, window), linear, hash, seed)| {
        Config {
            scheme: Scheme::Tagged {
                cell_bits,
                lines: least_lines(linear.0) + linear.1,
                tags: linear.2,
            },
            threshold: linear.3,
            window,
            linear_width: 32 * linear.0,
            hash,
            seed,
            ..Config::default()
        }
    })
}

/// Returns the minimum number of lines of an array in which each host has `lines_of_host` fine lines.
fn least_lines(lines_of_host: u32) -> u32 {
    match lines_of_host {
        ..8 => lines_of_host,
        8..32 => 2 * lines_of_host,
        _ => lines_of_host + 384,
    }
}

/// Returns configurations in which θ is so large that glimpses of one to four lines dismiss candidates.
///
/// Of θ peers, more than 16 fall into a glimpse. Hosts with θ/2 peers are candidates. If strangers hide cells, hosts with
/// fewer peers are candidates too. Every pair, a half or a quarter of the pairs is counted.
fn glimpsing_configs() -> impl Strategy<Value = Config> {
    let share = prop_oneof![2 => Just(1u32), 1 => Just(2), 1 => Just(4)];
    (configs(), 3u32..32, 0u32..200, 26u32..40, share).prop_map(
        |(config, lines_of_host, more_lines, glimpsed, share)| {
            let Scheme::Tagged { cell_bits, tags, .. } = config.scheme else {
                unreachable!("all are tagged")
            };
            let lines_of_glimpse = lines_of_host.div_ceil(8);
            Config {
                scheme: Scheme::Tagged {
                    cell_bits,
                    lines: least_lines(lines_of_host * share) + more_lines,
                    tags,
                },
                threshold: glimpsed * lines_of_host.div_ceil(lines_of_glimpse) * share,
                linear_width: 32 * lines_of_host * share,
                share,
                ..config
            }
        },
    )
}

fn follow(config: Config, steps: Vec<(bool, Action)>) {
    let mut nodes = [Node::new(config), Node::new(config)];
    for (of_second, step) in steps {
        let [first, second] = &mut nodes;
        let (node, other) = if of_second { (second, first) } else { (first, second) };
        match step {
            Action::Ingest { contacts, late, threads } => node.ingest(&contacts, late, threads),
            Action::Skip(slices) => node.skip_to(node.detector.slice() + slices),
            Action::Close => _ = node.close(),
            Action::Keep => node.keep(),
            Action::Merge => node.merge(other),
            Action::MergeLast(more) => node.merge_last(other, 1 + more % config.window),
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
        prop_assert_eq!(config.validate().unwrap().glimpse_stages(), None);
        follow(config, steps);
    }

    #[test]
    fn detector_that_takes_glimpses_equals_the_model_step_by_step(
        config in glimpsing_configs(),
        steps in steps(),
    ) {
        prop_assert!(config.validate().unwrap().glimpse_stages().is_some());
        follow(config, steps);
    }
}

// Random streams might contain no super points and no dismissed candidates.
#[test]
fn merged_super_points_are_reported_and_small_candidates_are_dismissed_at_a_glimpse() {
    let config = Config {
        scheme: Scheme::Tagged { cell_bits: 12, lines: 20_000, tags: 64 },
        threshold: 400,
        window: 4,
        linear_width: 256,
        ..Config::default()
    };
    assert_eq!(config.validate().unwrap().glimpse_stages(), Some([32, 32]));
    let peers = |host: usize, peers: std::ops::Range<u32>| peers.map(move |peer| (host, peer));
    let [mut node, mut other] = [Node::new(config), Node::new(config)];
    // Each node has half of the peers of host 2, and a snapshot of the other node has all peers of host 3. Strangers
    // touch all but a twentieth of the cells, so two cells make a candidate. Of 60 peers, 7 are sampled, and half of
    // these win their ties.
    let strangers = (HOSTS.len()..100_000).map(|stranger| (stranger, 0));
    let small = (4..8).flat_map(|host| peers(host, 0..60));
    let contacts: Vec<Contact> = peers(2, 0..250).chain(small).chain(strangers).collect();
    node.ingest(&contacts, 0, 1);
    other.ingest(&peers(3, 0..600).collect::<Vec<_>>(), 0, 1);
    node.merge(&other);
    node.assert_equal();
    let [candidates, left] = node.search();
    let dismissed: Vec<_> = candidates.iter().filter(|host| !left.contains(host)).collect();
    assert!(dismissed.len() > 1, "{candidates:x?}");
    assert!(dismissed.iter().all(|host| HOSTS[4..8].contains(host)), "{dismissed:x?}");
    assert_eq!(node.close(), [HOSTS[3]]);
    other.close();
    other.ingest(&peers(2, 250..500).collect::<Vec<_>>(), 0, 1);
    node.merge_last(&mut other, 1);
    node.assert_equal();
    let mut reported = node.close();
    reported.sort_unstable();
    assert_eq!(reported, [HOSTS[2], HOSTS[3]]);
}
