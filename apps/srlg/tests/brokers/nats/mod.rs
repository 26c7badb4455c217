//! Input from NATS streams and subjects.

mod access;
mod input;
mod killed;
pub(crate) mod server;
