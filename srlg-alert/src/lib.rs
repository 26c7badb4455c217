//! From super points, slice after slice, to alerts: one start and one end for what people would call an attack.
//!
//! ```text
//!            `for` of the last `of` slices at least θ           below `down` for `hold`
//!   idle ------------------------------------------> active -------------------------> idle
//!                        start                          |             end
//!                                                       +--> update: twice the peak, more severe, or `repeat`
//! ```
//!
//! A [`Tracker`] is told of the super points of a slice, and of the time, and says what changed. It has no clock, reads
//! nothing and writes nothing: the same calls give the same changes, and its state is data that may be kept over restarts.
//! Many hosts of one network that start together are one alert, of the network.
//!
//! ```
//! use srlg_alert::{Condition, Rule, Sighting, Status, Terms, Tracker};
//!
//! let rule = Rule::new("default", Terms { threshold: 1024.0, ..Terms::default() })?;
//! let mut tracker = Tracker::new("fan-in");
//! let point = Sighting::new("192.0.2.7".parse()?, 5000.0, 20.0);
//! let mut changes = Vec::new();
//! for second in 0..3 {
//!     changes.extend(tracker.close(second * 1000, &[point], |_| Some(&rule), Condition::default()));
//! }
//! // Three of the last five slices.
//! assert_eq!(changes.len(), 1);
//! assert_eq!((changes[0].status, changes[0].start_ms), (Status::Start, 2000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alert;
mod group;
mod host;
mod quiet;
mod terms;
mod tracker;

pub use alert::{Alert, AlertId, Severity, Status, Subject, Why};
pub use quiet::{Every, Gate, OnChange};
pub use terms::{BadTerms, Rule, Terms};
pub use tracker::{Condition, Sighting, Tracker};
