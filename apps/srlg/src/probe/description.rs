//! The description of the network, as a probe knows it: from the broker, and from its own disk while that is away.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::alerts::Trouble;
use crate::network::connect::Link;
use crate::network::{NetworkVersion, bucket, read_secret, write_secret};

/// Between two looks whether there is a new version.
const LOOK: Duration = Duration::from_secs(2);

/// Between two attempts at the start.
const RETRY: Duration = Duration::from_millis(250);

/// File of the last description in the folder of the spool.
const FILE: &str = "network.json";

/// The source of descriptions.
pub(super) struct Description {
    link: Link,
    path: PathBuf,
    /// The last error, which is logged once.
    trouble: Trouble,
}

impl Description {
    /// Makes one that keeps the last description in `folder`.
    pub(super) fn new(link: Link, folder: &Path) -> Self {
        Self { link, path: folder.join(FILE), trouble: Trouble::default() }
    }

    /// Returns the description: that of the broker, or the last one where the broker is away.
    pub(super) async fn first(&mut self) -> Result<NetworkVersion> {
        let kept = self.kept();
        loop {
            if let Some(version) = self.ask().await {
                self.keep(&version)?;
                return Ok(version);
            }
            if let Some(kept) = kept {
                let number = kept.number;
                info!("version {number} of the network is measured, which was the last one");
                return Ok(kept);
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Sends each new version to `versions`, for ever.
    pub(super) async fn follow(mut self, versions: watch::Sender<NetworkVersion>) -> Result<()> {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Some(version) = self.ask().await
                && version != *versions.borrow()
            {
                self.keep(&version)?;
                versions.send_replace(version);
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
            Ok(version) => {
                self.trouble.end();
                return Some(version);
            }
            Err(error) => {
                if let Some(error) = self.trouble.change_to(&error) {
                    warn!("there is no description of the network yet: {error}");
                }
            }
        }
        None
    }

    fn kept(&self) -> Option<NetworkVersion> {
        if !self.path.exists() {
            return None;
        }
        let read = || -> Result<NetworkVersion> {
            let text = read_secret(&self.path)?;
            Ok(NetworkVersion::from_json(text.as_bytes(), &self.path.display().to_string())?)
        };
        read().inspect_err(|error| warn!("the last description is of no use: {error:#}")).ok()
    }

    fn keep(&self, version: &NetworkVersion) -> Result<()> {
        let new = self.path.with_extension("tmp");
        if new.exists() {
            fs::remove_file(&new).with_context(|| format!("cannot remove {}", new.display()))?;
        }
        write_secret(&new, &String::from_utf8(version.to_json()?)?)?;
        fs::rename(&new, &self.path)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}
