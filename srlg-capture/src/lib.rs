//! Contacts between hosts of IPv4 and IPv6, streamed out of capture files or off a network interface.
//!
//! A [`Reader`] takes any [`std::io::Read`] and yields one [`Contact`] per IP packet: when,
//! from whom, to whom. It reads pcap (micro- and nanoseconds, both byte orders), pcapng, CSV with the header `time_ms,src,dst`, and logs of conversations: Zeek, AWS VPC, Suricata; and gzip of any. The content decides the format, never a
//! file name. Contacts come in file order, which need not be time order.
//!
//! [`Reader::next_datagram`] yields the UDP datagrams of a capture instead, or the messages of an IPFIX file (RFC 5655), for a decoder
//! of flow exports.
//!
//! With the feature `live`, `Live` captures on a network interface by libpcap, and yields the same contacts as they happen.
//!
//! What is no contact is counted by reason ([`Counts`], [`Skip`]) and never an error. A file
//! that ends inside a record, or whose framing is damaged, ends there with a [`Truncation`]:
//! all whole records before it have been delivered.
//!
//! Memory is constant whatever the bytes say: one buffer of 512 KiB, for gzip another and the
//! state of the inflater, for pcapng a table of at most 65,536 interfaces of 16 bytes.
//!
//! ```
//! use srlg_capture::Reader;
//!
//! let csv = "time_ms,src,dst\n1500,192.0.2.1,198.51.100.7\n1501,192.0.2.1,not-a-host\n";
//! let mut reader = Reader::new(csv.as_bytes())?;
//! while let Some(contact) = reader.next_contact()? {
//!     assert_eq!(contact.time_ns, 1_500_000_000);
//! }
//! assert_eq!(reader.counts().to_string(), "2 packets, 1 contacts, 1 skipped (bad-row 1)");
//! # Ok::<(), srlg_capture::CaptureError>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod byte_order;
mod counts;
mod csv;
mod datagram;
mod error;
mod format;
mod frame;
mod input;
mod interface;
mod ip;
mod ipfix;
mod lines;
#[cfg(feature = "live")]
mod live;
mod logs;
mod packet;
mod pcap;
mod pcapng;
mod reader;
mod transport;

pub use counts::{Counts, Skip};
pub use datagram::Datagram;
pub use error::{CaptureError, Cause, Truncation};
pub use format::Format;
pub use frame::headers;
pub use ip::Headers;
#[cfg(feature = "live")]
pub use live::{Drops, Live, LiveError, LiveOptions};
pub use reader::Reader;
pub use srlg_contact::Contact;
pub use transport::Transport;
