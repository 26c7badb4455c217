//! Topics of Kafka.

pub(crate) mod broker;
mod input;
mod killed;
mod tls;
