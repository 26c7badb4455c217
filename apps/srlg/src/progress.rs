//! A progress bar for input files, in bytes. The bar is shown only on a terminal. Other lines on standard error appear
//! above the bar.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use srlg_input::Input;

static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// The progress bar of an input.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Creates a bar, which is hidden if `input` has no files or standard error is not a terminal.
    pub(crate) fn new(input: &Input) -> Result<Self> {
        let bytes = input.progress().of;
        if bytes == 0 || !io::stderr().is_terminal() {
            return Ok(Self { bar: ProgressBar::hidden() });
        }
        let style = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        let style = ProgressStyle::with_template(style)?;
        let bar = ProgressBar::new(bytes).with_style(style);
        Ok(Self { bar: BAR.get_or_init(|| bar).clone() })
    }

    pub(crate) fn print(&self, input: &Input) {
        self.bar.set_position(input.progress().read);
    }
}

/// Removes the bar, even after an input error.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Standard error, whose lines appear above the progress bar.
#[derive(Debug, Default)]
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let write = || io::stderr().write(bytes);
        BAR.get().map_or_else(write, |bar| bar.suspend(write))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_removes_the_bar() {
        let bar = ProgressBar::hidden();
        let read = |progress: Progress| {
            anyhow::ensure!(progress.bar.position() > 0, "nothing was read");
            Ok(())
        };
        read(Progress { bar: bar.clone() }).unwrap_err();
        assert!(bar.is_finished());
    }
}
