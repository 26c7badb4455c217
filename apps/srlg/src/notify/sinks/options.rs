//! What a configuration says of a sink.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::Channel;
use super::alertmanager::Alertmanager;
use super::exec::Exec;
use super::file::{File, Rotation};
use super::syslog::Syslog;
use super::webhook::{Webhook, check_url};
use crate::notify::store::Store;

/// Options of a sink.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SinkOptions {
    /// Its name, in logs and metrics; without one its type.
    #[serde(default)]
    pub name: Option<String>,
    /// Notices that may wait; beyond, the oldest are dropped.
    #[serde(default = "queue")]
    pub queue: u32,
    /// Notices a minute, ends not counted; beyond, they are counted and told in one. A file takes all.
    #[serde(default = "most_per_minute")]
    pub most_per_minute: u32,
    /// Which kind of sink.
    #[serde(flatten)]
    pub kind: SinkKind,
}

/// Tells sinks apart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    tag = "type",
    deny_unknown_fields,
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
pub enum SinkKind {
    /// A file of lines of JSON.
    File {
        /// Its path; `-` is standard output.
        path: PathBuf,
        /// Bytes from which another file is begun.
        #[serde(default = "rotate_bytes")]
        rotate_bytes: u64,
        /// Former files that are kept.
        #[serde(default = "keep")]
        keep: u32,
    },
    /// An address to which notices are posted as JSON.
    Webhook {
        /// The address.
        url: String,
        /// A file of header lines, as `Authorization: Bearer ...`.
        #[serde(default)]
        headers_file: Option<PathBuf>,
        /// The longest that an answer may take.
        #[serde(default = "timeout", with = "humantime_serde")]
        timeout: Duration,
    },
    /// An Alertmanager of Prometheus, by its API v2.
    Alertmanager {
        /// The address of the server, without the path of the API.
        url: String,
        /// Alerts that go on are told again so often; they end there after three times that.
        #[serde(default = "resend", with = "humantime_serde")]
        resend: Duration,
        /// The longest that an answer may take.
        #[serde(default = "timeout", with = "humantime_serde")]
        timeout: Duration,
    },
    /// A collector of syslog, in the form of RFC 5424.
    Syslog {
        /// `udp://HOST:PORT`, `tcp://HOST:PORT` or `unix:///dev/log`.
        address: String,
    },
    /// A program, which is started for each notice and reads that as JSON from its standard input.
    Exec {
        /// The program and its arguments. No shell comes in between.
        command: Vec<String>,
        /// The longest that the program may run.
        #[serde(default = "timeout", with = "humantime_serde")]
        timeout: Duration,
    },
}

const SECOND: Duration = Duration::from_secs(1);

const fn queue() -> u32 {
    10_000
}

const fn most_per_minute() -> u32 {
    60
}

const fn rotate_bytes() -> u64 {
    64_000_000
}

const fn keep() -> u32 {
    8
}

const fn timeout() -> Duration {
    Duration::from_secs(10)
}

const fn resend() -> Duration {
    Duration::from_secs(30)
}

impl SinkOptions {
    /// Makes the options of a file, which takes all notices.
    #[must_use]
    pub fn file(path: PathBuf) -> Self {
        let kind = SinkKind::File { path, rotate_bytes: rotate_bytes(), keep: keep() };
        Self { name: None, queue: queue(), most_per_minute: most_per_minute(), kind }
    }

    /// Returns the name of the sink.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let name = match self.kind {
                SinkKind::File { .. } => "file",
                SinkKind::Webhook { .. } => "webhook",
                SinkKind::Alertmanager { .. } => "alertmanager",
                SinkKind::Syslog { .. } => "syslog",
                SinkKind::Exec { .. } => "exec",
            };
            name.to_owned()
        })
    }

    /// Opens the sink, which is done with notices of `store` up to number `done`.
    pub(super) fn open(&self, done: i64, store: &Store) -> Result<Box<dyn Channel>> {
        self.check()?;
        Ok(match &self.kind {
            SinkKind::File { path, rotate_bytes, keep } => {
                let rotation = Rotation { bytes: *rotate_bytes, keep: *keep };
                Box::new(File::open(path, rotation, done, store)?)
            }
            SinkKind::Webhook { url, headers_file, timeout } => {
                Box::new(Webhook::new(url, headers_file.as_deref(), *timeout)?)
            }
            SinkKind::Alertmanager { url, resend, timeout } => {
                Box::new(Alertmanager::new(url, *resend, *timeout))
            }
            SinkKind::Syslog { address } => Box::new(Syslog::new(address)?),
            SinkKind::Exec { command, timeout } => Box::new(Exec::new(command, *timeout)?),
        })
    }

    /// Checks what can be known of a sink without its server, program or files.
    pub fn check(&self) -> Result<()> {
        ensure!(self.queue > 0, "queue is 0: give the number of notices that may wait, as 10000");
        ensure!(self.most_per_minute > 0, "most-per-minute is 0: give a number of notices, as 60");
        let check_timeout = |timeout: &Duration| {
            ensure!(!timeout.is_zero(), "timeout is 0: give a time, as 10s");
            Ok(())
        };
        match &self.kind {
            SinkKind::File { rotate_bytes, .. } => {
                ensure!(*rotate_bytes > 0, "rotate-bytes is 0: give a size, as 64000000");
                Ok(())
            }
            SinkKind::Webhook { url, timeout, .. } => {
                check_timeout(timeout)?;
                check_url(url)
            }
            SinkKind::Alertmanager { url, resend, timeout } => {
                check_timeout(timeout)?;
                ensure!(*resend >= SECOND, "resend is {resend:?}: give a second at least, as 30s");
                check_url(url)
            }
            SinkKind::Syslog { address } => Syslog::new(address).map(drop),
            SinkKind::Exec { command, timeout } => {
                check_timeout(timeout)?;
                Exec::new(command, *timeout).map(drop)
            }
        }
    }

    /// Attempts for one notice; of what may come back as many as it takes.
    pub(super) fn attempts(&self) -> Option<u32> {
        matches!(self.kind, SinkKind::Exec { .. }).then_some(3)
    }

    /// Returns how many notices may pass in a minute; a file takes all.
    pub(super) fn most_per_minute(&self) -> u32 {
        if matches!(self.kind, SinkKind::File { .. }) { u32::MAX } else { self.most_per_minute }
    }
}
