//! Flows in the messages of a Kafka topic, as Akvorado and goflow2 write them.
//!
//! ```text
//! broker --[cluster, partition]--> messages --[FlowReader]--> contacts and offsets --> ContactSender
//! ```
//!
//! One thread reads all partitions of the topic, without a consumer group. An offset is never queued before the
//! contacts of the messages that precede it. A [`Position`](crate::Position) is therefore never ahead of the delivered
//! contacts.
//!
//! Invariant: unless the topic is deleted, each message after the starting point is decoded, counted as undecodable, or
//! counted as deleted by Kafka.

mod cluster;
mod origin;
mod partition;
mod reader;

pub(crate) use reader::Reader;
