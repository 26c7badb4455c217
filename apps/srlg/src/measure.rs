//! Detection at one site. Each view of the input has its own detector.

pub(crate) mod alerting;
pub mod checkpoints;
pub(crate) mod close_budget;
pub(crate) mod completeness;
pub(crate) mod counts;
pub(crate) mod drive;
pub(crate) mod filter;
pub mod monitor;
pub(crate) mod overview;
pub(crate) mod pipeline;
pub(crate) mod positions;
pub mod run;
pub(crate) mod site;
pub(crate) mod track;

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use srlg_host::{Config, Device, SlidingDetector};

/// Maximum time by which contacts and slices may be ahead of the system clock. Without a limit, a single timestamp in
/// the far future would make all subsequent contacts too late.
pub(crate) const SKEW: Duration = Duration::from_secs(86_400);

/// Maximum number of threads that close a view. Each of them is started several times per close.
const MOST_CLOSE_THREADS: NonZeroUsize = NonZeroUsize::new(4).expect("4 is not 0");

/// Creates the detector of the view `name`. Its closes share the processors on which the program may run.
pub(crate) fn detector(name: &str, sizes: Config, device: Device) -> Result<SlidingDetector> {
    let place = || format!("cannot create the detector of view {name}");
    let mut detector = SlidingDetector::new(sizes, device).with_context(place)?;
    set_close_threads(&mut detector).with_context(place)?;
    Ok(detector)
}

/// Lets closes use several processors.
pub(crate) fn set_close_threads(detector: &mut SlidingDetector) -> Result<(), srlg_host::Error> {
    let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    detector.set_close_threads(processors.min(MOST_CLOSE_THREADS))
}
