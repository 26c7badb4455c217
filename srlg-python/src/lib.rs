//! The Python module `srlg`: the detector of the crate srlg and the inputs of srlg-input.
//!
//! | file | contents |
//! |---|---|
//! | `detector` | the class `Detector` |
//! | `hosts` | arguments that are hosts: arrays, lists, single addresses |
//! | `report`, `table` | reports as classes, dicts, HTML and Arrow tables |
//! | `scan`, `columns` | detection over Arrow tables by their time column |
//! | `read` | contacts of files as an Arrow stream |
//! | `capsule` | Arrow streams from and to other libraries, the only unsafe code |
//! | `error` | the exceptions |
//!
//! No call waits for a lock while it holds Python, except the reader of a file, whose lock is held without Python. No call waits
//! for Python while it holds a lock that others wait for. A scan holds its own lock, but nobody waits for that.

mod capsule;
mod columns;
mod detector;
mod error;
mod hosts;
mod read;
mod report;
mod scan;
mod table;

use pyo3::prelude::pymodule;

/// Hosts in contact with many distinct others within a sliding window, in fixed memory.
#[pymodule(gil_used = false, name = "srlg")]
mod module {
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "its name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::detector::Detector;
    #[pymodule_export]
    use crate::error::{BusyError, ConfigError, DeviceError, Error, InputError, StateError};
    #[pymodule_export]
    use crate::read::{Contacts, read};
    #[pymodule_export]
    use crate::report::{Estimate, Health, Peer, Report, SuperPoint};
    #[pymodule_export]
    use crate::scan::{Scan, scan};
}
