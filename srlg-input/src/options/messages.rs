//! Options of the messages from a broker.

use crate::contact::named;

/// Options of the messages in a Kafka topic, or in a NATS stream or subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(default, rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MessageOptions {
    /// Format of the messages: Protobuf according to a schema (protobuf), or one JSON object per line (json)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "protobuf|json", default_value_t, requires = "messages")
    )]
    pub message_format: MessageFormat,

    /// Schema of the messages: a .proto file, or the URL of such a file [default: the schema of goflow2]
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL|FILE", requires = "messages"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file or URL")))]
    pub schema: Option<String>,

    /// If the state has no position, start at the earliest message of the broker instead of the next one
    #[cfg_attr(feature = "clap", arg(long, requires = "messages"))]
    pub earliest: bool,
}

named! {
    /// The format of messages.
    #[non_exhaustive]
    MessageFormat {
        /// Protobuf messages, which need a schema.
        #[default]
        Protobuf = "protobuf",
        /// One or more JSON objects, one per line.
        Json = "json",
    }
}

/// Returns `url` with any user and password masked, for error texts.
pub(super) fn without_user(url: &str) -> String {
    let scheme = url.find("://").map_or(0, |at| at + 3);
    match url.rfind('@') {
        Some(at) if at >= scheme => format!("{}***{}", &url[..scheme], &url[at..]),
        _ => url.to_owned(),
    }
}
