//! Flows in the messages of a NATS stream or subject.
//!
//! ```text
//! server --[connection]--> events and messages --[stream or subject]--> FlowReader --> contacts and sequence -->
//! ContactSender
//! ```
//!
//! One thread reads the messages. It reads a JetStream stream in order, through an ephemeral consumer without
//! acknowledgements, so the server does not store the position. A sequence number is never queued before the contacts
//! of the messages that precede it. A [`Position`] is therefore never ahead of the delivered contacts.
//!
//! Invariant: unless the stream is deleted, each message after the starting point is decoded, counted as undecodable,
//! or counted as deleted by the server.

mod connection;
mod reader;
mod session;
mod stream;

use crate::error::InputError;
use crate::messages::Source;
use crate::options::{BrokerUrl, InputOptions, NatsUrl};
use crate::position::Position;
use crate::threads::ContactSenders;

use reader::Reader;

pub use connection::seed;

/// Starts the thread that reads the stream or subject at `url`. A stream is read from the stored position `start`, if
/// there is one.
pub(crate) fn open(
    url: &NatsUrl,
    options: &InputOptions,
    start: Option<Position>,
    senders: &mut ContactSenders<'_>,
) -> Result<(), InputError> {
    options.check()?;
    let reader = Reader {
        url: url.clone(),
        source: Source::open(&options.messages)?,
        access: connection::Access::new(url, &options.broker)?,
        decoding: options.decoding.clone(),
        is_earliest: options.messages.earliest,
        start,
    };
    senders.spawn("nats", move |sender| reader.run(sender))
}

/// Checks the files that `options` name: the schema, the certificates, the password and the keys.
///
/// # Errors
/// If a file cannot be used, returns the [`InputError`] that [`Input::open`](crate::Input::open) would return.
pub fn check(options: &InputOptions) -> Result<(), InputError> {
    let Some(BrokerUrl::Nats(url)) = &options.broker.url else { return Ok(()) };
    Source::open(&options.messages)?;
    connection::Access::new(url, &options.broker).map(drop)
}
