//! The Python module `srlg`: the detector of the crate srlg and the inputs of srlg-input.
//!
//! | file | contents |
//! |---|---|
//! | `detector` | class `Detector` |
//! | `hosts` | host arguments: arrays, lists and single addresses |
//! | `sizes` | arguments that determine the configuration of a detector |
//! | `view` | arguments that select contacts, and turn them into hosts and peers |
//! | `report`, `table` | reports as classes, dicts, HTML and Arrow tables |
//! | `blocks`, `columns` | contacts in Arrow tables |
//! | `scan` | detection in tables that have a time column |
//! | `batch` | detection in tables without times, and in partitions of tables |
//! | `state` | states of detectors as bytes |
//! | `late` | rows that come after the report of their slice |
//! | `read` | contacts in files, as an Arrow stream |
//! | `capsule` | import and export of Arrow streams; the only file with unsafe code |
//! | `error` | exceptions and warnings |
//!
//! While a thread is attached to Python, it does not wait for locks. The lock of a file reader is an exception, because
//! only detached threads hold it. While a thread holds a lock for which other threads may wait, it does not wait for
//! Python. A scan holds its lock while it waits for Python, but no thread waits for that lock.

mod batch;
mod blocks;
mod capsule;
mod columns;
mod detector;
mod error;
mod format;
mod grace;
mod hosts;
mod late;
mod read;
mod report;
mod scan;
mod sizes;
mod state;
mod table;
mod view;

use pyo3::prelude::pymodule;

/// Detection of hosts in contact with many distinct other hosts, within a sliding window and in bounded memory.
#[pymodule(gil_used = false, name = "srlg")]
mod module {
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python requires this name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::batch::{merge, sketch, super_points};
    #[pymodule_export]
    use crate::detector::Detector;
    #[pymodule_export]
    use crate::error::{
        ConfigError, DeviceError, Error, InputError, LateRowsError, LateRowsWarning,
        OverloadWarning, StateError,
    };
    #[pymodule_export]
    use crate::read::{Contacts, read};
    #[pymodule_export]
    use crate::report::{Estimate, Health, Peer, Report, SuperPoint};
    #[pymodule_export]
    use crate::scan::{Scan, scan};
    #[pymodule_export]
    use crate::state::State;
}
