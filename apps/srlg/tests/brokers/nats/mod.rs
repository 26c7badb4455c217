//! Streams and subjects of NATS.

mod access;
mod input;
mod killed;
pub(crate) mod server;
