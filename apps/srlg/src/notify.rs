//! Notices of alerts, the database that has them first, and the sinks that they are sent to.

pub mod notice;
pub mod sinks;
pub mod store;
