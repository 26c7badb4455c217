//! Options of a broker: a Kafka topic, or a NATS stream or subject.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::contact::named;
use crate::options::BadOption;
use crate::options::kafka::Topic;
use crate::options::nats::{NatsSource, NatsUrl};

/// Options of a Kafka topic, or of a NATS stream or subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct BrokerOptions {
    /// Broker to read flows from: kafka://broker:9092,broker:9092/topic, jetstream://server:4222/STREAM or nats://server:4222/SUBJECT
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<String>", extend("x-form" = "URL")))]
    pub url: Option<BrokerUrl>,

    /// Connect to the broker over TLS, with the certificate authorities of the system
    #[cfg_attr(feature = "clap", arg(long, requires = "url"))]
    pub tls: bool,

    /// Connect to the broker over TLS, with the certificate authorities in this PEM file
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "url"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub ca: Option<PathBuf>,

    /// Connect to a broker on another host without TLS, so that anyone on the path can read and forge flows
    #[cfg_attr(feature = "clap", arg(long, requires = "url", conflicts_with_all = ["tls", "ca"]))]
    pub plain: bool,

    /// User name for the broker; needs a password, and TLS with NATS
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "NAME",
            requires = "password",
            conflicts_with_all = ["key", "credentials"]
        )
    )]
    pub user: Option<String>,

    /// File that contains the password; must not be accessible to other users
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "user"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub password: Option<PathBuf>,

    /// SASL mechanism for Kafka; plain needs TLS
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "plain|scram-sha-256|scram-sha-512",
            default_value_t,
            requires = "user"
        )
    )]
    pub mechanism: Mechanism,

    /// File that contains the NKey seed for NATS; must not be accessible to other users
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "FILE", requires = "url", conflicts_with = "credentials")
    )]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub key: Option<PathBuf>,

    /// Credentials file (.creds) for NATS; must not be accessible to other users
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "url"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub credentials: Option<PathBuf>,
}

named! {
    /// The SASL mechanism for password authentication.
    #[non_exhaustive]
    Mechanism {
        /// PLAIN, which sends the password itself and therefore requires TLS.
        Plain = "plain",
        /// SCRAM with SHA-256 (RFC 7677).
        ScramSha256 = "scram-sha-256",
        /// SCRAM with SHA-512.
        #[default]
        ScramSha512 = "scram-sha-512",
    }
}

impl BrokerOptions {
    /// Returns whether connections to the broker use TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls || self.ca.is_some()
    }

    /// Returns whether the broker has positions from which reading can resume.
    pub(super) fn has_positions(&self) -> bool {
        match &self.url {
            Some(BrokerUrl::Kafka(_)) => true,
            Some(BrokerUrl::Nats(url)) => matches!(url.source, NatsSource::Stream(_)),
            None => false,
        }
    }

    /// Returns an error for the first option that conflicts with another one or needs a missing option.
    pub(super) fn check(&self) -> Option<BadOption> {
        let (has_user, has_password) = (self.user.is_some(), self.password.is_some());
        let ways = [has_user, self.key.is_some(), self.credentials.is_some()];
        let is_kafka = matches!(self.url, Some(BrokerUrl::Kafka(_)));
        let is_nats = matches!(self.url, Some(BrokerUrl::Nats(_)));
        let is_remote = self.url.as_ref().is_some_and(|url| !url.is_loopback());
        let is_clear = has_user && !self.is_tls();
        BadOption::first([
            (
                self.url.is_none() && *self != Self::default(),
                "url",
                "must be set for broker options",
            ),
            (self.plain && self.is_tls(), "plain", "cannot be combined with tls or ca"),
            (
                is_remote && !self.plain && !self.is_tls(),
                "tls",
                "must be set for a broker on another host; set tls or ca in [input], or plain if the path is trusted",
            ),
            (has_user != has_password, "user", "must be set together with password"),
            (is_kafka && self.key.is_some(), "key", "applies only to NATS"),
            (is_kafka && self.credentials.is_some(), "credentials", "applies only to NATS"),
            (
                is_nats && self.mechanism != Mechanism::default(),
                "mechanism",
                "applies only to Kafka",
            ),
            (
                self.mechanism != Mechanism::default() && !has_user,
                "mechanism",
                "needs user and password",
            ),
            (
                ways.into_iter().filter(|is_given| *is_given).count() > 1,
                "user",
                "only one of user, key and credentials can be set",
            ),
            (
                is_kafka && is_clear && self.mechanism == Mechanism::Plain,
                "mechanism",
                "plain would send the password unencrypted; set tls or ca",
            ),
            (is_nats && is_clear, "user", "would send the password unencrypted; set tls or ca"),
        ])
    }
}

