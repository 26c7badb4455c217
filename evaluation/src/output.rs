//! Where the commands write: a file, or `-` for the standard output.
//!
//! Shape: [`Output`], a buffered, counting writer. Invariant: a file appears
//! under its name only when it is complete; until then it is `NAME.partial`, and
//! that is removed when the command fails. Devices and pipes are written directly.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A destination that has to be finished.
pub(crate) struct Output {
    writer: BufWriter<Box<dyn Write>>,
    written: u64,
    /// The partial file and its final name; none when there is nothing to rename.
    partial: Option<(PathBuf, PathBuf)>,
}

impl Output {
    /// Opens `path` for writing.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let opened = |writer| Self {
            writer: BufWriter::with_capacity(1 << 18, writer),
            written: 0,
            partial: None,
        };
        if path == Path::new("-") {
            return Ok(opened(Box::new(io::stdout())));
        }
        let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        let partial = if is_special { path.to_owned() } else { partial_name(path) };
        let file = File::create(&partial)
            .with_context(|| format!("cannot create {}", partial.display()))?;
        let mut output = opened(Box::new(file));
        output.partial = (!is_special).then(|| (partial, path.to_owned()));
        Ok(output)
    }

    /// Bytes written so far.
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// Writes what is buffered and gives the file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.writer.flush().context("cannot write the output")?;
        if let Some((partial, path)) = &self.partial {
            fs::rename(partial, path)
                .with_context(|| format!("cannot rename {} to its name", partial.display()))?;
        }
        self.partial = None;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.partial {
            // The command fails already: its error is the one to tell.
            let _ = fs::remove_file(partial);
        }
    }
}

fn partial_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    name.into()
}
