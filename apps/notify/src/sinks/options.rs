//! Options of sinks in a configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Error, Result, bail};
use serde::Deserialize;

use super::Channel;
use super::alertmanager::Alertmanager;
use super::body::Body;
use super::exec::Exec;
use super::file::{File, Rotation};
use super::http::{Client, Credentials, check_url};
use super::mail::{Mail, MailOptions};
use super::only::Only;
use super::syslog::{Syslog, check_address};
use super::tls::TlsFiles;
use super::webhook::{Webhook, read_key};
use crate::store::Store;
use srlg_alerts::Tracker;
use srlg_system::machine;

/// Options of a sink.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct SinkOptions {
    /// Name of the sink in logs and metrics. Each sink needs a unique name. [default: the type]
    #[serde(default)]
    pub name: Option<String>,
    /// Maximum number of waiting notifications. If more are waiting, the oldest are dropped.
    #[serde(default = "queue")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub queue: u32,
    /// Notifications that the sink wants.
    #[serde(default)]
    pub only: Only,
    /// Type of the sink and its options.
    #[serde(flatten)]
    pub kind: SinkKind,
}

/// A type of sink and its options.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    deny_unknown_fields,
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
pub enum SinkKind {
    /// A file with one JSON object per line.
    File {
        /// Path of the file. `-` is standard output.
        #[serde(default)]
        #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
        path: PathBuf,
        /// Size at which the file is rotated, in bytes.
        #[serde(default = "rotate_bytes")]
        #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
        rotate_bytes: u64,
        /// Number of rotated files that are kept.
        #[serde(default = "keep")]
        keep: u32,
    },
    /// A URL to which notifications are posted as JSON.
    Webhook {
        /// URL of the webhook, which starts with `http://` or `https://`.
        #[serde(default)]
        #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "URL")))]
        url: String,
        /// Files with credentials.
        #[serde(default)]
        credentials: Credentials,
        /// Files for TLS.
        #[serde(default)]
        tls: TlsFiles,
        /// Template that renders a notification as a JSON object. [default: the notification itself]
        #[serde(default)]
        #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
        body_file: Option<PathBuf>,
        /// Minimum time between two messages. Notifications in between are collected into one message
        /// ([digest](alerts.md#sinks)). [default: 5s if the template uses `digest`, otherwise 0s]
        #[serde(default, with = "humantime_serde")]
        #[cfg_attr(feature = "schemars", schemars(with = "Option<String>", extend("x-form" = "time")))]
        digest: Option<Duration>,
        /// File with a secret. The header `X-Signature-SHA256` carries the HMAC-SHA256 of the body.
        #[serde(default)]
        #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
        signature_file: Option<PathBuf>,
        /// Maximum number of notifications per minute without a digest ([rate limit](alerts.md#sinks)).
        #[serde(default = "most_per_minute")]
        #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
        most_per_minute: u32,
        /// Time limit for a response.
        #[serde(default = "timeout", with = "humantime_serde")]
        #[cfg_attr(feature = "schemars", schemars(with = "String", extend("x-form" = "time")))]
        timeout: Duration,
    },
    /// A Prometheus Alertmanager, which receives alerts through its API v2.
    Alertmanager {
        /// URL of the server, without the path of the API.
        #[serde(default)]
        #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "URL")))]
        url: String,
        /// Files with credentials.
        #[serde(default)]
        credentials: Credentials,
        /// Files for TLS.
        #[serde(default)]
        tls: TlsFiles,
        /// Time after which active alerts are sent again, at least 1s. If Alertmanager does not receive an alert for
        /// three times this period, it ends the alert.
        #[serde(default = "resend", with = "humantime_serde")]
        #[cfg_attr(feature = "schemars", schemars(with = "String", extend("x-form" = "time")))]
        resend: Duration,
        /// Time limit for a response.
        #[serde(default = "timeout", with = "humantime_serde")]
        #[cfg_attr(feature = "schemars", schemars(with = "String", extend("x-form" = "time")))]
        timeout: Duration,
    },
    /// A syslog server, which receives RFC 5424 messages.
    Syslog {
        /// Address of the server: `udp://HOST:PORT`, `tcp://HOST:PORT`, `tls://HOST:PORT` or `unix:///dev/log`.
        #[serde(default)]
        #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "URL")))]
        address: String,
        /// Maximum number of notifications per minute ([rate limit](alerts.md#sinks)).
        #[serde(default = "most_per_minute")]
        #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
        most_per_minute: u32,
        /// Files for TLS.
        #[serde(default)]
        tls: TlsFiles,
    },
    /// An SMTP server, which receives emails.
    Mail(MailOptions),
    /// A program that is started for each notification, which it reads as JSON from its standard input.
    Exec {
        /// Program and its arguments. They are not passed through a shell.
        #[serde(default)]
        command: Vec<String>,
        /// Time limit for the program.
        #[serde(default = "timeout", with = "humantime_serde")]
        #[cfg_attr(feature = "schemars", schemars(with = "String", extend("x-form" = "time")))]
        timeout: Duration,
    },
}

