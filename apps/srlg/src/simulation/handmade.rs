//! Messages that are repeated, shuffled, late or damaged, or that have an incorrect time.

use std::collections::BTreeMap;
use std::time::Duration;

use srlg_host::Config;

use super::Simulation;
use super::network_messages::{Message, in_parts, of_slice, whole};
use super::network_traffic::{OneNode, Random, sizes};

const SLICES: std::ops::Range<u64> = 7000..7030;

/// Longer than the deadline of two seconds and the time after which a probe is silent, which is the deadline and two
/// slices.
const SILENCE: Duration = Duration::from_secs(7);

#[test]
fn repeated_and_shuffled_parts_of_deltas_make_no_difference() {
    let mut network = Simulation::new();
    let (mut random, mut messages, mut first) = (Random(5), Vec::new(), 0);
    for slice in SLICES {
        for message in in_parts(slice..slice + 1, 1600) {
            (0..=random.below(3)).for_each(|_| messages.push(message.clone()));
        }
        if slice == SLICES.start {
            first = messages.len();
        }
    }
    assert!(messages.iter().any(|message| message.part.ends_with("/2")));
    // Each message is moved by fewer than sixty positions. The first slice is not moved, because it sets the start.
    for start in (first..messages.len()).step_by(60) {
        let end = messages.len().min(start + 60);
        for at in (start + 1..end).rev() {
            messages.swap(at, start + random.below((at - start + 1) as u64) as usize);
        }
    }
    let mut collector = network.collector();
    network.publish(&messages);
    collector.read(&network.stream);
    network.assert_is(collector, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn what_is_no_delta_of_this_network_is_counted_by_reason_and_makes_no_difference() {
    let mut network = Simulation::with("deadline = '1h'\nmax-skew = 10_000\n");
    let good = whole(SLICES);
    let of = |config| of_slice(config, 0, SLICES.start, SLICES.start, 1 << 20).remove(0);
    let far = SLICES.start + 1_000_000;
    let mut of_next_version = good[3].payload.clone();
    of_next_version[0] += 1;
    let bad = [
        Message { payload: b"nonsense".to_vec(), ..good[3].clone() },
        of(Config { seed: 8, ..sizes() }),
        of(Config { linear_width: 2048, ..sizes() }),
        Message { payload: of_next_version, ..good[3].clone() },
        Message { part: "2/1".to_owned(), ..good[3].clone() },
        Message { part: "1/65537".to_owned(), ..good[3].clone() },
        of_slice(sizes(), 0, SLICES.start, far, 1 << 20).remove(0),
    ];
    let mut messages = good.clone();
    messages.splice(3..3, bad);
    // The time of a single first message must not be accepted either.
    messages.splice(0..0, of_slice(sizes(), 0, SLICES.start, 1 << 40, 1 << 20));
    let mut damaged = 0;
    for (index, message) in good.iter().enumerate() {
        let mut broken = message.clone();
        let at = index * 7 % broken.payload.len();
        broken.payload[at] ^= 1 << (index % 8);
        let mut cut = message.clone();
        cut.payload.truncate(index * 5 % message.payload.len());
        messages.insert(12 + 2 * index, broken);
        messages.insert(13 + 2 * index, cut);
        damaged += 2;
    }
    messages.extend(of_slice(sizes(), 0, SLICES.start, SLICES.start - 5, 1 << 20));
    let mut collector = network.collector();
    network.publish(&messages);
    collector.read(&network.stream);
    let mut refused = collector.refused();
    // If the changed bit is in a header, the version or the sizes differ.
    let other = ["corrupt", "other_network_version", "other_sizes", "other_seed", "later_version"]
        .map(|reason| refused.remove(reason).unwrap_or_default());
    assert_eq!(other.iter().sum::<u64>(), damaged + 4);
    let rest = ["from_the_future", "headers", "too_far_ahead", "too_many_parts", "too_old"];
    assert_eq!(refused, BTreeMap::from(rest.map(|reason| (reason, 1))));
    network.assert_is(collector, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn a_late_delta_counts_in_its_own_slice_from_then_on() {
    let mut network = Simulation::with("deadline = '2s'\n");
    let mut rest = whole(SLICES);
    // The message of probe `c` for slice 7010.
    let late = rest.remove(10 * 3 + 2);
    let (before, after) = rest.split_at(rest.len() - 3);
    network.publish(before);
    let mut collector = network.collector();
    collector.read(&network.stream);
    assert_eq!(collector.running(), Some(7010));
    collector.wait(SILENCE);
    assert_eq!(collector.running(), Some(SLICES.end - 1));
    network.publish(&[late]);
    collector.read(&network.stream);
    assert_eq!((collector.counts(2).late, collector.running()), (1, Some(SLICES.end - 1)));
    network.publish(after);
    collector.read(&network.stream);
    let reports = network.reports();
    let of_slice = reports.iter().find(|report| report["slice"] == 7010).unwrap();
    assert_eq!(of_slice["closed"], "deadline");
    assert_eq!(of_slice["delivered"], serde_json::json!(["a", "b"]));
    assert_eq!((&of_slice["late"], &of_slice["missing"]), (&["c"][..].into(), &[""; 0][..].into()));
    network.assert_last_is(collector, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn a_silent_probe_is_missing_after_the_deadline() {
    let mut network = Simulation::with("deadline = '2s'\n");
    let of_two: Vec<_> = whole(SLICES).into_iter().filter(|message| message.probe < 2).collect();
    network.publish(&of_two);
    let mut collector = network.collector();
    collector.read(&network.stream);
    assert_eq!(network.reports().len(), 0);
    collector.wait(SILENCE);
    let reports = network.reports();
    assert_eq!(reports.len(), SLICES.count());
    for report in reports {
        assert_eq!(report["closed"], "deadline");
        assert_eq!((&report["late"], &report["missing"]), (&[""; 0][..].into(), &["c"][..].into()));
    }
    network.assert_last_is(collector, &OneNode::of(&[0, 1], SLICES));
}

#[test]
fn a_probe_whose_clock_is_far_ahead_neither_moves_nor_stops_the_others() {
    let mut network = Simulation::with("deadline = '2s'\nmax-skew = 15\n");
    // Probe `c` adds a thousand to its slice numbers.
    let of_probe = |slice, probe| {
        let ahead = if probe == 2 { 1000 } else { 0 };
        of_slice(sizes(), probe, slice, slice + ahead, 1 << 20)
    };
    let messages = SLICES.flat_map(|slice| (0..3).flat_map(move |probe| of_probe(slice, probe)));
    network.publish(&messages.collect::<Vec<_>>());
    let mut collector = network.collector();
    collector.read(&network.stream);
    collector.wait(SILENCE);
    assert_eq!(collector.running(), Some(SLICES.end));
    network.assert_last_is(collector, &OneNode::of(&[0, 1], SLICES));
}
