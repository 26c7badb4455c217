//! Contacts between hosts of IPv4 and IPv6, whatever tells of them, and the pairs that are
//! measured.
//!
//! A packet, a flow record and a line of a log come to the same: a [`Contact`]. A [`View`] says
//! which contacts count, which end of them is measured, and how many bits of an address make a host.
//!
//! ```
//! use srlg_contact::{Contact, View, ViewOptions, parse_network};
//!
//! let inside = vec![parse_network("192.0.2.0/24")?];
//! let view = View::new(&ViewOptions { inside, ..ViewOptions::default() })?;
//! let contact = Contact::new(0, "198.51.100.7".parse()?, "192.0.2.1".parse()?);
//! let pair = ("192.0.2.1".parse()?, "198.51.100.7".parse()?);
//! assert_eq!(view.pairs(&contact).collect::<Vec<_>>(), [pair]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod contact;
mod host;
mod named;
mod network;
mod networks;
mod prefixes;
mod ranges;
mod sampling;
mod view;

pub use contact::{Contact, TCP, TCP_ACK, TCP_SYN};
pub use host::Host;
#[doc(no_inline)]
pub use ipnet::IpNet;
pub use named::{Counted, Role, Side, UnknownName};
pub use network::{BadNetwork, parse_network};
pub use networks::Networks;
pub use prefixes::{BadPrefix, Prefixes};
pub use sampling::{BadSampling, Sampling, SamplingWindow};
pub use view::{BadView, View, ViewOptions};
