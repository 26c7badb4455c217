//! Report file, with one line of JSON per view and closed slice. Fields that `srlg detect` also prints have the same
//! meaning in both outputs.
//!
//! No other part of the program reads the file. After a kill, the lines since the last checkpoint are written again.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use srlg_host::SuperPoint;
use srlg_host::report::{EstimateRange, Overload};
use srlg_input::contact::{Name, Sampling};

use super::options::Plan;
use super::rule::{Cause, Close};
use srlg_alerts::manager::view_alerts::ClosedSlice;

pub(super) struct Reports {
    path: PathBuf,
    /// Output file, or `None` for standard output.
    file: Option<File>,
}

#[derive(Debug, Serialize)]
struct ReportLine<'a> {
    view: &'a str,
    slice: u64,
    start_ms: u64,
    end_ms: u64,
    closed: &'static str,
    delivered: Vec<&'a str>,
    late: Vec<&'a str>,
    missing: Vec<&'a str>,
    overload: Option<Overload>,
    /// Sampling of the contacts; absent if no exporter sent contacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    super_points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    host: Name,
    cardinality: f64,
    std_error: f64,
    range: EstimateRange,
    /// Bounds of the expected number of peers without sampling. The upper bound is `None` if a sampling rate is unknown
    /// or `cardinality` is a lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsampled: Option<(f64, Option<f64>)>,
}

impl Reports {
    /// Opens `path` to append lines. The path `-` means standard output.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = (path != Path::new("-")).then(|| {
            let file = File::options().create(true).append(true).open(path);
            file.with_context(|| format!("cannot write {}", path.display()))
        });
        Ok(Self { path: path.to_owned(), file: file.transpose()? })
    }

    pub(super) fn write(
        &mut self,
        plan: &Plan,
        view: usize,
        close: &Close,
        slice: &ClosedSlice,
    ) -> Result<()> {
        let mut line = serde_json::to_vec(&line(plan, view, close, slice))?;
        line.push(b'\n');
        let written = match &mut self.file {
            None => io::stdout().write_all(&line),
            Some(file) => append(file, &line),
        };
        written.with_context(|| format!("cannot write reports to {}", self.path.display()))
    }
}

/// Appends `line`. If this fails, nothing is appended.
fn append(file: &mut File, line: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    file.write_all(line).or_else(|error| {
        file.set_len(before)?;
        Err(error)
    })
}

fn line<'a>(plan: &'a Plan, view: usize, close: &Close, slice: &ClosedSlice) -> ReportLine<'a> {
    let (network, probes) = (&plan.network, &plan.options.probes);
    let ClosedSlice { report, sampling, .. } = slice;
    let start_ms = report.slice.saturating_mul(network.slice_ms);
    let sampling = Some(*sampling).filter(|sampling| !sampling.is_empty());
    let hosts = network.views[view].view.hosts();
    let points = report.super_points.iter().map(|point| {
        // A lower bound has no upper end.
        let is_lower_bound = point.range == EstimateRange::Beyond;
        let &SuperPoint { host, cardinality, std_error, range, .. } = point;
        let most = |it: Sampling| it.unsampled_most(cardinality, std_error);
        let most = |it| most(it).filter(|_| !is_lower_bound);
        let unsampled = sampling.map(|sampling| (cardinality, most(sampling)));
        Point { host: hosts.name(host), cardinality, std_error, range, unsampled }
    });
    ReportLine {
        view: &network.views[view].name,
        slice: report.slice,
        start_ms,
        end_ms: start_ms.saturating_add(network.slice_ms),
        closed: close.cause.name(),
        delivered: named(probes, &close.delivered),
        late: named(probes, &close.late),
        missing: named(probes, &close.missing),
        overload: report.health.finder.overload,
        sampling,
        super_points: points.collect(),
    }
}

/// Returns the names of `probes`, which are indices into `names`.
pub(super) fn named<'a>(names: &'a [String], probes: &[usize]) -> Vec<&'a str> {
    probes.iter().map(|&probe| &names[probe][..]).collect()
}

impl Cause {
    /// Returns the name of the cause in reports and metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Deadline => "deadline",
            Self::Crowded => "crowded",
        }
    }
}
