//! Network description of a probe, which is read from the broker or, if the broker does not provide it, from the local
//! disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::network::connect::{BACKOFF, Link};
use crate::network::{NetworkVersion, bucket};
use srlg_input::credentials::read_secret;
use srlg_system::pacing::LastError;
use srlg_system::secrets::write_secret;

/// Time between two checks for a new version of the description.
const LOOK: Duration = Duration::from_secs(2);

/// Time to wait for the description from a connected broker before the stored description is used.
const PATIENCE: Duration = Duration::from_secs(5);

/// Name of the file that contains the last description, in the folder of the spool.
const FILE: &str = "network.json";

/// Source of network descriptions.
pub(super) struct Description {
    link: Link,
    path: PathBuf,
    /// Description that is stored on disk.
    kept: Option<NetworkVersion>,
    /// Last error from the broker.
    last_error: LastError,
    /// Last error from the disk.
    disk_error: LastError,
}

impl Description {
    pub(super) fn new(link: Link, folder: &Path) -> Self {
        let path = folder.join(FILE);
        let (kept, last_error, disk_error) =
            (kept(&path), LastError::default(), LastError::default());
        Self { link, path, kept, last_error, disk_error }
    }

    /// Returns the description from the broker, or the stored description if the broker does not provide one. If there
    /// is no stored description, waits for the broker.
    pub(super) async fn first(&mut self) -> NetworkVersion {
        let (since, mut backoff) = (Instant::now(), BACKOFF);
        loop {
            if let Some(version) = self.ask().await {
                self.keep(&version);
                return version;
            }
            let is_up = self.link.state.borrow().up;
            if let Some(kept) = self.kept.clone()
                && (!is_up || since.elapsed() >= PATIENCE)
            {
                info!("using network version {}, the last one received from the broker", kept.id);
                return kept;
            }
            tokio::time::sleep(backoff.delay()).await;
        }
    }

    /// Sends each new version to `versions`, until an error occurs. If the input is not live, a new version is an
    /// error, because the collector rejects further slices of the old version.
    pub(super) async fn follow(
        mut self,
        versions: watch::Sender<NetworkVersion>,
        is_live: bool,
    ) -> Result<()> {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Some(version) = self.ask().await {
                self.keep(&version);
                if version != *versions.borrow() {
                    let id = version.id;
                    ensure!(
                        is_live,
                        "the network now has version {id}; restart the probe to count its input again"
                    );
                    versions.send_replace(version);
                }
            }
        }
    }

    /// Returns the description from the broker, or `None` if it cannot be read.
    async fn ask(&mut self) -> Option<NetworkVersion> {
        // A failed connection is already in the log.
        if !self.link.state.borrow().up {
            return None;
        }
        let found = bucket::read(&self.link.client).await;
        match found.and_then(|it| it.context("the collector has not written a description yet")) {
            Ok(entry) => {
                self.last_error.end();
                return Some(entry.version);
            }
            Err(error) => {
                if let Some(error) = self.last_error.change_to(&error) {
                    warn!("cannot read the network description: {error}");
                }
            }
        }
        None
    }

    /// Stores `version` on disk. If this fails, the next check for a new version tries again.
    fn keep(&mut self, version: &NetworkVersion) {
        if self.kept.as_ref() == Some(version) {
            return;
        }
        match write(&self.path, version) {
            Ok(()) => {
                self.disk_error.end();
                self.kept = Some(version.clone());
            }
            Err(error) => {
                if let Some(error) = self.disk_error.change_to(&error) {
                    warn!("cannot store the network description: {error}");
                }
            }
        }
    }
}

fn kept(path: &Path) -> Option<NetworkVersion> {
    if !path.exists() {
        return None;
    }
    let read = || -> Result<NetworkVersion> {
        let text = read_secret(path)?;
        Ok(NetworkVersion::from_json(text.as_bytes(), &path.display().to_string())?)
    };
    read().inspect_err(|error| warn!("ignoring the stored network description: {error:#}")).ok()
}

fn write(path: &Path, version: &NetworkVersion) -> Result<()> {
    let new = path.with_extension("tmp");
    if new.exists() {
        fs::remove_file(&new).with_context(|| format!("cannot remove {}", new.display()))?;
    }
    write_secret(&new, &String::from_utf8(version.to_json()?)?)?;
    fs::rename(&new, path).with_context(|| format!("cannot write {}", path.display()))
}
