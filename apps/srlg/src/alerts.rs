//! From super points, slice after slice, to alerts: one start and one end for what people would call an attack.
//!
//! ```text
//!            `for` of the last `of` slices at least θ           below `down` for `hold`
//!   idle ------------------------------------------> active -------------------------> idle
//!                        start                          |             end
//!                                                       +--> update: twice the peak, more severe, or `repeat`
//! ```
//!
//! A [`Tracker`] takes the super points of a slice, and the time, and returns what changed. It has no clock, reads
//! nothing and writes nothing: the same calls give the same changes, and its state is data that may be kept over restarts.
//! Many hosts of one network that start together are one alert, of the network.

pub(crate) mod act;
mod alert;
pub(crate) mod book;
pub mod desk;
pub(crate) mod details;
mod group;
mod host;
mod live;
pub(crate) mod maxima;
mod miss;
mod quiet;
pub mod rules;
pub(crate) mod top;
mod tracker;
pub(crate) mod witnesses;

pub use act::{Act, Refusal, Remark, Silencing};
pub use alert::{Alert, AlertId, Severity, Status, Subject, Why, WindowCount};
pub use live::{LINE, LiveCount};
pub use miss::Miss;
pub use quiet::{Every, OnChange, Trouble};
pub use rules::{BadTerms, Rule, Terms};
pub use tracker::{Condition, Sighting, Sightings, Tracker};
pub use witnesses::{SilentSource, Witnesses};
