//! The C API of srlg. `include/srlg.h` is generated from this crate, and docs/c.md explains it.
//!
//! ```text
//! border     functions of the header, which turn pointers into references and slices; the only unsafe code
//! handle     tables that map the handles of C to detectors, feeds, reports and bytes
//! status     status of a call, and the error text of a thread
//! values     structs of the header
//! ```

mod border;
mod handle;
mod status;
mod values;

pub use border::*;
pub use status::Status;
pub use values::*;
