//! [`Lines`]: lines of JSON about closed slices, in a file or on standard output.
//!
//! Shape: opened at the length that a checkpoint knows, written slice by slice, brought to disk before the next checkpoint.
//! Invariant: where the same slices make the same lines, the file has each of them once, however often its writer is
//! killed.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tracing::warn;

/// A file of lines of JSON.
#[derive(Debug)]
pub(super) struct Lines {
    /// What a line is, as people call it.
    what: &'static str,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout,
    File { path: PathBuf, file: File, len: u64 },
}

/// The path and the length of a file of lines, in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LineFile {
    path: PathBuf,
    len: u64,
}

impl Lines {
    /// Opens `path` for lines, each of which is a `what`; `-` is standard output. The file that a checkpoint knows, `kept`,
    /// is cut to the length that it had then; any other one is appended to.
    pub(super) fn open(what: &'static str, path: &Path, kept: Option<&LineFile>) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { what, target: Target::Stdout });
        }
        let shown = path.display();
        let open = File::options().create(true).truncate(false).write(true).open(path);
        let mut file = open.with_context(|| format!("cannot write {shown}"))?;
        let found = file.metadata()?.len();
        let path = path.canonicalize().with_context(|| format!("cannot find {shown}"))?;
        let len = kept.filter(|kept| kept.path == path).map_or(found, |kept| kept.len);
        ensure!(
            found == 0 || found >= len,
            "{shown} has {found} bytes, and had {len} at the last checkpoint: bring that file back, or move {shown} away \
             for a new one"
        );
        if found < len {
            warn!("{shown} was removed: {what}s continue in a new file");
        }
        let len = len.min(found);
        if len < found {
            file.set_len(len).with_context(|| format!("cannot cut {shown}"))?;
        }
        file.seek(SeekFrom::Start(len))?;
        Ok(Self { what, target: Target::File { path, file, len } })
    }

    /// Writes `line`, which tells of `slice`.
    pub(super) fn write(&mut self, slice: u64, line: &impl Serialize) -> Result<()> {
        let what = self.what;
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        match &mut self.target {
            Target::Stdout => {
                let mut out = io::stdout().lock();
                let written = out.write_all(&line).and_then(|()| out.flush());
                written.with_context(|| format!("cannot write {what}s to standard output"))
            }
            Target::File { path, file, len } => {
                let written = file.write_all(&line);
                written.with_context(|| cannot_write(what, path, slice))?;
                *len += line.len() as u64;
                Ok(())
            }
        }
    }

    /// Whether lines go where those of `other` go.
    pub(super) fn are_with(&self, other: &Self) -> bool {
        match (&self.target, &other.target) {
            (Target::Stdout, Target::Stdout) => true,
            (Target::File { path, .. }, Target::File { path: other, .. }) => path == other,
            _ => false,
        }
    }

    /// Whether `kept` is the file that lines go to, so that a checkpoint knows how long it was.
    pub(super) fn are_known_by(&self, kept: Option<&LineFile>) -> bool {
        match &self.target {
            Target::Stdout => true,
            Target::File { path, .. } => kept.is_some_and(|kept| kept.path == *path),
        }
    }

    /// Brings what was written to disk, and says which file it is in, and how much there is.
    pub(super) fn sync(&self) -> Result<Option<LineFile>> {
        match &self.target {
            Target::Stdout => Ok(None),
            Target::File { path, file, len } => {
                let synced = file.sync_data();
                synced.with_context(|| format!("cannot bring {} to disk", path.display()))?;
                Ok(Some(LineFile { path: path.clone(), len: *len }))
            }
        }
    }
}

fn cannot_write(what: &str, path: &Path, slice: u64) -> String {
    format!(
        "cannot write the {what} of slice {slice} to {}; the {what} is made again from the last checkpoint and the stream \
         once there is room",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, kept: Option<&LineFile>) -> Result<Lines> {
        Lines::open("report", path, kept)
    }

    #[test]
    fn only_the_file_that_a_checkpoint_knows_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
        std::fs::write(&own, "one\n").unwrap();
        let kept = open(&own, None).unwrap().sync().unwrap();
        for path in [&own, &other] {
            std::fs::write(path, "one\ntwo\nthr").unwrap();
        }
        // One that wrote to standard output knows of no file.
        for (path, kept, left) in [(&other, &None, 11), (&other, &kept, 11), (&own, &kept, 4)] {
            drop(open(path, kept.as_ref()).unwrap());
            assert_eq!(std::fs::metadata(path).unwrap().len(), left, "{kept:?}");
        }
        let lines = open(&own, None).unwrap();
        assert!(lines.are_known_by(kept.as_ref()) && !lines.are_known_by(None));
        assert!(lines.are_with(&open(&own, None).unwrap()));
        assert!(!lines.are_with(&open(&other, None).unwrap()));
        std::fs::write(&own, "o").unwrap();
        let error = open(&own, kept.as_ref()).unwrap_err().to_string();
        insta::assert_snapshot!(error.replace(folder.path().to_str().unwrap(), "FOLDER"));
    }
}
