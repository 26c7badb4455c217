//! Contacts from captures, contact lists and logs, and datagrams from captures and IPFIX files.
//!
//! A [`Reader`] reads any [`std::io::Read`] and yields [`Contact`](crate::Contact)s, each of which has a time, a source
//! and a destination. By default, an IP packet, a CSV row, or a direction of a logged conversation is one contact. The
//! format is detected from the content, never from a file name. Contacts are returned in file order, which is not
//! always time order.
//!
//! | format | requires |
//! |---|---|
//! | pcap (micro- and nanoseconds, both byte orders), pcapng | |
//! | CSV with the header `time_ms,src,dst` | |
//! | logs of Zeek, Suricata, Hubble, Elastic and clouds | feature `logs` |
//! | any of these, compressed with gzip | feature `gzip` |
//!
//! Instead of contacts, [`Reader::next_datagram`] yields the UDP datagrams of a capture or the messages of an IPFIX
//! file (RFC 5655). They can be passed to a decoder of flow exports.
//!
//! A packet or row that is not a contact is counted by reason ([`PacketCounts`], [`Skip`]) and is never an error. If a
//! file ends inside a record or a record length is invalid, reading stops with a [`Truncation`]. All complete records
//! before that point have been delivered.
//!
//! Memory is bounded for any content. A reader needs a buffer of 512 KiB. For gzip, it also needs the state of the
//! inflater and, while the reader is being opened, a second buffer. For pcapng, it also needs a table of at most 65,536
//! interfaces (16 bytes each).
//!
//! ```
//! use srlg_input::capture::{CaptureError, Reader, Skip};
//!
//! let csv = "time_ms,src,dst\n1500,192.0.2.1,198.51.100.7\n1501,192.0.2.1,not-a-host\n";
//! let mut reader = Reader::new(csv.as_bytes())?;
//! while let Some(contacts) = reader.next_contacts()? {
//!     assert!(contacts.iter().all(|contact| contact.time_ns == 1_500_000_000));
//! }
//! let counts = reader.counts();
//! assert_eq!((counts.packets, counts.contacts, counts.skipped(Skip::BadRow)), (2, 1, 1));
//! # Ok::<(), CaptureError>(())
//! ```

mod byte_order;
pub(crate) mod counts;
mod csv;
mod error;
mod format;
pub(crate) mod frame;
#[cfg(feature = "gzip")]
mod gzip;
pub(crate) mod ipfix;
mod lines;
#[cfg(feature = "logs")]
pub(crate) mod logs;
mod pcap;
mod pcapng;
pub(crate) mod reader;
mod stream;

pub use counts::PacketCounts;
pub use error::{CaptureError, Cause, Truncation};
pub use format::Format;
pub use frame::Datagram;
pub use reader::Reader;

pub use crate::packet::Skip;
