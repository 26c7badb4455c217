//! What the page shows of a view: its largest super points, with a line of the last slices each.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use srlg_host::SliceReport;
use srlg_host::report::EstimateRange;

use crate::show::board::{LINE, TOP, TopHost, ViewBoard};

/// Hosts of a slice that lines are made of.
const HOSTS: usize = 4 * TOP;

/// The largest super points of the last slices.
#[derive(Debug, Default)]
pub(crate) struct TopHosts {
    top: Vec<TopHost>,
    super_points: usize,
    close_seconds: f64,
    /// The last slices, the newest last.
    slices: VecDeque<HashMap<IpAddr, u32>>,
}

impl TopHosts {
    pub(crate) fn close(&mut self, report: &SliceReport, is_alert: impl Fn(IpAddr) -> bool) {
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
            host: point.host,
            label: None,
            cardinality: point.cardinality,
            std_error: point.std_error,
            is_lower_bound: point.range == EstimateRange::Beyond,
            is_alert: is_alert(point.host),
            line: line(&point.host),
        });
        self.top = top.collect();
    }

    /// A slice without any super point.
    pub(crate) fn silence(&mut self) {
        self.push(HashMap::new());
        (self.top, self.super_points, self.close_seconds) = (Vec::new(), 0, 0.0);
    }

    fn push(&mut self, slice: HashMap<IpAddr, u32>) {
        if self.slices.len() == LINE {
            self.slices.pop_front();
        }
        self.slices.push_back(slice);
    }

    pub(crate) fn board(&self) -> ViewBoard {
        ViewBoard {
            super_points: self.super_points,
            top: self.top.clone(),
            close_seconds: self.close_seconds,
            ..ViewBoard::default()
        }
    }
}
