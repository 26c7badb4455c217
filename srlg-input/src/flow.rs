//! Contacts from flow exports: NetFlow v5, v7 and v9, IPFIX (RFC 7011) and sFlow v5.
//!
//! A [`Decoder`] reads the payloads of UDP datagrams from any number of exporters. It detects the protocol of each
//! datagram, and yields a [`Contact`](crate::Contact) for each direction in which a flow has packets. It also decodes
//! the IPFIX messages of TCP connections, which a [`MessageBuffer`] separates.
//!
//! A record that does not yield a contact is counted by reason and by exporter ([`FlowCounts`], [`Reason`]) and is
//! never an error. Exports are unauthenticated datagrams, which may be truncated, damaged or malicious. Memory is
//! bounded for any input ([`Decoder::memory_bound`]).
//!
//! ```
//! use srlg_input::flow::{Decoder, DecoderOptions, Reason};
//!
//! let mut decoder = Decoder::new(DecoderOptions::default())?;
//! let exporter = "192.0.2.1:2055".parse()?;
//! let received_ns = 1_700_000_000_000_000_000;
//! decoder.decode(exporter, received_ns, b"no export", |contact| panic!("{contact:?}"));
//! assert_eq!(decoder.counts().of(Reason::Version), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
mod clock;
mod counts;
mod decoder;
mod element;
mod exporter;
mod exporters;
mod framing;
mod netflow;
mod options;
mod record;
mod sampling;
mod sequence;
mod sflow;
mod sink;
mod source;
mod state;
mod status;
mod templates;
mod waiting;

pub use counts::{FlowCounts, Reason};
pub use decoder::Decoder;
pub use exporter::{Backlog, Exporter, Undecodable};
pub use framing::{BadHeader, MessageBuffer};
pub(crate) use options::table;
pub use options::{BadOptions, DecoderOptions};
pub use sequence::Losses;
#[cfg(feature = "messages")]
pub(crate) use sink::Details;
pub use source::Session;
pub use state::BadState;
pub(crate) use state::is_state;
pub use status::ExporterStatus;

pub use crate::options::{ExportOptions, Nat, Timestamps};
