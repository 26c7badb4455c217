//! The GoBGP recipe with a program in place of GoBGP.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use srlg_alerts::notification::Notification;
use srlg_traffic::skip::skip_or_fail;
use tempfile::TempDir;

pub(crate) fn recipe() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("service/recipes/gobgp.sh")
}

pub(crate) fn has_jq() -> bool {
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    if !has_jq {
        skip_or_fail("SRLG_REQUIRE_GOBGP", "jq is missing; run scripts/gobgp.sh");
    }
    has_jq
}

/// The recipe with a program in place of GoBGP that only writes its arguments to a file.
pub(crate) struct Recipe(pub(crate) TempDir);

impl Recipe {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gobgp");
        let log = folder.path().join("log");
        fs::write(&path, format!("#!/bin/sh\necho \"$*\" >>{}\n", log.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }

    /// Runs the recipe for `notification` and returns the lines that it wrote about its decisions.
    pub(crate) fn run(&self, options: &[&str], notification: &Notification) -> Vec<String> {
        let place = self.0.path();
        let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap());
        let mut program = Command::new(recipe())
            .args(options)
            .arg(place.join("state"))
            .args(["blackhole", "192.0.2.1"])
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        serde_json::to_writer(program.stdin.take().unwrap(), notification).unwrap();
        let output = program.wait_with_output().unwrap();
        let lines = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{lines}");
        lines.lines().map(str::to_owned).collect()
    }

    /// Returns the addresses of the routes that were announced and not withdrawn.
    pub(crate) fn routes(&self) -> BTreeSet<String> {
        let log = fs::read_to_string(self.0.path().join("log")).unwrap_or_default();
        let mut routes = BTreeSet::new();
        for line in log.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let ["global", "rib", action, "-a", _, prefix, ..] = words[..] else {
                panic!("{line}")
            };
            match action {
                "add" => drop(routes.insert(prefix.to_owned())),
                "del" => assert!(routes.remove(prefix), "{log}"),
                _ => panic!("{line}"),
            }
        }
        routes
    }
}
