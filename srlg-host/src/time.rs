//! Slices of time, defined by timestamps.
//!
//! A [`SliceClock`] determines which slice contains a timestamp, and when slices close. A [`Slicer`] assigns pairs
//! to slices and passes them to a [`SliceSink`], such as a [`DetectorSink`]. A [`Deferral`] saves the closes of slices
//! with few pairs. A program that closes slices with its own timer does not need this module.
//!
//! Times are nanoseconds since the Unix epoch. A slice is 1 ns to 584 years long, and slice n starts n slice lengths
//! after the Unix epoch. A timestamp that is too late or too far in the future is not an error. The clock rejects it,
//! counts it, and returns the reason as a [`Placement`].
//!
//! # Example
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::time::{Placement, SliceClock};
//! use std::time::Duration;
//!
//! let mut clock = SliceClock::new(Duration::from_secs(1), 5, Duration::from_secs(3600))?;
//! assert_eq!(clock.place(100_200_000_000), Placement::Start { slice: 100 });
//! assert_eq!(clock.place(100_900_000_000), Placement::Running);
//! # Ok::<(), srlg::Error>(())
//! ```

mod clock;
mod deferral;
mod sink;
mod slicer;

pub use clock::{Placement, SliceClock};
pub use deferral::Deferral;
pub use sink::{DetectorSink, SliceSink};
pub use slicer::Slicer;
