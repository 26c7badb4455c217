//! Notifications of alerts, the database that stores them, and the sinks that receive them.
#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "each error states its cause in its text")]
#![allow(
    missing_docs,
    reason = "items of the program's own crates have docs where their names do not suffice"
)]

pub mod alert_store;
pub mod delivery;
pub mod sinks;
pub mod store;
