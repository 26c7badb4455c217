//! States of detectors as bytes.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};
use srlg::ingest::PairBatch;
use srlg::state::{Delta, SlicePairs, Snapshot, StateHeader, StateKind};
use srlg::{Error, SlidingDetector};

use crate::error::raised;

/// Maximum number of pairs that are merged in one call.
const MOST_MERGED_PAIRS: usize = 1 << 22;

/// The header of a snapshot, a delta or a list of pairs.
#[pyclass(frozen, get_all, module = "srlg")]
pub(crate) struct State {
    /// The kind of the state: "snapshot", "delta" or "pairs".
    kind: &'static str,
    /// The slice in which the state was taken.
    slice: u64,
    /// The number of slices in the state, up to `slice`. For a snapshot, which contains the whole window, this is 0.
    slices: u32,
    /// The length of the state in bytes.
    size: usize,
}

#[pymethods]
impl State {
    #[new]
    fn new(state: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = state_bytes(state)?;
        let StateHeader { kind, slice, slices, .. } = StateHeader::read(&bytes).map_err(raised)?;
        let kind = match kind {
            StateKind::Pairs => "pairs",
            StateKind::Delta => "delta",
            _ => "snapshot",
        };
        Ok(Self { kind, slice, slices, size: bytes.len() })
    }

    fn __repr__(&self) -> String {
        let Self { kind, slice, slices, size } = self;
        format!("<srlg.State {kind} slice={slice} slices={slices} size={size}>")
    }
}

/// The state of a detector that is merged into another one.
pub(crate) enum Mergeable {
    Snapshot(Box<Snapshot>),
    Delta(Box<Delta>),
    Pairs(Vec<SlicePairs>),
}

impl Mergeable {
    /// Reads the state in `bytes` and its slice, for a detector that merges it.
    pub(crate) fn read(bytes: &[u8], detector: &SlidingDetector) -> Result<(u64, Self), Error> {
        let StateHeader { kind, slice, .. } = StateHeader::read(bytes)?;
        let params = detector.params();
        let state = match kind {
            StateKind::Pairs => {
                Self::Pairs(vec![SlicePairs::from_bytes(bytes, MOST_MERGED_PAIRS)?])
            }
            StateKind::Delta => Self::Delta(Box::new(Delta::from_bytes(bytes, params)?)),
            _ => Self::Snapshot(Box::new(Snapshot::from_bytes(bytes, params)?)),
        };
        Ok((slice, state))
    }

    pub(crate) fn merge(&self, detector: &mut SlidingDetector) -> Result<(), Error> {
        match self {
            Self::Snapshot(snapshot) => detector.merge_snapshot(snapshot),
            Self::Delta(delta) => detector.merge_delta(delta),
            Self::Pairs(pairs) => pairs.iter().try_for_each(|pairs| detector.merge_pairs(pairs)),
        }
    }
}

/// Replaces the state of `detector` with the snapshot in `bytes`.
pub(crate) fn restore(detector: &mut SlidingDetector, bytes: &[u8]) -> Result<(), Error> {
    detector.restore(&Snapshot::from_bytes(bytes, detector.params())?)
}

/// Returns the contacts of the last `slices` slices as a list of pairs or as a delta.
pub(crate) fn delta(detector: &mut SlidingDetector, slices: u32) -> Result<Vec<u8>, Error> {
    let listed = if slices == 1 { detector.pairs()? } else { None };
    let Some(mut pairs) = listed else { return detector.delta(slices)?.to_bytes() };
    let running = detector.slice();
    match pairs.pop().filter(|newest| newest.slice() == running) {
        Some(newest) => newest.to_bytes(),
        None => SlicePairs::new(&PairBatch::new(), running)?.to_bytes(),
    }
}

/// Copies a state from any object with the buffer protocol.
pub(crate) fn state_bytes(state: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    buffer(state)?.ok_or_else(|| match state.get_type().name() {
        Ok(kind) => PyTypeError::new_err(format!("state: must be bytes, got {kind}")),
        Err(error) => error,
    })
}

/// Copies the bytes of a buffer, or returns `None` if `data` is not a buffer of bytes.
pub(crate) fn buffer(data: &Bound<'_, PyAny>) -> PyResult<Option<PyBackedBytes>> {
    let py = data.py();
    let Ok(view) = PyMemoryView::from(data) else { return Ok(None) };
    if view.getattr(intern!(py, "itemsize"))?.extract::<usize>()? != 1 {
        return Ok(None);
    }
    let bytes = view.call_method0(intern!(py, "tobytes"))?;
    Ok(Some(bytes.cast_into::<PyBytes>()?.into()))
}
