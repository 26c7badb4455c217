//! Topics of Kafka.

mod broker;
mod input;
mod killed;
mod tls;
