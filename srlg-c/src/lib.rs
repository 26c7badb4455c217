//! The C API of srlg. `include/srlg.h` is generated from this crate, and docs/c.md explains it.
//!
//! ```text
//! library      functions that need no handle
//! detector     functions of detectors
//! feed         functions of feeds
//! slicer       functions of slicers, which use timestamps
//! report       functions of reports
//! state        functions of snapshots, deltas and lists of pairs
//! checkpoints  functions of checkpoints
//! values       structs of the header
//! pairs        pairs of the header, and their conversion
//! pointer      pointers as references and slices, and the contract of a call
//! handle       tables that map the handles of C to values
//! status       status of a call, and the error text of a thread
//! ```

mod checkpoints;
mod detector;
mod feed;
mod handle;
mod library;
mod pairs;
mod pointer;
mod report;
mod slicer;
mod state;
mod status;
mod values;

pub use checkpoints::*;
pub use detector::*;
pub use feed::*;
pub use library::*;
pub use pairs::{Pair4, Pair6};
pub use report::*;
pub use slicer::*;
pub use state::*;
pub use status::Status;
pub use values::*;
