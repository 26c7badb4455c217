//! The class `Detector`.
//!
//! An `RwLock` lets threads ingest and query at the same time. A call that needs exclusive access, such as a close or a
//! merge, waits for it. Threads take the lock only while they are detached from Python.

use std::net::IpAddr;
use std::sync::RwLock;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple, PyType};
use srlg::config::HashFamily;
use srlg::ingest::PairBatch;
use srlg::state::{SlicePairs, Snapshot};
use srlg::{Config, Error, SlidingDetector};
use srlg_input::contact::{Host, Name, PeerKey};

use crate::blocks::Blocks;
use crate::columns::ColumnNames;
use crate::error::{broken, raised};
use crate::hosts::{Column, address, ingest};
use crate::report::{Estimate, Health, Peer, Report};
use crate::sizes::{Place, Sizes, number};
use crate::state::{Mergeable, buffer, delta, restore, state_bytes};
use crate::view::{Selection, ViewArguments, invalid, networks};

/// Number of pairs that a thread copies at a time while it is attached to Python. It then detaches and ingests these
/// pairs.
const BLOCK: usize = 1 << 15;

/// A detector of hosts in contact with at least `threshold` other hosts within the last `window` slices.
///
/// By default, a detector uses 31.6 MB of memory, which is sufficient for about 20 million distinct pairs per window.
/// It allocates this memory when a slice is closed, when it is queried or saved, or when it has more than 100,000
/// distinct pairs. Until then, it lists its pairs, and an IPv6 pair counts as four. To plan for a different number, set
/// `pairs`. The detector then uses at most `memory` bytes, which is 31.6 MB by default.
///
/// `seed` is a secret number below 2**64. If it is set, keyed hashes are used, which are safe even if an attacker
/// chooses the traffic. To be merged, detectors need the same sizes and the same seed. Pickles contain the seed.
///
/// `device` is "auto" (the first NVIDIA GPU, or the CPU if there is none), "cpu", "cuda" or "cuda:N".
///
/// The other arguments select the rows of tables that count, and their hosts and peers. They have the meaning of the
/// options of `srlg detect`. `inside` is a network or a list of networks. By default, both addresses of a row are
/// hosts.
#[pyclass(frozen, module = "srlg")]
pub(crate) struct Detector {
    arguments: Arguments,
    selection: Selection,
    detector: RwLock<SlidingDetector>,
}

/// The arguments with which a detector was created.
#[derive(Clone)]
struct Arguments {
    sizes: Sizes,
    place: Place,
    view: ViewArguments,
}

