//! The C interface of srlg. `include/srlg.h` is made from this crate, and docs/c.md explains it.
//!
//! ```text
//! border     the functions of the header: pointers become references and slices; the only unsafe code
//! handle     tables from the numbers that C holds to detectors, feeds, reports and bytes
//! status     what a call returns, and the text of the last error of a thread
//! values     the structs of the header
//! ```

mod border;
mod handle;
mod status;
mod values;

pub use border::*;
pub use status::Status;
pub use values::*;
