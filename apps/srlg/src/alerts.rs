//! Alerts about super points, with one start and one end for each attack.
//!
//! ```text
//!            `for` of the last `of` slices at least θ           below `down` for `hold`
//!   idle ------------------------------------------> active -------------------------> idle
//!                        start                          |             end
//!                                                       +--> update: twice the peak, more severe, or `repeat`
//! ```
//!
//! A [`Tracker`] takes the super points and the end time of each slice, and returns the changes of alerts. It reads no
//! clock and does no I/O, so the same calls always return the same changes. Its state can be stored across restarts.
//! If many hosts of one network pass their thresholds together, the network gets one alert.

pub(crate) mod act;
mod alert;
pub(crate) mod details;
mod group;
mod host;
mod live;
pub(crate) mod maxima;
mod miss;
pub mod notice;
pub mod open;
pub mod rules;
mod sighting;
pub(crate) mod silences;
pub(crate) mod top;
mod tracker;
pub(crate) mod witnesses;

pub use act::{Act, Refusal, Remark, Silencing};
pub use alert::{Alert, AlertId, Joint, Severity, Status, Subject, Why, WindowCount};
pub use live::{LINE, LiveCount};
pub use miss::Miss;
pub use rules::{BadTerms, Rule, Terms};
pub use sighting::{Sighting, Sightings};
pub use tracker::{Condition, Tracker};
pub use witnesses::{SilentSource, Witnesses};
