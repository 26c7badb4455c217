//! [`Reports`]: a line of JSON per closed slice, in a file or on standard output.
//!
//! Shape: a line has the fields of the command `detect` where they mean the same. Invariant: a line depends
//! on nothing but what was merged, so the same deltas make the same bytes; and a file that is opened
//! again at the length that a checkpoint knows has each slice once.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use srlg_host::{EstimateRange, Overload, SliceReport};
use tracing::warn;

use super::rule::{Cause, Closed};

/// See the module.
#[derive(Debug)]
pub(super) enum Reports {
    Stdout,
    File { path: PathBuf, file: File, len: u64 },
}

/// What a checkpoint knows of a file of reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReportFile {
    path: PathBuf,
    len: u64,
}

/// A line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    slice: u64,
    start_ms: u64,
    end_ms: u64,
    closed: &'static str,
    delivered: Vec<&'a str>,
    late: Vec<&'a str>,
    missing: Vec<&'a str>,
    overload: Option<&'static str>,
    super_points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    host: std::net::Ipv4Addr,
    cardinality: f64,
    std_error: f64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lower_bound: bool,
}

impl Reports {
    /// Reports into `path`, which is `-` for standard output. The file that a checkpoint knows is cut to the length
    /// that it had then; any other one is appended to.
    ///
    /// # Errors
    /// A file that cannot be used, or is shorter than it was.
    pub(super) fn open(path: &Path, kept: Option<&ReportFile>) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let shown = path.display();
        let open = File::options().create(true).truncate(false).write(true).open(path);
        let mut file = open.with_context(|| format!("cannot write {shown}"))?;
        let found = file.metadata()?.len();
        let path = path.canonicalize().with_context(|| format!("where is {shown}?"))?;
        let len = kept.filter(|kept| kept.path == path).map_or(found, |kept| kept.len);
        ensure!(
            found == 0 || found >= len,
            "{shown} has {found} bytes, and had {len} at the last checkpoint: bring it back, or move it away \
             for a new one"
        );
        if found < len {
            warn!("{shown} is gone: reports go on in a new one");
        }
        let len = len.min(found);
        if len < found {
            file.set_len(len).with_context(|| format!("cannot cut {shown}"))?;
        }
        file.seek(SeekFrom::Start(len))?;
        Ok(Self::File { path, file, len })
    }

    /// Writes the line of a slice.
    ///
    /// # Errors
    /// What the system says; a full disk, for one.
    pub(super) fn write(
        &mut self,
        names: &[String],
        slice_ms: u64,
        closed: &Closed,
        report: &SliceReport,
    ) -> Result<()> {
        let mut line = serde_json::to_vec(&line(names, slice_ms, closed, report))?;
        line.push(b'\n');
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                let written = out.write_all(&line).and_then(|()| out.flush());
                written.context("cannot write reports to standard output")
            }
            Self::File { path, file, len } => {
                let written = file.write_all(&line);
                written.with_context(|| cannot_write(path, closed.slice))?;
                *len += line.len() as u64;
                Ok(())
            }
        }
    }

    /// Brings what was written to disk, and says which file it is in, and how much there is.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn sync(&self) -> Result<Option<ReportFile>> {
        match self {
            Self::Stdout => Ok(None),
            Self::File { path, file, len } => {
                let synced = file.sync_data();
                synced.with_context(|| format!("cannot bring {} to disk", path.display()))?;
                Ok(Some(ReportFile { path: path.clone(), len: *len }))
            }
        }
    }
}

fn cannot_write(path: &Path, slice: u64) -> String {
    format!(
        "cannot write the report of slice {slice} to {}; it is made again from the last checkpoint and the \
         stream once there is room",
        path.display()
    )
}

fn line<'a>(names: &'a [String], slice_ms: u64, closed: &Closed, report: &SliceReport) -> Line<'a> {
    let named = |probes: &[usize]| probes.iter().map(|&probe| &names[probe][..]).collect();
    let start_ms = report.slice.saturating_mul(slice_ms);
    let point = |point: &srlg_host::SuperPoint| Point {
        host: point.host,
        cardinality: point.cardinality,
        std_error: point.std_error,
        lower_bound: point.range == EstimateRange::Beyond,
    };
    Line {
        slice: report.slice,
        start_ms,
        end_ms: start_ms.saturating_add(slice_ms),
        closed: closed.cause.name(),
        delivered: named(&closed.delivered),
        late: named(&closed.late),
        missing: named(&closed.missing),
        overload: report.health.overload.map(|overload| match overload {
            Overload::RaisedHotWeight => "raised_hot_weight",
            Overload::Saturated => "saturated",
        }),
        super_points: report.super_points.iter().map(point).collect(),
    }
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

    #[test]
    fn only_the_file_that_a_checkpoint_knows_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
        std::fs::write(&own, "one\n").unwrap();
        let kept = Reports::open(&own, None).unwrap().sync().unwrap();
        for path in [&own, &other] {
            std::fs::write(path, "one\ntwo\nthr").unwrap();
        }
        // A collector that wrote to standard output knows of no file.
        for (path, kept, left) in [(&other, &None, 11), (&other, &kept, 11), (&own, &kept, 4)] {
            drop(Reports::open(path, kept.as_ref()).unwrap());
            assert_eq!(std::fs::metadata(path).unwrap().len(), left, "{kept:?}");
        }
        std::fs::write(&own, "o").unwrap();
        let error = Reports::open(&own, kept.as_ref()).unwrap_err().to_string();
        assert!(error.contains("has 1 bytes, and had 4"), "{error}");
    }
}
