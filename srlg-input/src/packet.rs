//! Headers of packets: from a captured frame to its hosts, ports and TCP flags.
//!
//! Capture files, interfaces and the samples of sFlow hold frames. [`headers`] finds the outermost IP header of any of them, and
//! [`Headers::transport`] reads what follows it. A frame without an IP header yields a [`Skip`], the reason.
//!
//! ```
//! use srlg_input::packet::{Skip, headers};
//!
//! let arp = [&[0xff; 12][..], &[0x08, 0x06]].concat();
//! assert_eq!(headers(1, &arp), Err(Skip::NotIp));
//! ```

pub(crate) mod frame;
pub(crate) mod ip;
mod skip;
pub(crate) mod transport;

pub use frame::headers;
pub use ip::Headers;
pub use skip::Skip;
pub use transport::Transport;