#[pymethods]
impl Detector {
    #[new]
    #[pyo3(
        signature = (threshold=None, window=None, *, memory=None, pairs=None, seed=None, device="auto", inside=None, measure="inside", role="any", only="all", host="address", peer="address", host_prefix4=None, host_prefix6=None, peer_prefix4=None, peer_prefix6=None),
        text_signature = "(threshold=1024, window=300, *, memory=None, pairs=None, seed=None, device='auto', inside=None, measure='inside', role='any', only='all', host='address', peer='address', host_prefix4=32, host_prefix6=128, peer_prefix4=32, peer_prefix6=128)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments are keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        threshold: Option<&Bound<'_, PyAny>>,
        window: Option<&Bound<'_, PyAny>>,
        memory: Option<&Bound<'_, PyAny>>,
        pairs: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        device: &str,
        inside: Option<&Bound<'_, PyAny>>,
        measure: &str,
        role: &str,
        only: &str,
        host: &str,
        peer: &str,
        host_prefix4: Option<&Bound<'_, PyAny>>,
        host_prefix6: Option<&Bound<'_, PyAny>>,
        peer_prefix4: Option<&Bound<'_, PyAny>>,
        peer_prefix6: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let threshold = number("threshold", threshold)?.unwrap_or(1024);
        let window = number("window", window)?.unwrap_or(300);
        let (memory, pairs) = (number("memory", memory)?, number("pairs", pairs)?);
        let seed = number("seed", seed)?;
        let sizes = Sizes { threshold, window, memory, pairs };
        let place = Place { seed, device: device.to_owned() };
        let inside = inside.map(networks).transpose()?;
        let view = ViewArguments {
            inside,
            measure: measure.to_owned(),
            role: role.to_owned(),
            only: only.to_owned(),
            host: host.to_owned(),
            peer: peer.to_owned(),
            host_prefix4: number("host_prefix4", host_prefix4)?.unwrap_or(32),
            host_prefix6: number("host_prefix6", host_prefix6)?.unwrap_or(128),
            peer_prefix4: number("peer_prefix4", peer_prefix4)?.unwrap_or(32),
            peer_prefix6: number("peer_prefix6", peer_prefix6)?.unwrap_or(128),
        };
        let config = match seed {
            Some(seed) => Config { hash: HashFamily::HalfSip13, seed, ..sizes.config()? },
            None => sizes.config()?,
        };
        let selection = view.selection()?;
        let detector = py.detach(|| place.detector(config))?;
        let arguments = Arguments { sizes, place, view };
        Ok(Self { arguments, selection, detector: RwLock::new(detector) })
    }

    /// Creates a detector with the sizes and the state of a snapshot, which must come from a trusted source, because its
    /// sizes determine the memory of the detector.
    ///
    /// The options are `seed`, which must be that of the snapshot's detector, `device`, and those that select rows of
    /// tables.
    #[classmethod]
    #[pyo3(signature = (snapshot, **options))]
    fn from_snapshot<'py>(
        class: &Bound<'py, PyType>,
        snapshot: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        let py = class.py();
        let bytes = state_bytes(snapshot)?;
        let options = options.map_or_else(|| Ok(PyDict::new(py)), PyDictMethods::copy)?;
        for name in ["threshold", "window", "memory", "pairs"] {
            if options.contains(name)? {
                return Err(PyTypeError::new_err(format!(
                    "{name}: cannot be set, because the snapshot contains the sizes"
                )));
            }
        }
        let seed = number("seed", options.get_item("seed")?.as_ref().filter(|it| !it.is_none()))?;
        let config = Snapshot::config(&bytes, seed.unwrap_or_default()).map_err(raised)?;
        options.set_item("threshold", config.threshold)?;
        options.set_item("window", config.window)?;
        let created = class.call((), Some(&options))?.cast_into::<Self>()?;
        let detector = created.get();
        detector.change(py, |sized_by_options| {
            *sized_by_options = detector.arguments.place.detector(config)?;
            restore(sized_by_options, &bytes).map_err(raised)
        })?;
        Ok(created)
    }

    /// The number of the running slice. The first slice has the number 0, and every close increases the number by one.
    #[getter]
    fn slice(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |detector| Ok(detector.slice()))
    }

    /// The number of distinct peers from which a host is reported.
    #[getter]
    fn threshold(&self) -> u32 {
        self.arguments.sizes.threshold
    }

    /// The length of the window, in slices.
    #[getter]
    pub(crate) fn window(&self) -> u32 {
        self.arguments.sizes.window
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
    /// Each argument is an array, an Arrow column or a list. An array or a column of integers of 32 or 64 bits contains
    /// IPv4 addresses as numbers: 10.0.0.1 is 0x0a000001. An array of uint8[n, 16] contains IPv6 addresses in network
    /// byte order. Columns may also contain text, or 4 or 16 bytes. A list contains str, int or ipaddress objects.
    ///
    /// Any number of threads may ingest at the same time. If another thread closes the slice during the call, the
    /// remaining pairs are counted in the next slice.
    ///
    /// Raises ValueError if the detector selects rows of tables or names their hosts and peers.
    fn ingest(&self, inside: &Bound<'_, PyAny>, peer: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = inside.py();
        let set = self.arguments.view.set();
        if !set.is_empty() {
            return Err(PyValueError::new_err(format!(
                "cannot ingest pairs: the detector has arguments for rows of tables ({}); use ingest_table or scan, or a detector without them",
                set.join(", ")
            )));
        }
        let (inside, peer) = (Column::new("inside", inside)?, Column::new("peer", peer)?);
        let (count, other) = (inside.len()?, peer.len()?);
        if count != other {
            return Err(PyValueError::new_err(format!(
                "cannot ingest pairs: inside has {count} hosts and peer has {other}; give the same number"
            )));
        }
        for start in (0..count).step_by(BLOCK) {
            let rows = start..count.min(start + BLOCK);
            let (inside, peer) = (inside.block(py, &rows)?, peer.block(py, &rows)?);
            self.ask(py, move |detector| ingest(detector, inside, peer))?;
            py.check_signals()?;
        }
        Ok(())
    }

    /// Records the contacts in the rows of a table in the running slice.
    ///
    /// `data` is a table, as for `scan`, but without a time column, or an iterable of tables. `source` and
    /// `destination` name the columns with the addresses. Any number of threads may call this at the same time.
    #[pyo3(signature = (data, *, source="source", destination="destination"))]
    pub(crate) fn ingest_table(
        &self,
        data: &Bound<'_, PyAny>,
        source: &str,
        destination: &str,
    ) -> PyResult<()> {
        let py = data.py();
        let mut blocks = Blocks::open(data, self.columns(None, source, destination))?;
        let mut pairs = PairBatch::new();
        while let Some(rows) = py.detach(|| blocks.next_block())? {
            self.ask(py, |detector| {
                pairs.clear();
                rows.contacts(0)
                    .for_each(|contact| pairs.extend(self.selection.view.pairs(&contact)));
                pairs.ingest(detector)
            })?;
            py.check_signals()?;
        }
        Ok(())
    }

    /// Closes the running slice and returns the super points of the window that ends with it.
    pub(crate) fn close_slice(&self, py: Python<'_>) -> PyResult<Report> {
        let report = self.change(py, |detector| detector.close_slice().map_err(raised))?;
        Ok(Report::new(report, None, self.selection.names))
    }

    /// Returns the report that `close_slice` would return now, without closing the slice.
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        let report = self.change(py, |detector| detector.report().map_err(raised))?;
        Ok(Report::new(report, None, self.selection.names))
    }

    /// Moves the window forward until `slice` is running, without any reports.
    pub(crate) fn skip_to(&self, py: Python<'_>, slice: u64) -> PyResult<()> {
        self.change(py, |detector| detector.skip_to(slice).map_err(raised))
    }

    /// Estimates the number of distinct peers of `host` in the last `slices` slices, including the running slice. By
    /// default, these are all slices of the window.
    ///
    /// After a close, the running slice is empty. To count n closed slices, set `slices` to n + 1.
    ///
    /// `host` is an address or, as in reports, a network or a service such as "10.0.0.1 tcp/22". If hosts are networks, an
    /// address stands for its network.
    #[pyo3(signature = (host, slices=None))]
    fn cardinality(
        &self,
        host: &Bound<'_, PyAny>,
        slices: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Estimate> {
        let (py, slices) = (host.py(), number("slices", slices)?.unwrap_or(self.window()));
        let host = self.host(host)?;
        let ask = |detector: &SlidingDetector| detector.cardinality_within(host, slices);
        self.ask(py, ask).map(Estimate)
    }

    /// Estimates the cardinality of each of `hosts`, an array, an Arrow column or a list as for `ingest`. For many hosts,
    /// this is much faster than a call for each.
    #[pyo3(signature = (hosts, slices=None))]
    fn cardinalities(
        &self,
        hosts: &Bound<'_, PyAny>,
        slices: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Estimate>> {
        let (py, slices) = (hosts.py(), number("slices", slices)?.unwrap_or(self.window()));
        let hosts = Column::new("hosts", hosts)?;
        let hosts = hosts.block(py, &(0..hosts.len()?))?.hosts();
        let own = |host: Host| self.own_host(&Name::Address(host.into()));
        let hosts = hosts.into_iter().map(own).collect::<PyResult<Vec<_>>>()?;
        let estimates = self
            .change(py, |detector| detector.cardinalities_within(&hosts, slices).map_err(raised))?;
        Ok(estimates.into_iter().map(Estimate).collect())
    }

    /// Returns up to 64 sampled peers of `host` in the window, most recent contact first. For an IPv6 host, the list is
    /// empty.
    fn sample_peers(&self, host: &Bound<'_, PyAny>) -> PyResult<Vec<Peer>> {
        let (py, host) = (host.py(), self.host(host)?);
        let peers = self.ask(py, |detector| detector.sample_peers(host))?;
        let names = self.selection.names.peers;
        Ok(peers.into_iter().map(|peer| Peer::new(peer, names)).collect())
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
    fn restore(&self, snapshot: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = state_bytes(snapshot)?;
        self.change(snapshot.py(), |detector| restore(detector, &bytes).map_err(raised))
    }

    /// Returns the contacts of the last `slices` slices, including the running one, as bytes for `merge`.
    ///
    /// For one slice of a detector that still lists its pairs, the bytes are a list of pairs, which a detector with any
    /// arguments can merge.
    #[pyo3(signature = (slices=1))]
    pub(crate) fn delta<'py>(&self, py: Python<'py>, slices: u32) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.change(py, |detector| delta(detector, slices).map_err(raised))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Merges states of other detectors, which may come late, repeatedly and in any order.
    ///
    /// `states` is a snapshot, a delta or a list of at most 2**22 pairs as bytes, a detector, or an iterable of these.
    /// Some states may have been merged if the call raises an exception.
    ///
    /// Detectors whose hosts or peers are of other kinds, such as networks in place of addresses, raise ValueError. Bytes
    /// do not contain these kinds, so the caller must know them.
    ///
    /// A state of a slice after the running one raises StateError. With `advance`, the window moves forward to that
    /// slice instead, without any reports.
    #[pyo3(signature = (states, *, advance=false))]
    pub(crate) fn merge(&self, states: &Bound<'_, PyAny>, advance: bool) -> PyResult<()> {
        let py = states.py();
        if let Ok(other) = states.cast::<Self>() {
            if other.get().selection.names != self.selection.names {
                let set = |detector: &Self| detector.arguments.view.set().join(", ");
                return Err(PyValueError::new_err(format!(
                    "states: must be of a detector with the same kinds of hosts and peers; its arguments for rows of tables are ({}), here ({})",
                    set(other.get()),
                    set(self)
                )));
            }
            let state = other.get().ask(py, |other| {
                let slice = other.slice();
                match other.pairs()? {
                    Some(pairs) => Ok((slice, Mergeable::Pairs(pairs))),
                    None => other.snapshot().map(|it| (slice, Mergeable::Snapshot(Box::new(it)))),
                }
            })?;
            return self.merge_state(py, advance, |_| Ok(state));
        }
        if let Some(bytes) = buffer(states)? {
            return self.merge_state(py, advance, |detector| Mergeable::read(&bytes, detector));
        }
        let (false, Ok(states)) = (states.is_instance_of::<PyString>(), states.try_iter()) else {
            let kind = states.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "states: must be bytes, a detector or an iterable of these, got {kind}"
            )));
        };
        for state in states {
            self.merge(&state?, advance)?;
            py.check_signals()?;
        }
        Ok(())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, this) = (slf.py(), slf.get());
        let Arguments { sizes, place, view } = this.arguments.clone();
        let arguments = place.into_pyobject(py)?;
        arguments.update(view.into_pyobject(py)?.as_mapping())?;
        // A detector that lists its pairs is copied without allocating its memory.
        let listed = this.ask(py, |detector| {
            let bytes =
                detector.pairs()?.map(|pairs| pairs.iter().map(SlicePairs::to_bytes).collect());
            Ok((detector.slice(), bytes.transpose()?))
        })?;
        let (callable, values, state) = match listed {
            (slice, Some(pairs)) => {
                let pairs: Vec<Vec<u8>> = pairs;
                arguments.update(sizes.into_pyobject(py)?.as_mapping())?;
                let pairs: Vec<_> = pairs.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
                let state = (slice, pairs).into_pyobject(py)?.into_any();
                (slf.get_type().into_any(), PyTuple::empty(py), state)
            }
            (_, None) => {
                let values = (this.snapshot(py)?,).into_pyobject(py)?;
                let callable = slf.get_type().getattr(intern!(py, "from_snapshot"))?;
                (callable, values, py.None().into_bound(py))
            }
        };
        let partial = py.import("functools")?.getattr("partial")?;
        let callable = partial.call((callable,), Some(&arguments))?;
        (callable, values, state).into_pyobject(py)
    }

    fn __setstate__(&self, state: (u64, Bound<'_, PyAny>)) -> PyResult<()> {
        let (slice, pairs) = state;
        self.skip_to(pairs.py(), slice)?;
        self.merge(&pairs, false)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Sizes { threshold, window, .. } = self.arguments.sizes;
        self.ask(py, |detector| {
            let (slice, device) = (detector.slice(), detector.device());
            Ok(format!(
                "<srlg.Detector threshold={threshold} window={window} slice={slice} device={device}>"
            ))
        })
    }
}

