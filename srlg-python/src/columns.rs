//! Conversion of Arrow columns to times and hosts.

use std::fmt::Display;
use std::net::{IpAddr, Ipv6Addr};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt32Type,
};
use arrow_array::{Array, BinaryArray, LargeBinaryArray, RecordBatch};
use arrow_schema::{DataType, Fields, TimeUnit};
use pyo3::PyResult;
use pyo3::exceptions::{PyTypeError, PyValueError};
use srlg_input::contact::Host;

pub(crate) struct Columns {
    time: Column,
    source: Column,
    destination: Column,
}

struct Column {
    place: usize,
    name: String,
}

#[derive(Default)]
pub(crate) struct Rows {
    /// Times of the contacts, in nanoseconds since the Unix epoch.
    pub(crate) times: Vec<u64>,
    pub(crate) sources: Vec<Host>,
    pub(crate) destinations: Vec<Host>,
}

impl Columns {
    pub(crate) fn new(
        fields: &Fields,
        time: &str,
        source: &str,
        destination: &str,
    ) -> PyResult<Self> {
        let find = |option: &str, name: &str| {
            let (place, _) = fields.find(name).ok_or_else(|| {
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                PyValueError::new_err(format!(
                    "{option}: must be a column of the data ({}), got {name}",
                    names.join(", ")
                ))
            })?;
            Ok::<_, pyo3::PyErr>(Column { place, name: name.to_owned() })
        };
        Ok(Self {
            time: find("time", time)?,
            source: find("source", source)?,
            destination: find("destination", destination)?,
        })
    }

    /// Reads all rows of `batch`, which starts at row `first` of the table.
    pub(crate) fn read(&self, batch: &RecordBatch, first: u64) -> PyResult<Rows> {
        let hosts = |column: &Column| column.hosts(batch, first);
        Ok(Rows {
            times: self.time.times(batch, first)?,
            sources: hosts(&self.source)?,
            destinations: hosts(&self.destination)?,
        })
    }
}

impl Column {
    /// Returns the array of the column, or an error if the array contains nulls.
    fn array<'a>(&self, batch: &'a RecordBatch, first: u64) -> PyResult<&'a dyn Array> {
        let array = batch.column(self.place);
        if array.null_count() == 0 {
            return Ok(array);
        }
        let row = (0..array.len()).find(|&row| array.is_null(row)).unwrap_or_default();
        Err(self.bad_row(first, row, "null; drop rows with nulls first"))
    }

    fn times(&self, batch: &RecordBatch, first: u64) -> PyResult<Vec<u64>> {
        let array = self.array(batch, first)?;
        let (values, unit) = match array.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => {
                (array.as_primitive::<TimestampSecondType>().values(), 1_000_000_000)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                (array.as_primitive::<TimestampMillisecondType>().values(), 1_000_000)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                (array.as_primitive::<TimestampMicrosecondType>().values(), 1_000)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                (array.as_primitive::<TimestampNanosecondType>().values(), 1)
            }
            other => return Err(self.bad_type("a timestamp", other)),
        };
        let time = |(row, &value): (usize, &i64)| {
            let time = u64::try_from(value).ok().and_then(|value| value.checked_mul(unit));
            time.ok_or_else(|| {
                self.bad_row(first, row, "the time must be in the years 1970 to 2554")
            })
        };
        values.iter().enumerate().map(time).collect()
    }

    fn hosts(&self, batch: &RecordBatch, first: u64) -> PyResult<Vec<Host>> {
        let array = self.array(batch, first)?;
        // The array has no nulls. Text is read as bytes, because libraries do not check that text from a file is UTF-8.
        let text = |(row, text): (usize, Option<&[u8]>)| {
            let text = text.unwrap_or_default();
            let host = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            host.ok_or_else(|| {
                let text = String::from_utf8_lossy(text);
                self.bad_row(first, row, format!("{text:?} is not an address"))
            })
        };
        let octets = |(row, octets): (usize, Option<&[u8]>)| {
            let octets = octets.unwrap_or_default();
            packed(octets).ok_or_else(|| {
                self.bad_row(
                    first,
                    row,
                    format!("an address has 4 or 16 bytes, got {}", octets.len()),
                )
            })
        };
        match array.data_type() {
            DataType::UInt32 => {
                let values = array.as_primitive::<UInt32Type>().values();
                Ok(values.iter().map(|&bits| Host::v4(bits)).collect())
            }
            DataType::Utf8 => {
                let bytes = BinaryArray::from(array.as_string::<i32>().clone());
                bytes.iter().enumerate().map(text).collect()
            }
            DataType::LargeUtf8 => {
                let bytes = LargeBinaryArray::from(array.as_string::<i64>().clone());
                bytes.iter().enumerate().map(text).collect()
            }
            DataType::Utf8View => {
                let bytes = array.as_string_view().clone().to_binary_view();
                bytes.iter().enumerate().map(text).collect()
            }
            DataType::FixedSizeBinary(_) => {
                array.as_fixed_size_binary().iter().enumerate().map(octets).collect()
            }
            DataType::Binary => array.as_binary::<i32>().iter().enumerate().map(octets).collect(),
            DataType::LargeBinary => {
                array.as_binary::<i64>().iter().enumerate().map(octets).collect()
            }
            DataType::BinaryView => array.as_binary_view().iter().enumerate().map(octets).collect(),
            other => Err(self.bad_type("uint32, text or binary", other)),
        }
    }

    fn bad_type(&self, expected: &str, found: &DataType) -> pyo3::PyErr {
        let Self { name, .. } = self;
        PyTypeError::new_err(format!("column {name}: cast it to {expected}, got {found}"))
    }

    fn bad_row(&self, first: u64, row: usize, found: impl Display) -> pyo3::PyErr {
        let (Self { name, .. }, row) = (self, first + row as u64);
        PyValueError::new_err(format!("column {name}, row {row}: {found}"))
    }
}

/// Converts an address in network byte order to a host. Returns `None` if it does not have 4 or 16 bytes.
fn packed(octets: &[u8]) -> Option<Host> {
    match octets.len() {
        4 => <[u8; 4]>::try_from(octets).ok().map(Host::from),
        16 => {
            let octets = <[u8; 16]>::try_from(octets).ok()?;
            Some(IpAddr::V6(Ipv6Addr::from(octets)).into())
        }
        _ => None,
    }
}
