//! Programs whose system clock can be set with Debian's libfaketime.
//!
//! The monotonic clock is not affected, just as if the system clock of a real machine were set.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use srlg_traffic::skip::skip_or_fail;

const REQUIRED: &str = "SRLG_REQUIRE_FAKETIME";

/// A system clock for other programs.
pub(crate) struct Clock {
    library: PathBuf,
    folder: PathBuf,
}

impl Clock {
    /// Creates a clock that initially shows the real time. Its offset is stored in a file in `folder`. If libfaketime
    /// is missing, prints a message and returns `None`, or panics if `SRLG_REQUIRE_FAKETIME` is set.
    pub(crate) fn new(folder: &Path) -> Option<Self> {
        let path = format!("/usr/lib/{}-linux-gnu/faketime", std::env::consts::ARCH);
        // This variant supports programs with threads.
        let library = Path::new(&path).join("libfaketimeMT.so.1");
        if !library.exists() {
            skip_or_fail(REQUIRED, "libfaketime is missing; run scripts/faketime.sh");
            return None;
        }
        let clock = Self { library, folder: folder.to_owned() };
        clock.set(0);
        Some(clock)
    }

    /// Sets the clock to the real time plus `ahead_s` seconds.
    pub(crate) fn set(&self, ahead_s: i64) {
        let new = self.folder.join("clock.new");
        fs::write(&new, format!("{ahead_s:+}\n")).unwrap();
        // A rename ensures that a reader never sees an incomplete file.
        fs::rename(new, self.folder.join("clock")).unwrap();
    }

    /// Makes `program` use the clock.
    pub(crate) fn give(&self, program: &mut Command) {
        program
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", self.folder.join("clock"))
            .envs(
                ["FAKETIME_NO_CACHE", "FAKETIME_DONT_FAKE_MONOTONIC", "NO_FAKE_STAT"]
                    .map(|it| (it, "1")),
            );
    }
}
