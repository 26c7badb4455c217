//! Flows in the messages of a NATS stream or subject.
//!
//! ```text
//! server --[connection]--> events and messages --[stream or subject]--> FlowReader --> contacts and sequence --> Outlet
//! ```
//!
//! One thread reads. An ordered consumer, which keeps no state on the server, reads a whole JetStream stream in order.
//! A sequence number is queued with the contacts of the messages before it, or after these contacts. A [`Position`] is
//! therefore never ahead of the yielded contacts.
//!
//! Invariant: each message of a stream is decoded, counted as undecodable, or counted as deleted.

mod connection;
mod reader;
mod session;
mod stream;

use crate::error::InputError;
use crate::live::Outlets;
use crate::messages::Source;
use crate::options::{InputOptions, NatsUrl};
use crate::position::Position;

use reader::Reader;

pub use connection::seed;

/// Starts the thread that reads the stream or subject at `url`, from the position `start` if there is one.
pub(crate) fn open(
    url: &NatsUrl,
    options: &InputOptions,
    start: Option<Position>,
    outlets: &mut Outlets<'_>,
) -> Result<(), InputError> {
    options.check()?;
    let reader = Reader {
        url: url.clone(),
        source: Source::open(&options.messages)?,
        access: connection::Access::new(url, &options.nats)?,
        decoding: options.decoding.clone(),
        is_earliest: options.messages.earliest,
        start,
    };
    outlets.spawn("nats", move |outlet| reader.run(outlet))
}

/// Checks the files that `options` name: the schema, the certificates, the password and the keys.
///
/// # Errors
/// Returns the same [`InputError`] as [`Input::open`](crate::Input::open) if a file cannot be used.
pub fn check(options: &InputOptions) -> Result<(), InputError> {
    let Some(url) = &options.nats.nats else { return Ok(()) };
    Source::open(&options.messages)?;
    connection::Access::new(url, &options.nats).map(drop)
}
