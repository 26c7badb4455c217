//! Flows in the messages of a NATS stream or subject.
//!
//! ```text
//! server --[relay]--> checked frames --[connection]--> events and messages --[stream or subject]--> FlowReader --> contacts and sequence -->
//! ContactSender
//! ```
//!
//! One thread reads the messages. It reads a JetStream stream in order, through an ephemeral consumer without
//! acknowledgements, so the server does not store the position. A sequence number is never queued before the contacts
//! of the messages that precede it. A [`Position`](crate::Position) is therefore never ahead of the delivered contacts.
//!
//! Invariant: unless the stream is deleted, each message after the starting point is decoded, counted as undecodable,
//! or counted as deleted by the server.

mod connection;
mod reader;
mod relay;
mod session;
mod stream;

pub(crate) use reader::Reader;

pub use crate::messages::tls;
pub use connection::seed;
pub use relay::{
    DIAL_TIMEOUT, FrameError, MAX_HEADERS, MAX_LINE, MAX_PAYLOAD, Relay, RelayCause, RelayError,
};
