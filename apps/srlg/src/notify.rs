//! Notices of alerts, the database that has them first, and the sinks that they are sent to.

pub(crate) mod delivery;
pub mod ledger;
pub mod notice;
pub mod sinks;
pub mod store;
