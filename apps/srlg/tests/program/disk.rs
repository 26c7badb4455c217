//! A small file system that a test can fill up.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A mounted file system, which is unmounted when this value is dropped.
pub(crate) struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts a file system of size `size`, such as `4m`. If mounting is not permitted, prints a message and returns
    /// `None`.
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

    /// Returns the mount point.
    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn fill(&self) {
        let mut filler = File::create(self.folder().join("filler")).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
    }

    /// Deletes the file that fills the file system.
    pub(crate) fn free(&self) {
        fs::remove_file(self.folder().join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A lazy unmount works even if a process has not exited yet.
        let _gone = Command::new("umount").arg("-l").arg(self.folder()).status();
    }
}
