//! The state of the program as the web page, the API and the metrics show it.

pub mod overview;
pub mod problems;
pub mod recent;
pub(crate) mod top_hosts;
