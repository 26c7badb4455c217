//! Input from Kafka topics.

pub(crate) mod broker;
mod input;
mod killed;
mod tls;
