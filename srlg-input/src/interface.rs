//! Capture of packets on network interfaces, through libpcap.
//!
//! Linux removes the outermost VLAN tag of a received frame before it applies a capture filter. Therefore, `udp`
//! matches tagged and untagged packets. The filters `vlan` and `vlan 7` still match the tag.
//!
//! A capture buffer consists of blocks of 256 KiB, and a block closes 20 ms after its first packet. At low packet
//! rates, each block covers 20 ms. With a buffer of 32 MiB, the reader may therefore pause for 2.5 s before packets are
//! dropped. At high packet rates, the reader may pause until the buffer is full.

mod capture;
#[cfg(target_os = "linux")]
mod fanout;
mod opening;

pub use capture::Capture;
pub(crate) use capture::open;
pub use opening::LiveError;
