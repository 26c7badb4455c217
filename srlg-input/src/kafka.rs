//! Flows in the messages of a Kafka topic, as Akvorado and goflow2 write them.
//!
//! ```text
//! broker --[cluster, partition]--> messages --[FlowReader]--> contacts and offsets --> ContactSender
//! ```
//!
//! One thread reads all partitions of the topic, without a consumer group. An offset is never queued before the
//! contacts of the messages that precede it. A [`Position`] is therefore never ahead of the delivered contacts.
//!
//! Invariant: unless the topic is deleted, each message after the starting point is decoded, counted as undecodable, or
//! counted as deleted by Kafka.

mod cluster;
mod origin;
mod partition;
mod reader;

use crate::error::InputError;
use crate::messages::Source;
use crate::options::{BrokerUrl, InputOptions, Topic};
use crate::position::Position;
use crate::threads::ContactSenders;

use cluster::Cluster;
use reader::Reader;

/// Starts the thread that reads `topic`. If there is a stored position `start`, reading resumes there.
pub(crate) fn open(
    topic: &Topic,
    options: &InputOptions,
    start: Option<Position>,
    senders: &mut ContactSenders<'_>,
) -> Result<(), InputError> {
    options.check()?;
    let source = Source::open(&options.messages)?;
    let cluster = Cluster::new(topic, &options.broker)?;
    let reader = Reader::new(topic, source, cluster, options, start);
    senders.spawn("kafka", move |sender| reader.run(sender))
}

/// Checks the files that `options` name: the schema, the certificates and the password.
///
/// # Errors
/// If a file cannot be used, returns the [`InputError`] that [`Input::open`](crate::Input::open) would return.
pub fn check(options: &InputOptions) -> Result<(), InputError> {
    let Some(BrokerUrl::Kafka(topic)) = &options.broker.url else { return Ok(()) };
    Source::open(&options.messages)?;
    Cluster::new(topic, &options.broker).map(drop)
}
