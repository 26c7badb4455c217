//! The address of a Kafka topic.

use std::fmt;

/// A Kafka topic and its brokers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Host name or IPv4 address of each broker, followed by a colon and its port.
    pub brokers: Vec<String>,
    /// Name of the topic.
    pub name: String,
}

/// Default port of a broker.
const PORT: u16 = 9092;

impl Topic {
    /// Parses `kafka://broker:9092,broker/topic`.
    pub(super) fn parse(text: &str) -> Option<Self> {
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

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kafka://{}/{}", self.brokers.join(","), self.name)
    }
}
