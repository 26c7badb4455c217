//! A sink that sends emails. An email can contain several notifications.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Error, Result};
use lettre::Message;
use serde::Deserialize;
use tracing::warn;

use super::mail_text::{Writer, mailbox};
use super::smtp::{Login, Refusal, Server, split};
use super::tls::TlsFiles;
use super::{Channel, Failure};
use crate::store::NumberedNotification;
use srlg_alerts::notification::Notification;

/// Options of an email sink.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MailOptions {
    /// Mail server: `smtp://HOST:PORT`, which must offer STARTTLS, or `smtps://HOST:PORT`.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "URL")))]
    server: String,
    /// Whether emails are sent to `smtp://HOST:PORT` without encryption. Excludes `credentials` and `tls`.
    #[serde(default)]
    plain: bool,
    /// Address of the sender.
    #[serde(default)]
    from: String,
    /// Addresses of the recipients.
    #[serde(default)]
    to: Vec<String>,
    /// File with credentials.
    #[serde(default)]
    credentials: Option<MailCredentials>,
    /// Files for TLS.
    #[serde(default)]
    tls: TlsFiles,
    /// Minimum time between two emails. Notifications in between are collected into one email.
    #[serde(default = "digest", with = "humantime_serde")]
    #[cfg_attr(feature = "schemars", schemars(with = "String", extend("x-form" = "time")))]
    digest: Duration,
    /// Time limit for sending an email, including the connection. If it is exceeded, the email is sent again.
    #[serde(default = "digest", with = "humantime_serde")]
    #[cfg_attr(feature = "schemars", schemars(with = "String", extend("x-form" = "time")))]
    timeout: Duration,
}

/// The file with the credentials of an SMTP client.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MailCredentials {
    /// File with a line `USER:PASSWORD`.
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    basic_file: PathBuf,
}

const fn digest() -> Duration {
    Duration::from_secs(60)
}

impl MailOptions {
    /// Returns the problems that can be found without access to a server or a file, as pairs of a key and a message.
    pub(super) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let mut check = |key, is_right: bool, text: &str| {
            if !is_right {
                problems.push((key, text.to_owned()));
            }
        };
        check("timeout", !self.timeout.is_zero(), "timeout: must be longer than 0, for example 1m");
        let text = "to: needs at least one address, such as [\"noc@example.net\"]";
        check("to", !self.to.is_empty(), text);
        let is_tls = self.server.starts_with("smtps://");
        check("plain", !(self.plain && is_tls), "plain: only allowed with smtp://HOST:PORT");
        if self.plain {
            let text = "credentials: need TLS; remove plain";
            check("credentials", self.credentials.is_none(), text);
            let text = "tls: not allowed with plain; remove one of the two";
            check("tls", self.tls == TlsFiles::default(), text);
        }
        let server = split(&self.server).map(drop).map_err(|error| ("server", error));
        let from = mailbox(&self.from).map(drop).map_err(|error| ("from", error));
        let to = self.to.iter().try_for_each(|to| mailbox(to).map(drop));
        let tls = self.tls.check().map_err(|error| ("tls", error));
        let results = [server, from, to.map_err(|error| ("to", error)), tls];
        let wrong = results.into_iter().filter_map(Result::err);
        problems.extend(wrong.map(|(key, error)| (key, format!("{error:#}"))));
        problems
    }

    /// Checks that the configured files are usable, without connecting to the server.
    pub(super) fn try_out(&self) -> Result<(), (&'static str, Error)> {
        let login = self.login().map_err(|error| ("credentials", error))?;
        if split(&self.server).is_err() {
            return Ok(());
        }
        self.server(login).map(drop).map_err(|error| ("tls", error))
    }

    fn login(&self) -> Result<Option<Login>> {
        self.credentials.as_ref().map(|it| Login::read(&it.basic_file)).transpose()
    }

    fn server(&self, login: Option<Login>) -> Result<Server> {
        Server::new(&self.server, self.plain, &self.tls, login, self.timeout)
    }
}

pub(super) struct Mail {
    writer: Writer,
    server: Server,
    digest: Duration,
}

impl Mail {
    pub(super) fn new(options: &MailOptions) -> Result<Self> {
        let server = options.server(options.login()?)?;
        let writer = Writer::new(&options.from, &options.to)?;
        Ok(Self { writer, server, digest: options.digest })
    }

    fn deliver(&self, mail: Result<Message>) -> Result<String, Failure> {
        let mail = mail.map_err(Failure::Refused)?;
        let (accepted, refusals) = self.server.send(&mail)?;
        for Refusal { address, answer } in refusals {
            warn!(
                "{} rejected the recipient {address} but accepted others: {answer}",
                self.server.host()
            );
        }
        Ok(accepted.to_string())
    }
}

impl Channel for Mail {
    fn send(&mut self, number: i64, notification: &Notification) -> Result<String, Failure> {
        self.send_all(&[(number, notification.clone())])
    }

    fn digest(&self) -> Duration {
        self.digest
    }

    fn send_all(&mut self, notifications: &[NumberedNotification]) -> Result<String, Failure> {
        self.deliver(self.writer.digest(notifications))
    }
}
