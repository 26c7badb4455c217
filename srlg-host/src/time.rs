//! Slices of time, defined by timestamps.
//!
//! A [`SliceClock`] determines the slice of a timestamp and when slices close. A [`Slicer`] sorts pairs by slice and
//! passes them to a [`SliceSink`]. A program that closes slices with its own timer needs neither of them.
//!
//! Times are nanoseconds since the Unix epoch. A slice is 1 ns to 584 years long, and slice n starts n slice lengths
//! after the epoch. An implausible timestamp is not an error. It results in a [`Placement`], which the clock counts.
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
mod slicer;

pub use clock::{Placement, SliceClock};
pub use slicer::{SliceSink, Slicer};
