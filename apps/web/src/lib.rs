//! The web page, the API and the metrics, and the publisher of the state that they show.
#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "each error states its cause in its text")]
#![allow(
    missing_docs,
    reason = "items of the program's own crates have docs where their names do not suffice"
)]

pub mod health;
pub mod orders;
pub mod problems;
pub mod publisher;
pub mod recorder;
pub mod server;
