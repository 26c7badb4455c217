//! The address of a NATS stream or subject.

use std::fmt;
use std::net::Ipv6Addr;

/// A NATS stream or subject and its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Default port of a server.
const PORT: u16 = 4222;

impl NatsUrl {
    /// Parses `jetstream://server:4222,server/STREAM` or `nats://server/SUBJECT`.
    pub(super) fn parse(text: &str) -> Option<Self> {
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

impl fmt::Display for NatsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, name) = match &self.source {
            NatsSource::Subject(name) => ("nats", name),
            NatsSource::Stream(name) => ("jetstream", name),
        };
        write!(f, "{scheme}://{}/{name}", self.servers.join(","))
    }
}
