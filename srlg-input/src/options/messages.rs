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
        arg(long, value_name = "protobuf|json", default_value_t, requires = "url")
    )]
    pub message_format: MessageFormat,

    /// Schema of the messages: a .proto file, or the URL of such a file [default: the schema of goflow2]
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL|FILE", requires = "url"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file or URL")))]
    pub schema: Option<String>,

    /// If the state has no position, start at the earliest message of the broker instead of the next one
    #[cfg_attr(feature = "clap", arg(long, requires = "url"))]
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
