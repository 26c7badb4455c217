//! Capture of packets on network interfaces, through libpcap.

mod capture;
#[cfg(target_os = "linux")]
mod fanout;
mod opening;

pub use capture::Capture;
pub(crate) use capture::open;
pub use opening::LiveError;
