//! Options of a NATS stream or subject.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::options::BadOption;
use crate::options::messages::without_user;

/// Options of a NATS stream or subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(default, rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct NatsOptions {
    /// NATS stream or subject to read flows from: jetstream://server:4222/STREAM, nats://server:4222/SUBJECT
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<String>", extend("x-form" = "URL")))]
    pub nats: Option<NatsUrl>,

    /// Connect to NATS over TLS, with the certificate authorities of the system
    #[cfg_attr(feature = "clap", arg(long, requires = "nats"))]
    pub nats_tls: bool,

    /// Connect to NATS over TLS, with the certificate authorities in this PEM file
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "nats"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub nats_ca: Option<PathBuf>,

    /// User name for NATS; needs TLS and a password
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "NAME",
            requires = "nats_password",
            conflicts_with_all = ["nats_key", "nats_credentials"]
        )
    )]
    pub nats_user: Option<String>,

    /// File that contains the NATS password; must not be accessible to other users
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "nats_user"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub nats_password: Option<PathBuf>,

    /// File that contains the NKey seed for NATS; must not be accessible to other users
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "FILE", requires = "nats", conflicts_with = "nats_credentials")
    )]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub nats_key: Option<PathBuf>,

    /// Credentials file (.creds) for NATS; must not be accessible to other users
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "nats"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub nats_credentials: Option<PathBuf>,
}

impl NatsOptions {
    /// Returns whether connections to the servers use TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.nats_tls || self.nats_ca.is_some()
    }

    /// Returns an error for the first option that conflicts with another one or needs a missing option.
    pub(super) fn check(&self) -> Option<BadOption> {
        let has_user = self.nats_user.is_some();
        let ways = [has_user, self.nats_key.is_some(), self.nats_credentials.is_some()];
        BadOption::first([
            (
                self.nats.is_none() && *self != Self::default(),
                "nats",
                "must be set for NATS options",
            ),
            (
                has_user != self.nats_password.is_some(),
                "nats-user",
                "must be set together with nats-password",
            ),
            (
                ways.into_iter().filter(|is_given| *is_given).count() > 1,
                "nats-user",
                "only one of nats-user, nats-key and nats-credentials can be set",
            ),
            (
                has_user && !self.is_tls(),
                "nats-user",
                "would send the password unencrypted; set nats-tls or nats-ca",
            ),
        ])
    }
}

/// A NATS stream or subject and its servers: `jetstream://server:4222,server/STREAM` or `nats://server/SUBJECT`.
///
/// ```
/// use srlg_input::live::{NatsSource, NatsUrl};
///
/// let url: NatsUrl = "jetstream://192.0.2.1,[2001:db8::1]:4223/FLOWS".parse()?;
/// assert_eq!(url.servers, ["192.0.2.1:4222", "[2001:db8::1]:4223"]);
/// assert_eq!(url.source, NatsSource::Stream("FLOWS".to_owned()));
/// # Ok::<(), srlg_input::live::BadUrl>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(try_from = "String"))]
pub struct NatsUrl {
    /// Host name or IP address of each server, followed by a colon and its port.
    pub servers: Vec<String>,
    /// Stream or subject to read.
    pub source: NatsSource,
}

/// A stream or a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NatsSource {
    /// A subject, which may contain wildcards. The server does not store the messages of a subject.
    Subject(String),
    /// A JetStream stream.
    Stream(String),
}

/// The error for an invalid URL of a NATS stream or subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot parse the NATS URL {0:?}: expected jetstream://server:4222/STREAM or nats://server:4222/SUBJECT; separate servers by commas, and put IPv6 addresses in brackets"
)]
pub struct BadUrl(
    /// Text of the URL, with any user and password masked.
    pub String,
);

/// Default port of a server.
const PORT: u16 = 4222;

impl NatsUrl {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (servers, name) = rest.split_once('/')?;
        let source = match scheme {
            "nats" if is_subject(name) => NatsSource::Subject(name.to_owned()),
            "jetstream" if is_stream(name) => NatsSource::Stream(name.to_owned()),
            _ => return None,
        };
        let servers = servers.split(',').map(server).collect::<Option<_>>()?;
        Some(Self { servers, source })
    }
}

/// Returns the server in `text`, with the default port if `text` has no port, or `None` if `text` is invalid.
fn server(text: &str) -> Option<String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().ok().filter(|port| *port > 0)?)
        }
        _ => (text, PORT),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match address {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name),
    };
    is_host.then(|| format!("{host}:{port}"))
}

/// Returns whether `name` is a valid subject, which consists of tokens separated by dots. The token `*` matches any
/// token, and a final `>` matches one or more tokens.
fn is_subject(name: &str) -> bool {
    let last = name.split('.').count() - 1;
    name.split('.').enumerate().all(|(at, token)| match token {
        "" => false,
        "*" => true,
        ">" => at == last,
        token => token.bytes().all(|byte| byte.is_ascii_graphic() && !b"*>".contains(&byte)),
    })
}

fn is_stream(name: &str) -> bool {
    let is_right = |byte: u8| byte.is_ascii_graphic() && !b".*>/\\".contains(&byte);
    !name.is_empty() && name.bytes().all(is_right)
}

impl FromStr for NatsUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        Self::parse(text).ok_or_else(|| BadUrl(without_user(text)))
    }
}

impl TryFrom<String> for NatsUrl {
    type Error = BadUrl;

    fn try_from(text: String) -> Result<Self, BadUrl> {
        text.parse()
    }
}

impl fmt::Display for NatsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, name) = match &self.source {
            NatsSource::Subject(name) => ("nats", name),
            NatsSource::Stream(name) => ("jetstream", name),
        };
        write!(f, "{scheme}://{}/{name}", self.servers.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_or_a_subject_is_written_as_it_is_read() {
        for (text, expected) in [
            ("nats://a/flows", Some("nats://a:4222/flows")),
            ("nats://a:4223,b.example/flows.*.>", Some("nats://a:4223,b.example:4222/flows.*.>")),
            ("jetstream://[::1]/FLOWS", Some("jetstream://[::1]:4222/FLOWS")),
            ("jetstream://[2001:db8::1]:7/A-1_b", Some("jetstream://[2001:db8::1]:7/A-1_b")),
            ("nats://a", None),
            ("nats://a/", None),
            ("nats:///flows", None),
            ("nats://a/flows..x", None),
            ("nats://a/flows.>.x", None),
            ("nats://a/fl*ws", None),
            ("nats://a/flows x", None),
            ("jetstream://a/flows.x", None),
            ("jetstream://a/>", None),
            ("jetstream://user@a/FLOWS", None),
            ("jetstream://::1/FLOWS", None),
            ("jetstream://a:0/FLOWS", None),
            ("tls://a/flows", None),
        ] {
            let url = text.parse::<NatsUrl>().ok().map(|url| url.to_string());
            assert_eq!(url.as_deref(), expected, "{text}");
        }
    }
}