impl Detector {
    /// Creates a detector with these keyword arguments of Python.
    pub(crate) fn with_options<'py>(
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        Ok(py.get_type::<Self>().call((), options)?.cast_into::<Self>()?)
    }

    pub(crate) const fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the names of the columns that the detector needs.
    pub(crate) fn columns(
        &self,
        time: Option<&str>,
        source: &str,
        destination: &str,
    ) -> ColumnNames {
        ColumnNames {
            time: time.map(str::to_owned),
            source: source.to_owned(),
            destination: destination.to_owned(),
            required: self.selection.required,
        }
    }

    /// Returns the host of the detector that `host` names: its text in reports, or an address.
    fn host(&self, host: &Bound<'_, PyAny>) -> PyResult<IpAddr> {
        let name = match host.cast::<PyString>() {
            Ok(text) => text.to_str()?.parse().map_err(|error| invalid("host", error))?,
            Err(_) => Name::Address(address(host, "host")?.into()),
        };
        self.own_host(&name)
    }

    /// Returns the host that has the name `name`, as the detector counts it.
    fn own_host(&self, name: &Name) -> PyResult<IpAddr> {
        let packing = self.selection.names.hosts;
        packing.packed(name).map(IpAddr::from).ok_or_else(|| {
            let kind = match packing.key() {
                PeerKey::Address => "an address, or a network with the prefix of the detector",
                _ => "an address and a port, such as 10.0.0.1 tcp/22",
            };
            invalid("host", format!("must be {kind}, got {name}"))
        })
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

    /// Runs `work` with exclusive access to the detector, for which it waits.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut SlidingDetector) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.change_detached(work))
    }

    /// Runs `work` like [`change`](Self::change), for callers that are already detached from Python.
    pub(crate) fn change_detached<T>(
        &self,
        work: impl FnOnce(&mut SlidingDetector) -> PyResult<T>,
    ) -> PyResult<T> {
        work(&mut *self.detector.write().map_err(|_| broken("detector"))?)
    }

    /// Merges the state that `read` returns, which was taken in the slice that it returns.
    fn merge_state(
        &self,
        py: Python<'_>,
        advance: bool,
        read: impl FnOnce(&SlidingDetector) -> Result<(u64, Mergeable), Error> + Send,
    ) -> PyResult<()> {
        self.change(py, |detector| {
            let (slice, state) = read(detector).map_err(raised)?;
            if advance && slice > detector.slice() {
                detector.skip_to(slice).map_err(raised)?;
            }
            state.merge(detector).map_err(raised)
        })
    }
}
