//! Host arguments: single hosts and columns of hosts.
//!
//! Arrays are copied block by block through `memoryview`, so they can have any strides. No Rust reference points to
//! memory that another thread may change. Arrow columns are immutable.

use std::fmt::Display;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyMemoryView, PySlice, PyString};
use srlg::ingest::PairBatch;
use srlg::{Error, Ipv4Pair, SlidingDetector};
use srlg_input::contact::Host;

use crate::capsule;
use crate::columns::{Column as ArrowColumn, packed, word};
use crate::error::unreadable;

/// Converts `host` to an address. `name` is the name of the argument, for errors.
pub(crate) fn address(host: &Bound<'_, PyAny>, name: impl Display) -> PyResult<Host> {
    let py = host.py();
    let invalid =
        || PyValueError::new_err(format!("{name}: must be an IPv4 or IPv6 address, got {host}"));
    if let Ok(text) = host.cast::<PyString>() {
        return text.to_str().ok().and_then(|text| text.parse().ok()).ok_or_else(invalid);
    }
    if let Some(octets) = host.getattr_opt(intern!(py, "packed"))? {
        // A zone names a link, not a host. An address object with a zone is therefore rejected, as text with a zone is.
        let zone = host.getattr_opt(intern!(py, "scope_id"))?;
        let octets = octets.cast_into::<PyBytes>().ok();
        let octets = octets.filter(|_| zone.is_none_or(|zone| zone.is_none()));
        return octets.and_then(|octets| packed(octets.as_bytes()).ok()).ok_or_else(invalid);
    }
    match host.extract::<i128>() {
        Ok(number) if !host.is_instance_of::<PyBool>() => word(number)
            .map(Host::v4)
            .map_err(|text| PyValueError::new_err(format!("{name}: {text}"))),
        _ => {
            let kind = host.get_type().name()?;
            Err(PyTypeError::new_err(format!(
                "{name}: must be a str, an address of ipaddress, or an IPv4 address as an int, got {kind}"
            )))
        }
    }
}

/// A column of hosts. Arrays are kept in the form in which the caller passed them.
pub(crate) enum Column<'py> {
    /// An array of integers: IPv4 addresses. The text is its name.
    Words(Bound<'py, PyMemoryView>, Integers, String),
    /// An array of `uint8[n, 16]`: IPv6 addresses in network byte order.
    Octets(Bound<'py, PyMemoryView>),
    /// An Arrow column in parts, and its name.
    Arrow(Vec<ArrayRef>, String),
    /// A list, which is converted when the column is created.
    List(Vec<Host>),
}

/// Hosts copied from a column.
pub(crate) enum Block {
    /// IPv4 addresses.
    V4(Vec<u32>),
    /// Hosts of any family.
    Any(Vec<Host>),
}

/// The form of the integers in an array.
#[derive(Clone, Copy)]
pub(crate) struct Integers {
    width: usize,
    is_signed: bool,
    is_big_endian: bool,
}

impl Integers {
    /// Returns the form of integers of 32 or 64 bits, or `None` if the buffer contains other elements.
    fn of(buffer: &PyUntypedBuffer) -> Option<Self> {
        let (order, code) = match *buffer.format().to_bytes() {
            [code] => (b'@', code),
            [order, code] => (order, code),
            _ => return None,
        };
        let is_signed = match code {
            b'i' | b'l' | b'q' | b'n' => true,
            b'I' | b'L' | b'Q' | b'N' => false,
            _ => return None,
        };
        let is_big_endian = match order {
            b'>' | b'!' => true,
            b'<' => false,
            _ => cfg!(target_endian = "big"),
        };
        let width = buffer.item_size();
        matches!(width, 4 | 8).then_some(Self { width, is_signed, is_big_endian })
    }

    /// Returns whether the integers are `u32` of this machine.
    fn is_native(self) -> bool {
        self.width == 4 && !self.is_signed && self.is_big_endian == cfg!(target_endian = "big")
    }

    fn number(self, bytes: &[u8]) -> i128 {
        let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let bits = match self.is_big_endian {
            true => bytes.iter().fold(0, fold),
            false => bytes.iter().rev().fold(0, fold),
        };
        match (self.is_signed, self.width) {
            (false, _) => bits.into(),
            (true, 4) => (bits as u32).cast_signed().into(),
            (true, _) => bits.cast_signed().into(),
        }
    }
}

impl<'py> Column<'py> {
    /// Creates a column from `hosts`. `name` is the name of the argument, for errors.
    pub(crate) fn new(name: &str, hosts: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(buffer) = PyUntypedBuffer::get(hosts)
            && !matches!(buffer.format().to_bytes(), [b'O'] | [.., b'w'])
        {
            return Self::of_array(name, hosts, &buffer);
        }
        // A column of Python objects cannot be exported. Its items are then read one by one.
        if let Some(arrays) = arrow(name, hosts)? {
            return Ok(Self::Arrow(arrays, name.to_owned()));
        }
        let (false, Ok(items)) = (hosts.is_instance_of::<PyString>(), hosts.try_iter()) else {
            let kind = hosts.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "{name}: must be an array, a column or a list of hosts, got {kind}"
            )));
        };
        let hosts = items.enumerate();
        let hosts = hosts.map(|(index, item)| address(&item?, format_args!("{name}[{index}]")));
        hosts.collect::<PyResult<_>>().map(Self::List)
    }

    fn of_array(name: &str, hosts: &Bound<'py, PyAny>, buffer: &PyUntypedBuffer) -> PyResult<Self> {
        // The buffer of a masked numpy array still contains the masked elements.
        if hosts.hasattr(intern!(hosts.py(), "mask"))? {
            return Err(PyTypeError::new_err(format!(
                "{name}: must be an array without a mask, such as the result of compressed()"
            )));
        }
        let view = PyMemoryView::from(hosts)?;
        match (Integers::of(buffer), buffer.as_typed::<u8>(), buffer.shape()) {
            (Some(integers), _, [_]) => Ok(Self::Words(view, integers, name.to_owned())),
            (_, Ok(_), [_, 16]) => Ok(Self::Octets(view)),
            (_, _, shape) => {
                let kind = match hosts.getattr_opt(intern!(hosts.py(), "dtype"))? {
                    Some(kind) => kind.str()?,
                    None => hosts.get_type().name()?,
                };
                Err(PyTypeError::new_err(format!(
                    "{name}: must be an array of 32- or 64-bit integers[n] or uint8[n, 16], got {kind}{shape:?}; convert it with astype(numpy.uint32) or astype(str)"
                )))
            }
        }
    }

    pub(crate) fn len(&self) -> PyResult<usize> {
        match self {
            Self::Words(view, ..) | Self::Octets(view) => view.len(),
            Self::Arrow(arrays, _) => Ok(arrays.iter().map(Array::len).sum()),
            Self::List(hosts) => Ok(hosts.len()),
        }
    }

    pub(crate) fn block(&self, py: Python<'_>, rows: &Range<usize>) -> PyResult<Block> {
        match self {
            Self::Words(view, integers, _) if integers.is_native() => {
                copy(view, rows, 1).map(Block::V4)
            }
            Self::Words(view, integers, name) => {
                let bytes = part(view, rows)?.call_method0(intern!(view.py(), "tobytes"))?;
                let bytes = bytes.cast_into::<PyBytes>()?;
                let words = bytes.as_bytes().chunks_exact(integers.width).enumerate();
                let word = |(row, bytes)| {
                    let row = rows.start + row;
                    word(integers.number(bytes))
                        .map_err(|text| PyValueError::new_err(format!("{name}[{row}]: {text}")))
                };
                words.map(word).collect::<PyResult<_>>().map(Block::V4)
            }
            Self::Octets(view) => {
                let octets: Vec<u8> = copy(view, rows, 16)?;
                let octets = octets.as_chunks::<16>().0.iter();
                Ok(Block::Any(octets.map(|&it| Host::v6(u128::from_be_bytes(it))).collect()))
            }
            Self::Arrow(arrays, name) => py.detach(|| hosts_of(arrays, name, rows)).map(Block::Any),
            Self::List(hosts) => Ok(Block::Any(hosts[rows.clone()].to_vec())),
        }
    }
}

