//! Messages that are repeated, shuffled, late or damaged, or that have an incorrect time.

use srlg_host::Config;

use crate::collecting::Collector;
use crate::input::Random;
use crate::messages::{Message, in_parts, of_slice, publish, whole};
use crate::net::{Net, config, run};
use crate::network_traffic::OneNode;

const SLICES: std::ops::Range<u64> = 7000..7030;

#[test]
fn repeated_and_shuffled_parts_of_deltas_make_no_difference() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let (mut random, mut messages) = (Random(5), Vec::new());
    for message in in_parts(SLICES, 1600) {
        (0..=random.below(3)).for_each(|_| messages.push(message.clone()));
    }
    assert!(messages.iter().any(|message| message.part.ends_with("/2")));
    // Each message is moved by fewer than sixty positions. The first slice is not moved, because it sets the start.
    let first = messages.iter().take_while(|message| message.slice == SLICES.start).count();
    for start in (first..messages.len()).step_by(60) {
        let end = messages.len().min(start + 60);
        for at in (start + 1..end).rev() {
            messages.swap(at, start + random.below((at - start + 1) as u64) as usize);
        }
    }
    let mut collector = Collector::start(&net, &[]);
    run(publish(&net, &messages));
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&net, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn what_is_no_delta_of_this_network_is_counted_by_reason_and_makes_no_difference() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let good = whole(SLICES);
    let of = |config| of_slice(config, 0, SLICES.start, SLICES.start, 1 << 20).remove(0);
    let far = SLICES.start + 1_000_000;
    let mut of_next_version = good[3].payload.clone();
    of_next_version[0] += 1;
    let bad = [
        Message { payload: b"nonsense".to_vec(), ..good[3].clone() },
        of(Config { seed: 8, ..config() }),
        of(Config { linear_width: 2048, ..config() }),
        Message { payload: of_next_version, ..good[3].clone() },
        Message { part: "2/1".to_owned(), ..good[3].clone() },
        Message { part: "1/65537".to_owned(), ..good[3].clone() },
        of_slice(config(), 0, SLICES.start, far, 1 << 20).remove(0),
    ];
    let mut messages = good.clone();
    messages.splice(3..3, bad);
    // The time of a single first message must not be accepted either.
    messages.splice(0..0, of_slice(config(), 0, SLICES.start, 1 << 40, 1 << 20));
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
    messages.extend(of_slice(config(), 0, SLICES.start, SLICES.start - 5, 1 << 20));
    let mut collector = Collector::start(&net, &["--max-skew", "10000"]);
    run(publish(&net, &messages));
    let status = collector.status(|status| status["refused"]["too_old"] == 1);
    let mut refused = status["refused"].clone();
    // If the changed bit is in a header, the version or the sizes differ.
    let other = ["corrupt", "other_network_version", "other_sizes", "other_seed", "later_version"]
        .map(|reason| refused.as_object_mut().unwrap().remove(reason).unwrap_or_default());
    let other: u64 = other.iter().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(other, damaged + 4);
    let rest = serde_json::json!({
        "from_the_future": 1, "headers": 1, "too_far_ahead": 1, "too_many_parts": 1, "too_old": 1
    });
    assert_eq!(refused, rest);
    let metrics = collector.get("/metrics");
    for line in [
        "srlg_refused_total{reason=\"headers\"} 1",
        "srlg_slices_closed_total{cause=\"complete\"} 30",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let said = collector.assert_is(&net, &OneNode::of(&[0, 1, 2], SLICES));
    assert!(said.lines().any(|line| line.contains(" a ") && line.contains(" corrupt")), "{said}");
}

#[test]
fn a_late_delta_counts_in_its_own_slice_from_then_on() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let (late, rest): (Vec<_>, Vec<_>) =
        whole(SLICES).into_iter().partition(|message| (message.probe, message.slice) == (2, 7010));
    let (before, after) = rest.split_at(rest.len() - 3);
    run(publish(&net, before));
    // The deadline runs only while all messages are read, so no other delta is late.
    let mut collector = Collector::start(&net, &["--deadline", "2s"]);
    collector.wait_for_slice(SLICES.end - 2);
    run(publish(&net, &late));
    let status = collector.status(|status| status["sites"][2]["late"] == 1);
    assert_eq!(status["running"], SLICES.end - 1);
    run(publish(&net, after));
    collector.wait_for_slice(SLICES.end - 1);
    let reports = collector.reports();
    let of_slice = reports.iter().find(|report| report["slice"] == 7010).unwrap();
    assert_eq!(of_slice["closed"], "deadline");
    assert_eq!(of_slice["delivered"], serde_json::json!(["a", "b"]));
    assert_eq!((&of_slice["late"], &of_slice["missing"]), (&["c"][..].into(), &[""; 0][..].into()));
    collector.assert_last_is(&net, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn a_silent_probe_is_missing_after_the_deadline() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let of_two: Vec<_> = whole(SLICES).into_iter().filter(|message| message.probe < 2).collect();
    run(publish(&net, &of_two));
    // The deadline runs only while all messages are read, so no delta is late.
    let mut collector = Collector::start(&net, &["--deadline", "2s"]);
    collector.wait_for_slice(SLICES.end - 1);
    for report in collector.reports() {
        assert_eq!(report["closed"], "deadline");
        assert_eq!((&report["late"], &report["missing"]), (&[""; 0][..].into(), &["c"][..].into()));
    }
    collector.assert_last_is(&net, &OneNode::of(&[0, 1], SLICES));
}

#[test]
fn a_probe_whose_clock_is_far_ahead_neither_moves_nor_stops_the_others() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    // Probe `c` adds a thousand to its slice numbers.
    let of_probe = |slice, probe| {
        let ahead = if probe == 2 { 1000 } else { 0 };
        of_slice(config(), probe, slice, slice + ahead, 1 << 20)
    };
    let messages = SLICES.flat_map(|slice| (0..3).flat_map(move |probe| of_probe(slice, probe)));
    run(publish(&net, &messages.collect::<Vec<_>>()));
    // The deadline runs only while all messages are read, so no delta of the other probes is late.
    let mut collector = Collector::start(&net, &["--deadline", "2s", "--max-skew", "15"]);
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_last_is(&net, &OneNode::of(&[0, 1], SLICES));
}
