//! Options of a Kafka topic.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::contact::named;
use crate::options::BadOption;
use crate::options::messages::without_user;

/// Options of a Kafka topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(default, rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KafkaOptions {
    /// Kafka topic to read flows from: kafka://broker:9092,broker:9092/topic
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<String>", extend("x-form" = "URL")))]
    pub kafka: Option<Topic>,

    /// Connect to Kafka over TLS, with the certificate authorities of the system
    #[cfg_attr(feature = "clap", arg(long, requires = "kafka"))]
    pub kafka_tls: bool,

    /// Connect to Kafka over TLS, with the certificate authorities in this PEM file
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "kafka"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub kafka_ca: Option<PathBuf>,

    /// User name for SASL; needs a password
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", requires = "kafka_password"))]
    pub kafka_user: Option<String>,

    /// File that contains the SASL password; must not be accessible to other users
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "kafka_user"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub kafka_password: Option<PathBuf>,

    /// SASL mechanism; plain needs TLS
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "plain|scram-sha-256|scram-sha-512",
            default_value_t,
            requires = "kafka_user"
        )
    )]
    pub kafka_mechanism: Mechanism,
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

impl KafkaOptions {
    /// Returns whether connections to the brokers use TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.kafka_tls || self.kafka_ca.is_some()
    }

    /// Returns an error for the first option that needs a missing option.
    pub(super) fn check(&self) -> Option<BadOption> {
        let has_user = self.kafka_user.is_some();
        let is_clear = has_user && self.kafka_mechanism == Mechanism::Plain && !self.is_tls();
        BadOption::first([
            (
                self.kafka.is_none() && *self != Self::default(),
                "kafka",
                "must be set for Kafka options",
            ),
            (
                has_user != self.kafka_password.is_some(),
                "kafka-user",
                "must be set together with kafka-password",
            ),
            (
                is_clear,
                "kafka-mechanism",
                "plain would send the password unencrypted; set kafka-tls or kafka-ca",
            ),
        ])
    }
}

/// A Kafka topic and its brokers: `kafka://broker:9092,broker/topic`.
///
/// ```
/// use srlg_input::live::Topic;
///
/// let topic: Topic = "kafka://192.0.2.1,192.0.2.2:9093/flows".parse()?;
/// assert_eq!(topic.brokers, ["192.0.2.1:9092", "192.0.2.2:9093"]);
/// assert_eq!(topic.name, "flows");
/// # Ok::<(), srlg_input::live::BadTopic>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(try_from = "String"))]
pub struct Topic {
    /// Host name or IPv4 address of each broker, followed by a colon and its port.
    pub brokers: Vec<String>,
    /// Name of the topic.
    pub name: String,
}

/// The error for an invalid URL of a Kafka topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot parse the Kafka topic {0:?}: expected kafka://broker:9092/topic; separate brokers by commas, and use host names or IPv4 addresses"
)]
pub struct BadTopic(
    /// Text of the URL, with any user and password masked.
    pub String,
);

/// Default port of a broker.
const PORT: u16 = 9092;

impl Topic {
    fn parse(text: &str) -> Option<Self> {
        let (brokers, name) = text.strip_prefix("kafka://")?.split_once('/')?;
        let is_topic = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if !(1..=249).contains(&name.len()) || !name.bytes().all(is_topic) {
            return None;
        }
        let brokers = brokers.split(',').map(broker).collect::<Option<_>>()?;
        Some(Self { brokers, name: name.to_owned() })
    }
}

/// Returns the broker in `text`, with the default port if `text` has no port, or `None` if `text` is invalid.
fn broker(text: &str) -> Option<String> {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().ok().filter(|port| *port > 0)?),
        None => (text, PORT),
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_host)).then(|| format!("{host}:{port}"))
}

impl FromStr for Topic {
    type Err = BadTopic;

    fn from_str(text: &str) -> Result<Self, BadTopic> {
        Self::parse(text).ok_or_else(|| BadTopic(without_user(text)))
    }
}

impl TryFrom<String> for Topic {
    type Error = BadTopic;

    fn try_from(text: String) -> Result<Self, BadTopic> {
        text.parse()
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kafka://{}/{}", self.brokers.join(","), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_written_as_it_is_read() {
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
        ] {
            let topic = text.parse::<Topic>().ok().map(|topic| topic.to_string());
            assert_eq!(topic.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_error_repeats_no_password() {
        for (text, expected) in [
            ("kafka://user:pass@word@a/flows", "kafka://***@a/flows"),
            ("user:password@a/flows", "***@a/flows"),
            ("kafka://a/flows/@", "kafka://***@"),
            ("@://a", "@://a"),
            ("broker/flows", "broker/flows"),
            ("", ""),
        ] {
            assert_eq!(text.parse::<Topic>(), Err(BadTopic(expected.to_owned())));
        }
    }
}
