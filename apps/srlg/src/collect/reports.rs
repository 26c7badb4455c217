//! [`line()`]: what the reports say of a slice, with the fields of the command `detect` where they mean the same.

use serde::Serialize;
use srlg_host::report::{EstimateRange, Overload};
use srlg_host::{SliceReport, SuperPoint};
use srlg_input::contact::Sampling;

use super::rule::{Cause, Close};

/// A slice that has closed, and everything that lines say of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedSlice<'a> {
    /// The names of the probes.
    pub(super) names: &'a [String],
    pub(super) slice_ms: u64,
    pub(super) close: &'a Close,
    pub(super) report: &'a SliceReport,
    /// How the contacts of its window were sampled.
    pub(super) sampling: Sampling,
}

/// A line.
#[derive(Debug, Serialize)]
pub(super) struct ReportLine<'a> {
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

impl ClosedSlice<'_> {
    /// How contacts were sampled, where exporters told of any.
    pub(super) fn sampling(&self) -> Option<Sampling> {
        Some(self.sampling).filter(|sampling| !sampling.is_empty())
    }

    /// Between which counts `cardinality` lies without sampling, where exporters told of contacts.
    pub(super) fn unsampled(
        &self,
        cardinality: f64,
        is_lower_bound: bool,
    ) -> Option<(f64, Option<f64>)> {
        // Nothing is known above a lower bound.
        let most = self.sampling.unsampled_most(cardinality).filter(|_| !is_lower_bound);
        self.sampling().map(|_| (cardinality, most))
    }
}

/// The line of a slice, with up to `most_peers` sample peers of each super point.
pub(super) fn line<'a>(slice: &ClosedSlice<'a>, most_peers: usize) -> ReportLine<'a> {
    let ClosedSlice { names, slice_ms, close, report, .. } = *slice;
    let start_ms = report.slice.saturating_mul(slice_ms);
    let points = report.super_points.iter();
    ReportLine {
        slice: report.slice,
        start_ms,
        end_ms: start_ms.saturating_add(slice_ms),
        closed: close.cause.name(),
        delivered: named(names, &close.delivered),
        late: named(names, &close.late),
        missing: named(names, &close.missing),
        overload: report.health.finder.overload,
        sampling: slice.sampling(),
        super_points: points.map(|point| self::point(slice, point, most_peers)).collect(),
    }
}

fn point(slice: &ClosedSlice<'_>, point: &SuperPoint, most_peers: usize) -> Point {
    let is_lower_bound = point.range == EstimateRange::Beyond;
    let mut written = point.clone();
    written.peers.truncate(most_peers);
    Point { unsampled: slice.unsampled(point.cardinality, is_lower_bound), point: written }
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
        let close = Close {
            slice: 7,
            cause: Cause::Complete,
            delivered: vec![0],
            late: Vec::new(),
            missing: Vec::new(),
            is_window_whole: true,
        };
        let names = ["a".to_owned()];
        let slice = |sampling: &str| ClosedSlice {
            names: &names,
            slice_ms: 1000,
            close: &close,
            report: &report,
            sampling: sampling.parse().unwrap(),
        };
        let write = |most_peers, sampling: &str| {
            serde_json::to_value(line(&slice(sampling), most_peers)).unwrap()
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
        assert_eq!(super::point(&slice("1:10"), &bound, 0).unsampled, Some((cardinality, None)));
    }
}
