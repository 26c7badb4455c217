//! A bar over the bytes of files, where somebody watches.

use std::io::{self, IsTerminal};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use srlg_input::Input;

use crate::commands::tell;

/// Contacts between two looks at the clock.
const STEP: u64 = 1 << 16;

pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Shows nothing where there is no file, or no terminal.
    pub(super) fn new(input: &Input) -> Result<Self> {
        let bytes = input.progress().of;
        if bytes == 0 || !io::stderr().is_terminal() {
            return Ok(Self { bar: ProgressBar::hidden() });
        }
        let style = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        let style = ProgressStyle::with_template(style)?;
        Ok(Self { bar: ProgressBar::new(bytes).with_style(style) })
    }

    /// Shows how much of `input` has been read, after its contact of number `contact`.
    pub(super) fn show(&self, contact: u64, input: &Input) {
        if contact.is_multiple_of(STEP) {
            self.bar.set_position(input.progress().read);
        }
    }

    /// Tells a line above the bar.
    pub(super) fn tell(&self, line: std::fmt::Arguments<'_>) {
        self.bar.suspend(|| tell(line));
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
