//! Import and export of Arrow streams through the Arrow PyCapsule interface.
//!
//! This is the only file with unsafe code, because a capsule holds a raw pointer to a C struct.
#![allow(unsafe_code, reason = "a capsule holds a pointer to a C struct")]

use std::ffi::CStr;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Name that the Arrow PyCapsule interface requires for a capsule with a stream.
const STREAM: &CStr = c"arrow_array_stream";

/// Returns `reader` as a capsule. The capsule drops the reader unless a consumer takes it.
pub(crate) fn export(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// Takes the stream from `data`, which must have the method `__arrow_c_stream__`. `name` is the name of the argument.
///
/// The stream yields arrays instead of batches, because a struct array loses its nulls when it is converted to a batch.
pub(crate) fn import(name: &str, data: &Bound<'_, PyAny>) -> PyResult<ArrayStreamReader> {
    let py = data.py();
    let Some(method) = data.getattr_opt(intern!(py, "__arrow_c_stream__"))? else {
        let kind = data.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "{name}: must be a table with __arrow_c_stream__, such as of polars, pandas or pyarrow, or an iterable of tables, got {kind}"
        )));
    };
    let capsule = method.call0()?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: `from_raw` requires a pointer that is valid for reads and writes, and that points to a stream of the
    // Arrow C stream interface. The interface guarantees this for a capsule of this name. `pointer_checked` has
    // compared the name, and the pointer is not null. No other thread uses the stream meanwhile, because the interface
    // allows only one consumer of a capsule. `capsule` keeps the stream alive until the end of this function. A
    // released stream is left in the capsule so that nothing is released twice, and a later consumer gets an error.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    // Without this callback, the reader would panic. A released stream has no callbacks and is rejected below.
    if stream.release().is_some() && stream.get_next().is_none() {
        return Err(PyValueError::new_err(format!(
            "cannot read {name}: its stream has no get_next callback"
        )));
    }
    let reader = ArrayStreamReader::try_new(stream);
    reader.map_err(|error| PyValueError::new_err(format!("cannot read {name}: {error}")))
}