/// A Kafka topic, or a NATS stream or subject, and its servers.
///
/// ```
/// use srlg_input::live::{BrokerUrl, NatsSource};
///
/// let url = "kafka://192.0.2.1,192.0.2.2:9093/flows".parse()?;
/// let BrokerUrl::Kafka(topic) = url else { panic!() };
/// assert_eq!(topic.brokers, ["192.0.2.1:9092", "192.0.2.2:9093"]);
/// assert_eq!(topic.name, "flows");
///
/// let url = "jetstream://192.0.2.1,[2001:db8::1]:4223/FLOWS".parse()?;
/// let BrokerUrl::Nats(url) = url else { panic!() };
/// assert_eq!(url.servers, ["192.0.2.1:4222", "[2001:db8::1]:4223"]);
/// assert_eq!(url.source, NatsSource::Stream("FLOWS".to_owned()));
/// # Ok::<(), srlg_input::live::BadUrl>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(try_from = "String"))]
pub enum BrokerUrl {
    /// A Kafka topic: `kafka://broker:9092,broker/topic`.
    Kafka(Topic),
    /// A NATS stream or subject: `jetstream://server:4222,server/STREAM` or `nats://server/SUBJECT`.
    Nats(NatsUrl),
}

/// The error for an invalid URL of a broker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot parse the broker URL {0:?}: expected kafka://broker:9092/topic, jetstream://server:4222/STREAM or nats://server:4222/SUBJECT; separate servers by commas, put IPv6 addresses of NATS servers in brackets, and use no IPv6 addresses with Kafka"
)]
pub struct BadUrl(
    /// Text of the URL, with any user and password masked.
    pub String,
);

impl BrokerUrl {
    /// Returns whether all servers are on this machine: `localhost`, or an IP address of the loopback interface.
    fn is_loopback(&self) -> bool {
        let (Self::Kafka(Topic { brokers: servers, .. }) | Self::Nats(NatsUrl { servers, .. })) =
            self;
        servers.iter().all(|server| {
            let host = server.rsplit_once(':').map_or(server.as_str(), |(host, _)| host);
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host.eq_ignore_ascii_case("localhost")
                || address.is_ok_and(|address| address.to_canonical().is_loopback())
        })
    }
}

impl FromStr for BrokerUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let topic = Topic::parse(text).map(Self::Kafka);
        let url = topic.or_else(|| NatsUrl::parse(text).map(Self::Nats));
        url.ok_or_else(|| BadUrl(mask_user(text)))
    }
}

impl TryFrom<String> for BrokerUrl {
    type Error = BadUrl;

    fn try_from(text: String) -> Result<Self, BadUrl> {
        text.parse()
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kafka(topic) => topic.fmt(f),
            Self::Nats(url) => url.fmt(f),
        }
    }
}

