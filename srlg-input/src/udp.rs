//! UDP sockets that receive flow exports.

mod datagrams;
mod receive;
mod sockets;
mod udp_drops;

pub(crate) use sockets::Sockets;
pub use sockets::check_templates;
