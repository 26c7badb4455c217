//! Notices as mails, several in one.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Error, Result};
use lettre::Message;
use serde::Deserialize;
use tracing::warn;

use super::letter::{Writer, mailbox};
use super::smtp::{Login, Refusal, Server, split};
use super::tls::TlsFiles;
use super::{Channel, Failure};
use crate::notify::notice::Notice;
use crate::notify::store::NumberedNotice;

/// Options of a sink of mails.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MailOptions {
    /// `smtp://HOST:PORT`, which must offer STARTTLS, or `smtps://HOST:PORT`.
    #[serde(default)]
    server: String,
    /// Whether mails go to `smtp://HOST:PORT` without encryption.
    #[serde(default)]
    plain: bool,
    /// The address of the sender.
    #[serde(default)]
    from: String,
    /// The addresses of the recipients.
    #[serde(default)]
    to: Vec<String>,
    /// The file with which the client says who it is.
    #[serde(default)]
    credentials: Option<MailCredentials>,
    /// Files by which server and client know each other.
    #[serde(default)]
    tls: TlsFiles,
    /// The shortest time between two mails. Notices of this time go into one, unless they are too many.
    #[serde(default = "digest", with = "humantime_serde")]
    pub(super) digest: Duration,
    /// The longest that a mail may take, from the connection on. A mail that takes longer is sent again.
    #[serde(default = "digest", with = "humantime_serde")]
    timeout: Duration,
}

/// The file with which a client of SMTP says who it is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MailCredentials {
    /// A file with a line `USER:PASSWORD`.
    basic_file: PathBuf,
}

const fn digest() -> Duration {
    Duration::from_secs(60)
}

impl MailOptions {
    /// Returns the problems by key that can be found without a server or a file.
    pub(super) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let mut check = |key, is_right: bool, text: &str| {
            if !is_right {
                problems.push((key, text.to_owned()));
            }
        };
        check("timeout", !self.timeout.is_zero(), "timeout is 0: give a time, as 1m");
        let text = "there is no recipient: give addresses, as [\"noc@example.net\"]";
        check("to", !self.to.is_empty(), text);
        let is_tls = self.server.starts_with("smtps://");
        check("plain", !(self.plain && is_tls), "plain is for smtp://HOST:PORT alone");
        if self.plain {
            let text = "credentials need TLS: leave out plain";
            check("credentials", self.credentials.is_none(), text);
            let text = "there are files of TLS, and plain is without it: leave out one of the two";
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

    /// Tries the files, as the options of a sink do.
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
}

impl Mail {
    pub(super) fn new(options: &MailOptions) -> Result<Self> {
        let server = options.server(options.login()?)?;
        Ok(Self { writer: Writer::new(&options.from, &options.to)?, server })
    }

    fn deliver(&self, mail: Result<Message>) -> Result<(), Failure> {
        let mail = mail.map_err(Failure::Refused)?;
        for Refusal { address, answer } in self.server.send(&mail)? {
            warn!("{} refuses the recipient {address}, but no other: {answer}", self.server.host());
        }
        Ok(())
    }
}

impl Channel for Mail {
    fn send(&mut self, number: i64, notice: &Notice) -> Result<(), Failure> {
        self.send_all(&[(number, notice.clone())])
    }

    fn send_all(&mut self, notices: &[NumberedNotice]) -> Result<(), Failure> {
        self.deliver(self.writer.digest(notices))
    }

    fn tell_held(&mut self, count: u64) -> Result<(), Failure> {
        self.deliver(self.writer.held(count, SystemTime::now()))
    }
}