/// Returns the parts of an Arrow column, or `None` if `hosts` cannot be exported.
fn arrow(name: &str, hosts: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    let py = hosts.py();
    let stream = if hosts.hasattr(intern!(py, "__arrow_c_stream__"))? {
        hosts.clone()
    } else if hosts.hasattr(intern!(py, "__arrow_c_array__"))? {
        py.import("pyarrow")?.call_method1("chunked_array", ((hosts,),))?
    } else {
        return Ok(None);
    };
    let Ok(reader) = capsule::import(name, &stream) else { return Ok(None) };
    reader.collect::<Result<_, _>>().map(Some).map_err(unreadable)
}

/// Reads `rows` of the Arrow column `name`, which is in parts.
fn hosts_of(arrays: &[ArrayRef], name: &str, rows: &Range<usize>) -> PyResult<Vec<Host>> {
    let column = ArrowColumn::argument(name);
    let (mut hosts, mut first) = (Vec::with_capacity(rows.len()), 0);
    for array in arrays {
        let [start, end] =
            [rows.start, rows.end].map(|row| row.clamp(first, first + array.len()) - first);
        hosts.extend(column.hosts(&array.slice(start, end - start), (first + start) as u64)?);
        first += array.len();
    }
    Ok(hosts)
}

/// Returns `rows` of `view`.
fn part<'py>(view: &Bound<'py, PyMemoryView>, rows: &Range<usize>) -> PyResult<Bound<'py, PyAny>> {
    // A Python object has at most isize::MAX items.
    view.get_item(PySlice::new(view.py(), rows.start as isize, rows.end as isize, 1))
}

/// Copies `rows` of `view`. A row has `width` elements.
fn copy<T: pyo3::buffer::Element + Default>(
    view: &Bound<'_, PyMemoryView>,
    rows: &Range<usize>,
    width: usize,
) -> PyResult<Vec<T>> {
    let mut elements = vec![T::default(); width * rows.len()];
    PyBuffer::<T>::get(&part(view, rows)?)?.copy_to_slice(view.py(), &mut elements)?;
    Ok(elements)
}

impl Block {
    pub(crate) fn hosts(self) -> Vec<Host> {
        match self {
            Self::V4(words) => words.into_iter().map(Host::v4).collect(),
            Self::Any(hosts) => hosts,
        }
    }
}

/// Ingests the pairs of each host in `inside` and the host at the same index in `peer`.
pub(crate) fn ingest(detector: &SlidingDetector, inside: Block, peer: Block) -> Result<(), Error> {
    if let (Block::V4(inside), Block::V4(peer)) = (&inside, &peer) {
        let pairs = inside.iter().zip(peer);
        let pairs: Vec<_> = pairs.map(|(&inside, &peer)| Ipv4Pair { inside, peer }).collect();
        return detector.ingest(&pairs);
    }
    let mut pairs = PairBatch::new();
    pairs.extend(inside.hosts().into_iter().zip(peer.hosts()));
    pairs.ingest(detector)
}
