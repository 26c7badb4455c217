//! [`Reports`]: a line of JSON per closed slice, in a file or on standard output.
//!
//! Shape: [`line()`] makes what a line says. Invariant: a line depends
//! on nothing but what was merged, so the same deltas make the same bytes; and a file that is opened
//! again at the length that a checkpoint knows has each slice once.

mod line;

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use srlg_contact::Sampling;
use srlg_host::SliceReport;
use tracing::warn;

use super::rule::Closed;
use line::line;

pub(super) use line::{Frame, words};

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
        frame: Frame<'_>,
        closed: &Closed,
        report: (&SliceReport, Sampling),
    ) -> Result<()> {
        let mut line = serde_json::to_vec(&line(frame, closed, report))?;
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
        "cannot write the report of slice {slice} to {}; the report is made again from the last checkpoint and the \
         stream once there is room",
        path.display()
    )
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
