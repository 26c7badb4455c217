//! [`line()`]: what the reports say of a slice, with the fields of the command `detect` where they mean the same.

use serde::Serialize;
use srlg_host::report::{EstimateRange, Overload};
use srlg_host::{SliceReport, SuperPoint};
use srlg_input::contact::Sampling;

use super::rule::{Cause, Closed};

/// What lines have beside what was merged: the same in all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Of the probes.
    pub(super) names: &'a [String],
    pub(super) slice_ms: u64,
    /// Sample peers of a super point, at most.
    pub(super) most_peers: usize,
}

/// A line.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    slice: u64,
    start_ms: u64,
    end_ms: u64,
    closed: &'static str,
    delivered: Vec<&'a str>,
    late: Vec<&'a str>,
    missing: Vec<&'a str>,
    overload: Option<Overload>,
    /// Where exporters told of contacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    super_points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    #[serde(flatten)]
    point: SuperPoint,
    /// Between which counts that without sampling lies; without an upper one where a rate is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsampled: Option<(f64, Option<f64>)>,
}

pub(super) fn line<'a>(
    frame: Frame<'a>,
    closed: &Closed,
    (report, sampling): (&SliceReport, Sampling),
) -> Line<'a> {
    let Frame { names, slice_ms, most_peers } = frame;
    let start_ms = report.slice.saturating_mul(slice_ms);
    let points = report.super_points.iter();
    Line {
        slice: report.slice,
        start_ms,
        end_ms: start_ms.saturating_add(slice_ms),
        closed: closed.cause.name(),
        delivered: named(names, &closed.delivered),
        late: named(names, &closed.late),
        missing: named(names, &closed.missing),
        overload: report.health.finder.overload,
        sampling: (!sampling.is_empty()).then_some(sampling),
        super_points: points.map(|one| point(one, most_peers, sampling)).collect(),
    }
}

fn point(point: &SuperPoint, most_peers: usize, sampling: Sampling) -> Point {
    // Of a lower bound nothing is known above.
    let most = sampling.unsampled_most(point.cardinality);
    let most = most.filter(|_| point.range != EstimateRange::Beyond);
    let unsampled = (!sampling.is_empty()).then_some((point.cardinality, most));
    let mut point = point.clone();
    point.peers.truncate(most_peers);
    Point { point, unsampled }
}

/// Probes by their names.
pub(super) fn named<'a>(names: &'a [String], probes: &[usize]) -> Vec<&'a str> {
    probes.iter().map(|&probe| &names[probe][..]).collect()
}

impl Cause {
    /// In reports and metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Deadline => "deadline",
            Self::Crowded => "crowded",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_host::{Config, Device, IpPair, SlidingDetector};

    #[test]
    fn sample_peers_and_sampling_are_in_a_line_where_there_are_any() {
        let config = Config { threshold: 64, window: 2, ..Config::default() };
        let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
        let pairs: Vec<_> = (0..500).map(|opposite| IpPair { inside: 1, opposite }).collect();
        detector.skip_to(7).unwrap();
        detector.ingest(&pairs).unwrap();
        let report = detector.close_slice().unwrap();
        let closed = Closed {
            slice: 7,
            cause: Cause::Complete,
            delivered: vec![0],
            late: Vec::new(),
            missing: Vec::new(),
            is_window_whole: true,
        };
        let names = ["a".to_owned()];
        let write = |most_peers, sampling: &str| {
            let frame = Frame { names: &names, slice_ms: 1000, most_peers };
            let report = (&report, sampling.parse().unwrap());
            serde_json::to_value(line(frame, &closed, report)).unwrap()
        };
        let written = |most_peers| write(most_peers, "none")["super_points"][0].take();
        assert_eq!((&written(0)["host"], written(0).get("peers")), (&"0.0.0.1".into(), None));
        let point = written(3);
        let peers = point["peers"].as_array().unwrap();
        assert_eq!(peers.len(), 3);
        for peer in peers {
            let host: std::net::Ipv4Addr = peer["host"].as_str().unwrap().parse().unwrap();
            assert!(host.to_bits() < 500 && peer["last_seen"] == 7, "{peer}");
        }
        assert!(write(0, "none").get("sampling").is_none() && point.get("unsampled").is_none());
        let sampled = write(0, "1:10 to 1:20");
        let rates = serde_json::json!({"least": 10, "most": 20, "unknown": false});
        let cardinality = point["cardinality"].as_f64().unwrap();
        let range = serde_json::json!([cardinality, cardinality * 20.0]);
        assert_eq!(
            (&sampled["sampling"], &sampled["super_points"][0]["unsampled"]),
            (&rates, &range)
        );
        let unknown = &write(0, "1:10, of some unknown")["super_points"][0]["unsampled"];
        assert_eq!(unknown, &serde_json::json!([cardinality, null]));
        let mut bound = report.super_points[0].clone();
        bound.range = EstimateRange::Beyond;
        assert_eq!(
            super::point(&bound, 0, "1:10".parse().unwrap()).unsampled,
            Some((cardinality, None))
        );
    }
}
