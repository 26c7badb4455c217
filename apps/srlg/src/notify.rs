//! Notifications of alerts, the database that stores them, and the sinks that receive them.

pub(crate) mod delivery;
pub mod ledger;
pub mod sinks;
pub mod store;
