//! The web page, the API and the metrics, and the publisher of the state that they show.

pub mod health;
pub(crate) mod orders;
pub(crate) mod recorder;
pub(crate) mod screen;
pub mod troubles;
pub mod web;
