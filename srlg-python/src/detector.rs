//! The class `Detector`.
//!
//! An `RwLock` lets threads ingest and query at the same time. A call that needs exclusive access, such as a close or a
//! merge, also locks the mutex `exclusive`. If the mutex is already locked, the call raises `BusyError` instead of
//! waiting. Threads take both locks only while they are detached from Python.

use std::sync::{Mutex, RwLock, TryLockError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use srlg::config::{ConfigError as SizeError, HashFamily};
use srlg::state::{Delta, FormatError, SlicePairs, Snapshot, StateKind};
use srlg::{Config, Device, Error, SlidingDetector};

use crate::error::{ConfigError, broken, busy, raised};
use crate::hosts::{Column, HostArgument, Pairs};
use crate::report::{Estimate, Health, Peer, Report};

/// Maximum number of pairs that a detector lists before it allocates its memory.
const MOST_LISTED_PAIRS: usize = 100_000;

/// Number of pairs that a thread copies at a time while it is attached to Python. It then detaches and ingests these
/// pairs.
const BLOCK: usize = 1 << 15;

/// Maximum number of pairs that are merged in one call.
const MOST_MERGED_PAIRS: usize = 1 << 22;

/// A detector of hosts in contact with at least `threshold` other hosts within the last `window` slices.
///
/// By default, a detector uses 31.6 MB of memory, which is sufficient for about 20 million distinct pairs per window. It
/// allocates this memory when a slice is closed, when it is queried or saved, or when it has more than 100,000 distinct
/// pairs. Until then, it lists its pairs, and an IPv6 pair counts as four. To plan for a different number, set `pairs`. The detector then uses at most `memory` bytes, which is 31.6 MB by
/// default.
///
/// `seed` is a secret number below 2**64. If it is set, keyed hashes are used, which are safe even if an attacker
/// chooses the traffic. To be merged, detectors need the same sizes and the same seed. Pickles contain the seed.
///
/// `device` is "auto" (the first NVIDIA GPU, or the CPU if there is none), "cpu", "cuda" or "cuda:N".
#[pyclass(frozen, module = "srlg")]
pub(crate) struct Detector {
    arguments: Arguments,
    exclusive: Mutex<()>,
    detector: RwLock<SlidingDetector>,
}

/// The arguments with which a detector was created: threshold, window, memory, pairs, seed and device.
#[derive(Clone, IntoPyObject)]
struct Arguments(u32, u32, Option<usize>, Option<u64>, Option<u64>, String);

#[pymethods]
impl Detector {
    #[new]
    #[pyo3(signature = (threshold=1024, window=300, memory=None, pairs=None, seed=None, device="auto"))]
    fn new(
        py: Python<'_>,
        threshold: u32,
        window: u32,
        memory: Option<usize>,
        pairs: Option<u64>,
        seed: Option<u64>,
        device: &str,
    ) -> PyResult<Self> {
        let sizes = sizes(threshold, window, memory, pairs)?;
        let config = match seed {
            Some(seed) => Config { hash: HashFamily::HalfSip13, seed, ..sizes },
            None => sizes,
        };
        let place: Device = device.parse().map_err(raised)?;
        let detector = py.detach(|| SlidingDetector::sparse(config, place, MOST_LISTED_PAIRS));
        let detector = detector.map_err(raised)?;
        Ok(Self {
            arguments: Arguments(threshold, window, memory, pairs, seed, device.to_owned()),
            exclusive: Mutex::new(()),
            detector: RwLock::new(detector),
        })
    }

    /// The number of the running slice. The first slice has the number 0, and every close increases the number by one.
    #[getter]
    fn slice(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |detector| Ok(detector.slice()))
    }

    /// The number of distinct peers from which a host is reported.
    #[getter]
    fn threshold(&self) -> u32 {
        self.arguments.0
    }

    /// The length of the window, in slices.
    #[getter]
    fn window(&self) -> u32 {
        self.arguments.1
    }

    /// The memory of the detector's state in bytes. Once it is allocated, it never changes.
    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, |detector| Ok(detector.memory_bytes()))
    }

    /// The device on which the detector runs: "cpu" or "cuda:N".
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |detector| Ok(detector.device().to_string()))
    }

    /// The health of the detector in the last closed slice.
    #[getter]
    fn health(&self, py: Python<'_>) -> PyResult<Health> {
        self.ask(py, |detector| Ok(Health::from(detector.health())))
    }

    /// Records a contact between each host in `inside` and the host at the same index in `peer`.
    ///
    /// Each argument has one of three forms. An array of uint32 contains IPv4 addresses as numbers: 10.0.0.1 is
    /// 0x0a000001. An array of uint8[n, 16] contains IPv6 addresses in network byte order. A list contains str or
    /// ipaddress objects.
    ///
    /// Any number of threads may ingest at the same time. If another thread closes the slice during the call, the
    /// remaining pairs are counted in the next slice.
    fn ingest(&self, inside: &Bound<'_, PyAny>, peer: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = inside.py();
        let (inside, peer) = (Column::new("inside", inside)?, Column::new("peer", peer)?);
        let (count, other) = (inside.len()?, peer.len()?);
        if count != other {
            return Err(PyValueError::new_err(format!(
                "cannot ingest pairs: inside has {count} hosts and peer has {other}; give the same number"
            )));
        }
        for start in (0..count).step_by(BLOCK) {
            let rows = start..count.min(start + BLOCK);
            let (inside, peer) = (inside.block(&rows)?, peer.block(&rows)?);
            self.ask(py, move |detector| match Pairs::of(&inside, &peer) {
                Pairs::V4(pairs) => detector.ingest(&pairs),
                Pairs::V6(pairs) => detector.ingest(&pairs),
            })?;
            py.check_signals()?;
        }
        Ok(())
    }

    /// Closes the running slice and returns the super points of the window that ends with it.
    ///
    /// Raises BusyError if another thread has exclusive access to the detector.
    fn close_slice(&self, py: Python<'_>) -> PyResult<Report> {
        let report = self.change(py, SlidingDetector::close_slice)?;
        Ok(Report::new(report, None))
    }

    /// Moves the window forward until `slice` is running, without any reports.
    fn skip_to(&self, py: Python<'_>, slice: u64) -> PyResult<()> {
        self.change(py, |detector| detector.skip_to(slice))
    }

    /// Estimates the number of distinct peers of `host` in the window that ends with the running slice.
    fn cardinality(&self, py: Python<'_>, host: HostArgument) -> PyResult<Estimate> {
        self.ask(py, |detector| detector.cardinality(host.0)).map(Estimate)
    }

    /// Estimates the number of distinct peers of `host` in the last `slices` slices, including the running slice.
    ///
    /// After a close, the running slice is empty. To count n closed slices, set `slices` to n + 1.
    fn within(&self, py: Python<'_>, host: HostArgument, slices: u32) -> PyResult<Estimate> {
        self.ask(py, |detector| detector.cardinality_within(host.0, slices)).map(Estimate)
    }

    /// Returns up to 64 sampled peers of `host` in the window, most recent contact first. For an IPv6 host, the list is
    /// empty.
    fn sample_peers(&self, py: Python<'_>, host: HostArgument) -> PyResult<Vec<Peer>> {
        let peers = self.ask(py, |detector| detector.sample_peers(host.0))?;
        Ok(peers.into_iter().map(Peer).collect())
    }

    /// Returns the whole state of the detector as bytes.
    ///
    /// A snapshot contains addresses and a fingerprint of the seed. Anyone with the fingerprint can check guesses of
    /// the seed.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.ask(py, |detector| detector.snapshot()?.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Replaces the whole state of the detector, including the number of the running slice, with a snapshot.
    fn restore(&self, py: Python<'_>, snapshot: &[u8]) -> PyResult<()> {
        self.change(py, |detector| {
            let snapshot = Snapshot::from_bytes(snapshot, detector.params())?;
            detector.restore(&snapshot)
        })
    }

    /// Returns the distinct pairs that the detector lists, as bytes for each slice, or None if it has allocated its
    /// memory. Each of the bytes can be merged like a delta, by detectors with any arguments. The oldest slice comes
    /// first.
    fn pairs<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyBytes>>>> {
        let pairs = self.ask(py, |detector| {
            let pairs = detector.pairs()?;
            let bytes = pairs.map(|pairs| pairs.iter().map(SlicePairs::to_bytes).collect());
            bytes.transpose()
        })?;
        let bytes =
            |pairs: Vec<Vec<u8>>| pairs.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
        Ok(pairs.map(bytes))
    }

    /// Returns the changes in the last `slices` slices, including the running one, as bytes.
    #[pyo3(signature = (slices=1))]
    fn delta<'py>(&self, py: Python<'py>, slices: u32) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.change(py, |detector| detector.delta(slices)?.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Merges `state`, a snapshot or a delta of another detector, or at most 2**22 pairs of one slice. States may be
    /// merged late, repeatedly and in any order.
    fn merge(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        const PAIRS: u8 = StateKind::Pairs as u8;
        self.change(py, |detector| match Delta::from_bytes(state, detector.params()) {
            Err(Error::Format(FormatError::Kind { found: PAIRS, .. })) => {
                detector.merge_pairs(&SlicePairs::from_bytes(state, MOST_MERGED_PAIRS)?)
            }
            Err(Error::Format(FormatError::Kind { .. })) => {
                let snapshot = Snapshot::from_bytes(state, detector.params())?;
                detector.merge_snapshot(&snapshot)
            }
            delta => detector.merge_delta(&delta?),
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (py.get_type::<Self>(), self.arguments.clone(), self.snapshot(py)?).into_pyobject(py)
    }

    fn __setstate__(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        self.restore(py, state)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Arguments(threshold, window, ..) = self.arguments;
        self.ask(py, |detector| {
            let (slice, device) = (detector.slice(), detector.device());
            Ok(format!(
                "<srlg.Detector threshold={threshold} window={window} slice={slice} device={device}>"
            ))
        })
    }
}

impl Detector {
    pub(crate) fn slices(&self) -> u32 {
        self.arguments.1
    }

    pub(crate) fn default_one(py: Python<'_>) -> PyResult<Self> {
        let Config { threshold, window, .. } = Config::default();
        Self::new(py, threshold, window, None, None, None, "auto")
    }

    /// Runs `work` with shared access to the detector. Waits while another thread has exclusive access.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&SlidingDetector) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let detector = self.detector.read().map_err(|_| broken("detector"))?;
            work(&detector).map_err(raised)
        })
    }

    /// Runs `work` with exclusive access to the detector. Returns an error if another thread already has exclusive
    /// access.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut SlidingDetector) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.change_alone(|detector| work(detector).map_err(raised)))
    }

    /// Runs `work` like [`change`](Self::change), for callers that are already detached from Python.
    pub(crate) fn change_alone<T>(
        &self,
        work: impl FnOnce(&mut SlidingDetector) -> PyResult<T>,
    ) -> PyResult<T> {
        let _exclusive = self.exclusive.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => busy("detector"),
            TryLockError::Poisoned(_) => broken("detector"),
        })?;
        work(&mut *self.detector.write().map_err(|_| broken("detector"))?)
    }
}

/// Returns the configuration for the arguments, with the default hash and seed.
fn sizes(
    threshold: u32,
    window: u32,
    memory: Option<usize>,
    pairs: Option<u64>,
) -> PyResult<Config> {
    let preset = Config::default();
    let raised = |error: SizeError| ConfigError::new_err(error.to_string());
    match (pairs, memory) {
        (None, None) => Ok(Config { window, ..preset.for_threshold(threshold) }),
        (None, Some(memory)) => Err(ConfigError::new_err(format!(
            "memory: requires pairs, the number of distinct pairs per window, got memory {memory} without pairs"
        ))),
        (Some(pairs), memory) => {
            let default = || preset.validate().map(|sizes| sizes.recorder_bytes());
            let memory = memory.map_or_else(default, Ok).map_err(raised)?;
            Config::for_load(threshold, window, pairs, memory)
                .map(|plan| plan.config)
                .map_err(raised)
        }
    }
}
