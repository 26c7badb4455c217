//! Messages in a stream or a subject of NATS.
//!
//! ```text
//! server --[connection]--> events and messages --[stream or subject]--> FlowReader --> contacts and sequence --> Outlet
//! ```
//!
//! One thread reads. A stream of JetStream is read whole and in order by a consumer that keeps no state on the server. The sequence
//! goes onto the belt with or after the contacts of the messages before it, so that a [`Position`] is never ahead of the contacts that were
//! yielded.
//! Invariant: a message of a stream is read, or counted as one that cannot be decoded or that was deleted.

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

/// Starts the thread that reads the stream or the subject at `url`, from the position `start` on if there is one.
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

/// Checks the files that `options` name: the schema, certificates, the password and keys.
///
/// # Errors
/// [`InputError`], as from [`Input::open`](crate::Input::open).
pub fn check(options: &InputOptions) -> Result<(), InputError> {
    let Some(url) = &options.nats.nats else { return Ok(()) };
    Source::open(&options.messages)?;
    connection::Access::new(url, &options.nats).map(drop)
}