/// Returns `url` with any user and password masked, for error texts. A password may contain any character, so everything
/// between the scheme and the last `@` is masked.
///
/// ```
/// use srlg_input::live::mask_user;
///
/// assert_eq!(mask_user("kafka://user:password@broker/flows"), "kafka://***@broker/flows");
/// assert_eq!(mask_user("kafka://broker/flows"), "kafka://broker/flows");
/// ```
pub fn mask_user(url: &str) -> String {
    let Some((user, host)) = url.rsplit_once('@') else { return url.to_owned() };
    match user.split_once("://") {
        Some((scheme, _)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            format!("{scheme}://***@{host}")
        }
        _ => format!("***@{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_written_as_it_is_read() {
        for (text, expected) in [
            ("kafka://broker/flows", Some("kafka://broker:9092/flows")),
            (
                "kafka://a.example:9093,b/flows-v1.x_2",
                Some("kafka://a.example:9093,b:9092/flows-v1.x_2"),
            ),
            ("kafka://192.0.2.1/t", Some("kafka://192.0.2.1:9092/t")),
            ("broker/flows", None),
            ("kafka://broker", None),
            ("kafka://broker/", None),
            ("kafka:///flows", None),
            ("kafka://a,,b/flows", None),
            ("kafka://a:0/flows", None),
            ("kafka://a:x/flows", None),
            ("kafka://user@a/flows", None),
            ("kafka://[::1]/flows", None),
            ("kafka://a/flows/more", None),
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
            let url = text.parse::<BrokerUrl>().ok().map(|url| url.to_string());
            assert_eq!(url.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_error_repeats_no_password() {
        for (text, expected) in [
            ("kafka://user:pass@word@a/flows", "kafka://***@a/flows"),
            ("user:password@a/flows", "***@a/flows"),
            ("user:pass://word@a/flows", "***@a/flows"),
            ("user:password@://a/flows", "***@://a/flows"),
            ("kafka://user:pass/word@a/flows", "kafka://***@a/flows"),
            ("kafka://a/flows/@", "kafka://***@"),
            ("broker/flows", "broker/flows"),
            ("", ""),
        ] {
            assert_eq!(text.parse::<BrokerUrl>(), Err(BadUrl(expected.to_owned())));
        }
    }

    #[test]
    fn options_of_the_other_broker_are_refused() {
        let of = |url: &str| BrokerOptions { url: url.parse().ok(), ..BrokerOptions::default() };
        let (kafka, nats) = (of("kafka://localhost/flows"), of("nats://localhost/flows"));
        let key = Some(PathBuf::from("key"));
        for (options, expected) in [
            (kafka.clone(), None),
            (nats.clone(), None),
            (BrokerOptions { key: key.clone(), ..nats.clone() }, None),
            (BrokerOptions { key: key.clone(), ..kafka.clone() }, Some("key")),
            (BrokerOptions { credentials: key, ..kafka }, Some("credentials")),
            (BrokerOptions { mechanism: Mechanism::Plain, ..nats }, Some("mechanism")),
        ] {
            assert_eq!(options.check().map(|bad| bad.option), expected, "{options:?}");
        }
    }

    #[test]
    fn a_broker_on_another_host_needs_tls_or_plain() {
        for (url, is_remote) in [
            ("kafka://a/flows", true),
            ("kafka://localhost,192.0.2.1:9093/flows", true),
            ("kafka://127.0.0.1,LOCALHOST:9093/flows", false),
            ("nats://localhost.example/flows", true),
            ("nats://[2001:db8::1]/flows", true),
            ("nats://127.0.0.1,[::1]:4223,[::ffff:127.0.0.1]/flows", false),
            ("jetstream://0.0.0.0/FLOWS", true),
        ] {
            let clear = BrokerOptions { url: url.parse().ok(), ..BrokerOptions::default() };
            let tls = BrokerOptions { tls: true, ..clear.clone() };
            let ca = BrokerOptions { ca: Some("ca.pem".into()), ..clear.clone() };
            let plain = BrokerOptions { plain: true, ..clear.clone() };
            let both = BrokerOptions { plain: true, ..tls.clone() };
            let bad = [clear, tls, ca, plain, both].map(|it| it.check().map(|bad| bad.option));
            assert_eq!(bad, [is_remote.then_some("tls"), None, None, None, Some("plain")], "{url}");
        }
    }
}
