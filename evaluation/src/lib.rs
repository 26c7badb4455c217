//! What srlg is measured against: traffic whose truth is known, and the truth.
//!
//! - [`traffic`]: seeded synthetic traffic of several models, the same bits on every machine.
//! - [`trace`]: record files of real traffic.
//! - [`oracle`]: exact sliding cardinalities, by hash maps.
//! - [`mod@reference`]: the paper's scheme and the tagged one as plain arrays and loops, at small sizes.
//! - [`system`]: what every measured system can do.
//! - [`rivals`]: the systems that the paper compares with.
//! - [`peers`]: what users have today: hash maps, estimators per host, a ring of sketches.
//! - [`score`]: false rates and errors of a detector's reports against the truth.
//!
//! The order of use is traffic or trace, oracle, detector, score. Nothing here
//! is published; memory grows with the traffic, unlike in the detector itself.
#![forbid(unsafe_code)]

pub mod oracle;
pub mod peers;
pub mod reference;
pub mod rivals;
pub mod score;
pub mod system;
pub mod trace;
pub mod traffic;
