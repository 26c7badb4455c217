//! The description of the network, as a probe knows it: from the broker, and from its own disk while that is away.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::alerts::Trouble;
use crate::network::connect::Link;
use crate::network::{NetworkVersion, bucket, read_secret, write_secret};

/// Between two looks whether there is a new version.
const LOOK: Duration = Duration::from_secs(2);

/// How long a broker that is there may fail to send the description before the last one is used.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two attempts at the start.
const RETRY: Duration = Duration::from_millis(250);

/// File of the last description in the folder of the spool.
const FILE: &str = "network.json";

/// The source of descriptions.
pub(super) struct Description {
    link: Link,
    path: PathBuf,
    /// The description on disk.
    kept: Option<NetworkVersion>,
    /// The last errors of the broker and of the disk, which are logged once each.
    trouble: Trouble,
    disk_trouble: Trouble,
}

impl Description {
    /// Makes a source that keeps the last description in `folder`.
    pub(super) fn new(link: Link, folder: &Path) -> Self {
        let path = folder.join(FILE);
        let (kept, trouble, disk_trouble) = (kept(&path), Trouble::default(), Trouble::default());
        Self { link, path, kept, trouble, disk_trouble }
    }

    /// Returns the description: that of the broker, or the last one where the broker does not answer.
    pub(super) async fn first(&mut self) -> NetworkVersion {
        let since = Instant::now();
        loop {
            if let Some(version) = self.ask().await {
                self.keep(&version);
                return version;
            }
            let is_up = self.link.state.borrow().up;
            if let Some(kept) = self.kept.clone()
                && (!is_up || since.elapsed() >= PATIENCE)
            {
                info!("using version {} of the network, the last one that is known", kept.id);
                return kept;
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Sends each new version to `versions`, for ever. Ends with an error where the input is not live, as the collector
    /// rejects what is left of it.
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
                        "the network has version {id} now: start the probe again, which measures its input anew"
                    );
                    versions.send_replace(version);
                }
            }
        }
    }

    /// The description on the broker, if it can be read; what stands in the way is logged once.
    async fn ask(&mut self) -> Option<NetworkVersion> {
        // Where it has not connected, that is in the log already.
        if !self.link.state.borrow().up {
            return None;
        }
        let found = bucket::read(&self.link.client).await;
        match found.and_then(|it| it.context("the collector has not put it there")) {
            Ok(entry) => {
                self.trouble.end();
                return Some(entry.version);
            }
            Err(error) => {
                if let Some(error) = self.trouble.change_to(&error) {
                    warn!("cannot read the description of the network: {error}");
                }
            }
        }
        None
    }

    /// Keeps `version` on disk. Where that fails it is tried again with the next look.
    fn keep(&mut self, version: &NetworkVersion) {
        if self.kept.as_ref() == Some(version) {
            return;
        }
        match write(&self.path, version) {
            Ok(()) => {
                self.disk_trouble.end();
                self.kept = Some(version.clone());
            }
            Err(error) => {
                if let Some(error) = self.disk_trouble.change_to(&error) {
                    warn!("the description of the network is not on disk yet: {error}");
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
    read().inspect_err(|error| warn!("ignoring the last description: {error:#}")).ok()
}

fn write(path: &Path, version: &NetworkVersion) -> Result<()> {
    let new = path.with_extension("tmp");
    if new.exists() {
        fs::remove_file(&new).with_context(|| format!("cannot remove {}", new.display()))?;
    }
    write_secret(&new, &String::from_utf8(version.to_json()?)?)?;
    fs::rename(&new, path).with_context(|| format!("cannot write {}", path.display()))
}
