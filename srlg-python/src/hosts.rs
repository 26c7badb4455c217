//! Host arguments: single hosts and columns of hosts.
//!
//! Arrays are copied block by block through `memoryview`, so they can have any strides. No Rust reference points to
//! memory that another thread may change.

use std::fmt::Display;
use std::net::IpAddr;
use std::ops::Range;

use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyMemoryView, PySlice, PyString};
use srlg::{IpPair, Ipv4Pair};

/// A host that was passed as text or as an `ipaddress` object.
pub(crate) struct HostArgument(pub(crate) IpAddr);

impl<'py> FromPyObject<'_, 'py> for HostArgument {
    type Error = PyErr;

    fn extract(host: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        address(&host, "host").map(Self)
    }
}

/// Converts `host` to an address. `name` is the name of the argument, for errors.
fn address(host: &Bound<'_, PyAny>, name: impl Display) -> PyResult<IpAddr> {
    if !host.is_instance_of::<PyString>() && !host.hasattr(intern!(host.py(), "packed"))? {
        let kind = host.get_type().name()?;
        // Columns of polars and pandas are not arrays, but their elements may also be numbers.
        let hint = match host.is_instance_of::<PyInt>() {
            true => "; give numbers as an array of uint32",
            false => "",
        };
        return Err(PyTypeError::new_err(format!(
            "{name}: must be a str or an address of ipaddress, got {kind}{hint}"
        )));
    }
    // A zone names a link, not a host. An address object with a zone is therefore rejected, as text with a zone is.
    let zone = host.getattr_opt(intern!(host.py(), "scope_id"))?;
    let address = host.extract().ok().filter(|_| zone.is_none_or(|zone| zone.is_none()));
    address.ok_or_else(|| {
        PyValueError::new_err(format!("{name}: must be an IPv4 or IPv6 address, got {host}"))
    })
}

/// A column of hosts. Arrays are kept in the form in which the caller passed them.
pub(crate) enum Column<'py> {
    /// An array of `uint32`: IPv4 addresses in host byte order.
    Words(Bound<'py, PyMemoryView>),
    /// An array of `uint8[n, 16]`: IPv6 addresses in network byte order.
    Octets(Bound<'py, PyMemoryView>),
    /// A list, which is converted when the column is created.
    List(Block),
}

/// Hosts copied from a column.
#[derive(Clone)]
pub(crate) enum Block {
    /// IPv4 addresses in host byte order.
    V4(Vec<u32>),
    /// IPv6 addresses in network byte order. IPv4 addresses are IPv4-mapped.
    V6(Vec<u8>),
}

impl<'py> Column<'py> {
    /// Creates a column from `hosts`. `name` is the name of the argument, for errors.
    pub(crate) fn new(name: &str, hosts: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(buffer) = PyUntypedBuffer::get(hosts) {
            // The buffer of a masked numpy array still contains the masked elements.
            if hosts.hasattr(intern!(hosts.py(), "mask"))? {
                return Err(PyTypeError::new_err(format!(
                    "{name}: must be an array without a mask, such as the result of compressed()"
                )));
            }
            let view = PyMemoryView::from(hosts)?;
            // PyO3 0.30 treats words in network byte order as words in host byte order, so they are rejected here.
            let is_swapped = cfg!(target_endian = "little")
                && matches!(buffer.format().to_bytes(), [b'>' | b'!', ..]);
            return match (buffer.as_typed::<u32>(), buffer.as_typed::<u8>(), buffer.shape()) {
                (Ok(_), _, [_]) if !is_swapped => Ok(Self::Words(view)),
                (_, Ok(_), [_, 16]) => Ok(Self::Octets(view)),
                (_, _, shape) => {
                    let format = buffer.format().to_string_lossy();
                    Err(PyTypeError::new_err(format!(
                        "{name}: must be an array of uint32[n] or uint8[n, 16], got format {format:?} and shape {shape:?}"
                    )))
                }
            };
        }
        let (false, Ok(items)) = (hosts.is_instance_of::<PyString>(), hosts.try_iter()) else {
            let kind = hosts.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "{name}: must be an array or a list of hosts, got {kind}"
            )));
        };
        let addresses = items.enumerate();
        let addresses =
            addresses.map(|(index, item)| address(&item?, format_args!("{name}[{index}]")));
        addresses.collect::<PyResult<Vec<_>>>().map(|addresses| Self::List(Block::of(&addresses)))
    }

    pub(crate) fn len(&self) -> PyResult<usize> {
        match self {
            Self::Words(view) | Self::Octets(view) => view.len(),
            Self::List(hosts) => Ok(hosts.len()),
        }
    }

    pub(crate) fn block(&self, rows: &Range<usize>) -> PyResult<Block> {
        match self {
            Self::Words(view) => copy(view, rows, 1).map(Block::V4),
            Self::Octets(view) => copy(view, rows, 16).map(Block::V6),
            Self::List(Block::V4(words)) => Ok(Block::V4(words[rows.clone()].to_vec())),
            Self::List(Block::V6(octets)) => {
                Ok(Block::V6(octets[16 * rows.start..16 * rows.end].to_vec()))
            }
        }
    }
}

/// Copies `rows` of `view`. A row has `width` elements.
fn copy<T: pyo3::buffer::Element + Default>(
    view: &Bound<'_, PyMemoryView>,
    rows: &Range<usize>,
    width: usize,
) -> PyResult<Vec<T>> {
    let py = view.py();
    // A Python object has at most isize::MAX items.
    let part = view.get_item(PySlice::new(py, rows.start as isize, rows.end as isize, 1))?;
    let mut elements = vec![T::default(); width * rows.len()];
    PyBuffer::<T>::get(&part)?.copy_to_slice(py, &mut elements)?;
    Ok(elements)
}

impl Block {
    fn of(addresses: &[IpAddr]) -> Self {
        let v4 = |address: &IpAddr| match address.to_canonical() {
            IpAddr::V4(address) => Some(address.to_bits()),
            IpAddr::V6(_) => None,
        };
        let octets = |address: &IpAddr| match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        let words: Option<Vec<u32>> = addresses.iter().map(v4).collect();
        match words {
            Some(words) => Self::V4(words),
            None => Self::V6(addresses.iter().flat_map(octets).collect()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::V4(words) => words.len(),
            Self::V6(octets) => octets.len() / 16,
        }
    }

    /// Returns each host as the four 32-bit words of its IPv6 address. IPv4 addresses are IPv4-mapped.
    fn limbs(&self) -> Vec<[u32; 4]> {
        match self {
            Self::V4(words) => words.iter().map(|&word| [0, 0, 0xffff, word]).collect(),
            Self::V6(octets) => {
                let words = octets.as_chunks::<4>().0.iter().map(|&word| u32::from_be_bytes(word));
                let words: Vec<u32> = words.collect();
                words.as_chunks::<4>().0.to_vec()
            }
        }
    }
}

pub(crate) enum Pairs {
    V4(Vec<Ipv4Pair>),
    /// Pairs of hosts of either family.
    V6(Vec<IpPair>),
}

impl Pairs {
    /// Combines each host in `inside` with the host at the same index in `peer`.
    pub(crate) fn of(inside: &Block, peer: &Block) -> Self {
        if let (Block::V4(inside), Block::V4(peer)) = (inside, peer) {
            let pairs = inside.iter().zip(peer);
            return Self::V4(pairs.map(|(&inside, &peer)| Ipv4Pair { inside, peer }).collect());
        }
        let pairs = inside.limbs().into_iter().zip(peer.limbs());
        Self::V6(pairs.map(|(inside, peer)| IpPair { inside, peer }).collect())
    }
}
