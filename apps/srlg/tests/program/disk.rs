//! A file system that can be full.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A file system of few bytes.
pub(crate) struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// One of so many bytes, as `mount` takes them; none where nobody may mount it, which is told.
    pub(crate) fn new(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(folder.path());
        if !mount.output().is_ok_and(|done| done.status.success()) {
            eprintln!("SKIPPED: only root can mount a small disk");
            return None;
        }
        Some(Self(folder))
    }

    /// Its root.
    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Fills it to the last block.
    pub(crate) fn fill(&self) {
        let mut filler = File::create(self.folder().join("filler")).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
    }

    /// Undoes that.
    pub(crate) fn free(&self) {
        fs::remove_file(self.folder().join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process may still be on its way out.
        let _gone = Command::new("umount").arg("-l").arg(self.folder()).status();
    }
}
