//! The exceptions and the warnings of the module. The texts of most exceptions are error texts of the library.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyUserWarning};
use pyo3::prelude::*;
use srlg::Error as LibraryError;

create_exception!(srlg, Error, PyException, "The base class of all exceptions of this module.");
create_exception!(
    srlg,
    ConfigError,
    Error,
    "A size, a slice length, a device name or a query window is invalid."
);
create_exception!(srlg, DeviceError, Error, "A GPU cannot be used, or has failed.");
create_exception!(
    srlg,
    StateError,
    Error,
    "A snapshot, a delta or a list of pairs is damaged, or does not fit the detector."
);
create_exception!(srlg, InputError, Error, "A file or a table cannot be read.");
create_exception!(
    srlg,
    LateRowsError,
    InputError,
    "More than 1 % of the rows of a table came after the report of their slice."
);
create_exception!(
    srlg,
    LateRowsWarning,
    PyUserWarning,
    "Rows of a table came after the report of their slice, so reports are short of them."
);
create_exception!(
    srlg,
    OverloadWarning,
    PyUserWarning,
    "A slice has more pairs than the memory of the detector allows, so hosts may be missing in its report."
);

/// Returns the exception for `error`. The exception class depends on how callers can handle the error.
#[expect(clippy::needless_pass_by_value, reason = "map_err needs a function of this type")]
pub(crate) fn raised(error: LibraryError) -> PyErr {
    use LibraryError::*;
    let text = error.to_string().replace("`Config::seed`", "seed");
    match error {
        Config(_) | DeviceName { .. } | QueryWindow { .. } | SliceLength { .. } => {
            ConfigError::new_err(text)
        }
        OtherSizes { .. }
        | OtherSeed { .. }
        | FromFuture { .. }
        | OlderThanWindow { .. }
        | Format(_)
        | Version { .. }
        | FormerVersion { .. } => StateError::new_err(text),
        NoDriver
        | WithoutCuda
        | NoSuchDevice { .. }
        | ComputeCapability { .. }
        | UnfitDriver { .. }
        | NoPtxCompiler { .. }
        | DeviceMemory { .. }
        | PinnedMemory { .. }
        | Driver { .. }
        | DeviceLost => DeviceError::new_err(text),
        _ => Error::new_err(text),
    }
}

pub(crate) fn unreadable(error: impl Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// Returns the exception that is raised if a previous call on `object` has panicked.
pub(crate) fn broken(object: &str) -> PyErr {
    Error::new_err(format!(
        "cannot use the {object}: a previous call panicked (this is a bug); create a new one"
    ))
}
