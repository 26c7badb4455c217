//! The largest super points of a view.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use ipnet::IpNet;
use srlg_host::SliceReport;
use srlg_host::report::EstimateRange;
use srlg_input::contact::Packing;

use crate::LINE;
use crate::notification::LargestHost;
use crate::status::overview::{TOP, TopHost, ViewOverview};
use crate::status::recent::{RecentCounts, SliceCounts};

/// Maximum number of hosts per slice whose cardinalities are kept for charts.
const HOSTS: usize = 4 * TOP;

/// The largest super points of a view, and their cardinalities in the last slices.
#[derive(Debug, Default)]
pub(crate) struct TopHosts {
    top: Vec<TopHost>,
    super_points: usize,
    close_seconds: f64,
    recent: RecentCounts,
    /// Cardinalities of the hosts in each of the last slices, oldest slice first.
    slices: VecDeque<HashMap<IpAddr, u32>>,
}

impl TopHosts {
    pub(crate) fn close(
        &mut self,
        report: &SliceReport,
        packing: Packing,
        is_alert: impl Fn(IpAddr) -> bool,
    ) {
        self.close_seconds = report.stages.total().as_secs_f64();
        self.super_points = report.super_points.len();
        let points = &report.super_points[..report.super_points.len().min(HOSTS)];
        self.push(
            points.iter().map(|point| (point.host, point.cardinality.round() as u32)).collect(),
        );
        let line = |host: &IpAddr| {
            self.slices.iter().map(|slice| slice.get(host).copied().unwrap_or(0)).collect()
        };
        let top = points.iter().take(TOP).map(|point| TopHost {
            host: packing.name(point.host),
            label: None,
            cardinality: point.cardinality,
            std_error: point.std_error,
            is_lower_bound: point.range == EstimateRange::Beyond,
            is_alert: is_alert(point.host),
            line: line(&point.host),
        });
        self.top = top.collect();
    }

    /// Returns up to `most` hosts of `network` that were reported in the last slice, the largest first.
    pub(crate) fn largest_in(&self, network: &IpNet, most: usize) -> Vec<LargestHost> {
        let hosts = self.slices.back().into_iter().flatten();
        let hosts = hosts.filter(|(host, _)| network.contains(*host));
        let largest = |(host, count): (&IpAddr, &u32)| LargestHost {
            host: *host,
            cardinality: (*count).into(),
        };
        let mut hosts: Vec<LargestHost> = hosts.map(largest).collect();
        hosts.sort_by(|a, b| b.cardinality.total_cmp(&a.cardinality).then(a.host.cmp(&b.host)));
        hosts.truncate(most);
        hosts
    }

    /// Adds a slice without super points.
    pub(crate) fn silence(&mut self) {
        self.push(HashMap::new());
        (self.top, self.super_points, self.close_seconds) = (Vec::new(), 0, 0.0);
    }

    /// Notes that the last slice had data. It ended at `time_ms`, in milliseconds since the Unix epoch.
    pub(crate) fn record(&mut self, time_ms: u64, slice_ms: u64) {
        let largest = self.top.first().map_or(0.0, |host| host.cardinality.round());
        let super_points = self.super_points;
        self.recent.add(SliceCounts { time_ms, super_points, largest }, slice_ms);
    }

    fn push(&mut self, slice: HashMap<IpAddr, u32>) {
        if self.slices.len() == LINE {
            self.slices.pop_front();
        }
        self.slices.push_back(slice);
    }

    pub(crate) fn overview(&self) -> ViewOverview {
        ViewOverview {
            super_points: self.super_points,
            top: self.top.clone(),
            close_seconds: self.close_seconds,
            recent: self.recent.clone(),
            ..ViewOverview::default()
        }
    }
}
