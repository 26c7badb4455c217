//! Slices made of time stamps.
//!
//! A [`SliceClock`] says which slice a time belongs to and when slices end. A [`Slicer`] sorts pairs by it, and hands them
//! to a [`SliceSink`]. A program that closes slices by a timer of its own needs neither.
//!
//! Times are nanoseconds since the Unix epoch. A slice is 1 ns to 584 years long, and slice n starts n lengths after the
//! epoch. A time stamp that cannot be right is not an error: it is a [`Placement`], and the clock counts it.
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
