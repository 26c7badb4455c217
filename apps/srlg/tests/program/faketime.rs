//! Programs whose system clock can be set, by libfaketime of Debian.
//!
//! Their monotonic clock is left alone, as it is on a machine whose clock is set.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIRED: &str = "SRLG_REQUIRE_FAKETIME";

/// A clock that the programs have which were started by it.
pub(crate) struct Clock {
    library: PathBuf,
    folder: PathBuf,
}

impl Clock {
    /// A clock with the time of this machine, in a file of `folder`; none where libfaketime is missing, which is told.
    pub(crate) fn new(folder: &Path) -> Option<Self> {
        let path = format!("/usr/lib/{}-linux-gnu/faketime", std::env::consts::ARCH);
        // The one for programs with threads.
        let library = Path::new(&path).join("libfaketimeMT.so.1");
        if !library.exists() {
            assert!(std::env::var_os(REQUIRED).is_none(), "there is no {}", library.display());
            let text = "skipped: there is no libfaketime (scripts/faketime.sh)\n";
            // Past the harness, which keeps what a test prints to itself.
            std::io::stderr().write_all(text.as_bytes()).unwrap();
            return None;
        }
        let clock = Self { library, folder: folder.to_owned() };
        clock.set(0);
        Some(clock)
    }

    /// Sets the clock so many seconds ahead of that of this machine.
    pub(crate) fn set(&self, ahead_s: i64) {
        let new = self.folder.join("clock.new");
        fs::write(&new, format!("{ahead_s:+}\n")).unwrap();
        // The file is whole, whenever it is read.
        fs::rename(new, self.folder.join("clock")).unwrap();
    }

    /// Gives `program` the clock.
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
