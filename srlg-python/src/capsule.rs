//! Arrow streams from and to other Python libraries, by the Arrow PyCapsule interface.
//!
//! This is the only file with unsafe code, as a capsule holds a bare pointer to a struct of C.
#![allow(unsafe_code, reason = "a capsule holds a pointer to a struct of C")]

use std::ffi::CStr;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The name that the interface gives to a capsule with a stream.
const STREAM: &CStr = c"arrow_array_stream";

/// Returns `reader` as a capsule, which drops it unless somebody takes it.
pub(crate) fn export(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// Takes the stream of `data`, an object with the method `__arrow_c_stream__`.
///
/// The stream has arrays, not batches: as a batch, an array of structs would lose its nulls.
pub(crate) fn import(data: &Bound<'_, PyAny>) -> PyResult<ArrayStreamReader> {
    let py = data.py();
    let Some(method) = data.getattr_opt(intern!(py, "__arrow_c_stream__"))? else {
        let kind = data.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "data: give an object with __arrow_c_stream__, such as a polars, pandas or pyarrow table; got {kind}"
        )));
    };
    let capsule = method.call0()?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: `from_raw` asks for a pointer that is valid for reads and writes, and that points to a stream of the Arrow C
    // stream interface. The interface says so of a capsule of this name, which `pointer_checked` has compared, and the
    // pointer is not null. No other thread uses the stream meanwhile: the interface allows one consumer of a capsule, and
    // `capsule` keeps it until the end of this function. A released stream is left in the capsule, so that nothing is
    // released twice, and that a later consumer gets an error.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    // Without this callback the reader would panic. A released stream has none, and is rejected below.
    if stream.release().is_some() && stream.get_next().is_none() {
        return Err(PyValueError::new_err("cannot read data: its stream has no callback get_next"));
    }
    let reader = ArrayStreamReader::try_new(stream);
    reader.map_err(|error| PyValueError::new_err(format!("cannot read data: {error}")))
}
