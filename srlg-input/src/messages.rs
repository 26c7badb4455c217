//! Flows in messages, as Akvorado, goflow2 and others write them to Kafka and NATS.
//!
//! ```text
//! .proto --[schema]--> Layout
//! message --[protobuf or json]--> Flow --[decoder]--> contacts and counters
//! ```
//!
//! A [`FlowReader`] decodes messages of one [`Format`]. The module also contains the parts that the Kafka and NATS
//! inputs share: the source of the schema, retries, the status and log lines of a broker, certificates and passwords.

mod decoder;
mod fetching;
mod flow;
mod format;
mod json;
mod protobuf;
mod reporter;
mod schema;
mod secrets;

pub(crate) use fetching::{BACKOFF, REFRESH, TICK, fetch_schema, joined, read_schema};
pub(crate) use format::Source;
pub(crate) use reporter::{StatusReporter, Subject};
pub(crate) use secrets::password;

pub use decoder::FlowReader;
pub use format::Format;
pub use schema::{Layout, SchemaError};
pub use secrets::tls;