const SECOND: Duration = Duration::from_secs(1);

/// Returns the default queue length: one start and one end for each tracked host of a view.
const fn queue() -> u32 {
    2 * Tracker::MOST_HOSTS as u32
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
    /// Creates the options of a file sink, which receives all notifications.
    #[must_use]
    pub fn file(path: PathBuf) -> Self {
        let kind = SinkKind::File { path, rotate_bytes: rotate_bytes(), keep: keep() };
        Self { name: None, queue: queue(), only: Only::default(), kind }
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
                SinkKind::Mail(_) => "mail",
                SinkKind::Exec { .. } => "exec",
            };
            name.to_owned()
        })
    }

    /// Opens the sink, which has processed the notifications of `store` up to number `done`.
    pub(super) fn open(&self, done: i64, store: &Store) -> Result<Box<dyn Channel>> {
        if let Some((_, text)) = self.problems().pop() {
            bail!(text);
        }
        Ok(match &self.kind {
            SinkKind::File { path, rotate_bytes, keep } => {
                let rotation = Rotation { bytes: *rotate_bytes, keep: *keep };
                Box::new(File::open(path, rotation, done, store)?)
            }
            SinkKind::Webhook {
                url,
                credentials,
                tls,
                body_file,
                digest,
                signature_file,
                timeout,
                ..
            } => {
                let client = Client::new(url.clone(), credentials, tls, *timeout)?;
                let body = Body::open(body_file.as_deref())?;
                let digest = body.digest(*digest)?;
                Box::new(Webhook::new(client, body, digest, signature_file.as_deref())?)
            }
            SinkKind::Alertmanager { url, credentials, tls, resend, timeout } => {
                let url = format!("{}/api/v2", url.trim_end_matches('/'));
                let client = Client::new(url, credentials, tls, *timeout)?;
                Box::new(Alertmanager::new(client, *resend, self.only.severity))
            }
            SinkKind::Syslog { address, tls, .. } => Box::new(Syslog::new(address, tls)?),
            SinkKind::Mail(options) => Box::new(Mail::new(options)?),
            SinkKind::Exec { command, timeout } => Box::new(Exec::new(command, *timeout)?),
        })
    }

    /// Returns the problems that can be found without access to a server, a program or a file, as pairs of a key and a
    /// message.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let mut check = |is_right: bool, key, text: &str| {
            if !is_right {
                problems.push((key, text.to_owned()));
            }
        };
        let text = "queue: must be at least 1 waiting notification, got 0";
        check(self.queue > 0, "queue", text);
        let is_resending = matches!(self.kind, SinkKind::Alertmanager { .. });
        let text = "only.status: must be empty, because an Alertmanager needs the starts and ends of all alerts";
        check(!is_resending || self.only.status.is_empty(), "only", text);
        let text = "most-per-minute: must be at least 1, got 0";
        check(self.most_per_minute() != Some(0), "most-per-minute", text);
        if let SinkKind::Webhook { timeout, .. }
        | SinkKind::Alertmanager { timeout, .. }
        | SinkKind::Exec { timeout, .. } = &self.kind
        {
            check(!timeout.is_zero(), "timeout", "timeout: must be longer than 0, for example 10s");
        }
        let checked = match &self.kind {
            SinkKind::File { path, rotate_bytes, .. } => {
                let is_path = !path.as_os_str().is_empty();
                check(is_path, "path", "path: must not be empty; use - for standard output");
                let text = "rotate-bytes: must be at least 1, got 0";
                check(*rotate_bytes > 0, "rotate-bytes", text);
                Ok(())
            }
            SinkKind::Webhook { url, .. } => check_url(url).map_err(|error| ("url", error)),
            SinkKind::Alertmanager { url, resend, .. } => {
                let text = format!("resend: must be at least 1s, got {resend:?}");
                check(*resend >= SECOND, "resend", &text);
                check_url(url).map_err(|error| ("url", error))
            }
            SinkKind::Syslog { address, tls, .. } => {
                check_address(address, tls).map_err(|error| ("address", error))
            }
            SinkKind::Mail(_) => Ok(()),
            SinkKind::Exec { command, timeout } => {
                Exec::new(command, *timeout).map(drop).map_err(|error| ("command", error))
            }
        };
        let (credentials, tls) = match &self.kind {
            SinkKind::Webhook { credentials, tls, .. }
            | SinkKind::Alertmanager { credentials, tls, .. } => (credentials.check(), tls.check()),
            SinkKind::Syslog { tls, .. } => (Ok(()), tls.check()),
            _ => (Ok(()), Ok(())),
        };
        let credentials = credentials.map_err(|error| ("credentials", error));
        let tls = tls.map_err(|error| ("tls", error));
        let wrong = [checked, credentials, tls].into_iter().filter_map(Result::err);
        problems.extend(wrong.map(|(key, error)| (key, format!("{error:#}"))));
        if let SinkKind::Mail(options) = &self.kind {
            problems.extend(options.problems());
        }
        problems
    }

    /// Checks that the sink's local files and programs are usable, without connecting to a server. `state` is the state
    /// folder, which srlg creates if it does not exist. An error contains the key of the unusable value.
    pub fn try_out(&self, state: Option<&Path>) -> Result<(), (&'static str, Error)> {
        let (key, tried) = match &self.kind {
            SinkKind::File { path, .. } if path != Path::new("-") => {
                ("path", machine::try_file(path, state).and_then(|()| File::check(path)))
            }
            SinkKind::Webhook {
                url, credentials, tls, body_file, digest, signature_file, ..
            } => {
                let key = signature_file.as_deref().map(read_key).transpose();
                key.map_err(|error| ("signature-file", error))?;
                let body = Body::open(body_file.as_deref());
                let body = body.map_err(|error| ("body-file", error))?;
                body.digest(*digest).map_err(|error| ("digest", error))?;
                credentials.headers().map_err(|error| ("credentials", error))?;
                ("tls", tls.http(url).map(drop))
            }
            SinkKind::Alertmanager { url, credentials, tls, .. } => {
                credentials.headers().map_err(|error| ("credentials", error))?;
                ("tls", tls.http(url).map(drop))
            }
            SinkKind::Syslog { address, tls, .. } if check_address(address, tls).is_ok() => {
                ("tls", Syslog::new(address, tls).map(drop))
            }
            SinkKind::Mail(options) => return options.try_out(),
            SinkKind::Exec { command, .. } => match command.first() {
                Some(program) if !program.is_empty() => ("command", machine::try_program(program)),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        tried.map_err(|error| (key, error))
    }

    /// Returns the maximum number of attempts to send a message, or `None` if there is no limit.
    pub(super) fn attempts(&self) -> Option<u32> {
        matches!(self.kind, SinkKind::Exec { .. }).then_some(3)
    }

    /// Returns the maximum number of notifications per minute of a sink without a digest, or `None` if there is no
    /// limit. An Alertmanager receives all active alerts again and again in any case, and mails are digests.
    pub(super) fn most_per_minute(&self) -> Option<u32> {
        match self.kind {
            SinkKind::Webhook { most_per_minute, .. }
            | SinkKind::Syslog { most_per_minute, .. } => Some(most_per_minute),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_queue_takes_the_starts_and_ends_of_all_hosts() {
        let options: SinkOptions = toml::from_str("type = 'file'\npath = '-'").unwrap();
        // The documentation states this value.
        assert_eq!((options.queue as usize, 2 * Tracker::MOST_HOSTS), (32_768, 32_768));
        assert_eq!(options, SinkOptions::file("-".into()));
    }
}
