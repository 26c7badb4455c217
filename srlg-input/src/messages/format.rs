//! The formats of messages, and functions that load their schemas.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::credentials::{NoAuthorities, system_authorities};
use crate::error::InputError;
use crate::messages::schema::{Layout, SchemaError};
use crate::options::{MessageFormat, MessageOptions, mask_user};

/// Maximum size of a schema, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Timeout for fetching a schema from a server.
const PATIENCE: Duration = Duration::from_secs(10);

/// The format of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Protobuf messages, with or without a length prefix.
    Protobuf(Layout),
    /// Messages of one or more lines. Each line is a JSON object.
    Json,
}

#[cfg(feature = "kafka")]
impl Format {
    /// Returns the name of the topic for messages of this format. `name` may lack the schema hash that Akvorado appends
    /// to topic names.
    pub(crate) fn topic(&self, name: &str) -> String {
        match self {
            Self::Protobuf(layout) => layout.topic(name),
            Self::Json => name.to_owned(),
        }
    }

    /// Returns the schema to store in a position, so that the same format can be restored from it. JSON has no schema.
    pub(crate) fn schema(&self) -> Option<String> {
        match self {
            Self::Protobuf(layout) => Some(layout.schema()),
            Self::Json => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protobuf(layout) => write!(f, "{} messages", layout.message()),
            Self::Json => f.write_str("JSON lines"),
        }
    }
}

/// A message format, or the URL of its schema.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Known(Format),
    Url(String),
}

impl Source {
    /// Creates the source that `options` name. A schema in a file is read immediately, and a schema at a URL is fetched
    /// later.
    pub(crate) fn open(options: &MessageOptions) -> Result<Self, InputError> {
        let Some(name) = &options.schema else {
            return Ok(Self::Known(match options.message_format {
                MessageFormat::Protobuf => Format::Protobuf(Layout::goflow2()),
                MessageFormat::Json => Format::Json,
            }));
        };
        if is_url(name) {
            return Ok(Self::Url(name.to_owned()));
        }
        let path = PathBuf::from(name);
        let cause = |cause: String| SchemaError::Read { name: name.to_owned(), cause };
        let read = fs::File::open(path).and_then(|file| {
            let mut text = String::new();
            file.take(MOST_BYTES).read_to_string(&mut text).map(|_| text)
        });
        let text = read.map_err(|error| cause(error.to_string()))?;
        Ok(Self::Known(Format::Protobuf(Layout::parse(&text)?)))
    }

    /// Returns the format, after fetching its schema if the schema is at a URL.
    pub(crate) fn read(&self) -> Result<Format, SchemaError> {
        match self {
            Self::Known(format) => Ok(format.clone()),
            Self::Url(url) => {
                let fail = |cause| SchemaError::Read { name: mask_user(url), cause };
                let cause = |error: ureq::Error| fail(error.to_string());
                let no_certificates = |error: NoAuthorities| fail(error.to_string());
                let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE));
                let config = config.tls_config(tls(url).map_err(no_certificates)?);
                let agent = ureq::Agent::new_with_config(config.build());
                let mut answer = agent.get(url).call().map_err(cause)?;
                let body = answer.body_mut().with_config().limit(MOST_BYTES);
                Ok(Format::Protobuf(Layout::parse(&body.read_to_string().map_err(cause)?)?))
            }
        }
    }

    pub(crate) const fn is_url(&self) -> bool {
        matches!(self, Self::Url(_))
    }
}

/// Returns the TLS configuration for a request to `url`, which trusts the authorities that the system trusts.
fn tls(url: &str) -> Result<TlsConfig, NoAuthorities> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    let authorities = match system_authorities() {
        Err(error) if has_scheme(url, "https") => return Err(error),
        // A server without TLS may redirect to one with TLS.
        authorities => authorities.unwrap_or_default(),
    };
    let authorities: Vec<_> =
        authorities.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    Ok(tls.root_certs(RootCerts::new_with_certs(&authorities)).build())
}

/// Returns whether `scheme` is the scheme of `url`, in upper or lower case.
fn has_scheme(url: &str, scheme: &str) -> bool {
    url.split_once("://").is_some_and(|(name, _)| name.eq_ignore_ascii_case(scheme))
}

fn is_url(name: &str) -> bool {
    ["http", "https"].iter().any(|scheme| has_scheme(name, scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_in_no_error() {
        for scheme in ["http", "HTTP"] {
            for host in ["127.0.0.1:1/schema", ""] {
                let url = format!("{scheme}://u:secret@{host}");
                let options = MessageOptions { schema: Some(url), ..MessageOptions::default() };
                let source = Source::open(&options).unwrap();
                let error = source.read().unwrap_err().to_string();
                assert!(error.contains(&format!("{scheme}://***@{host}")), "{error}");
                assert!(!error.contains("secret"), "{error}");
            }
        }
    }
}
