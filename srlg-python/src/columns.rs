//! Conversion of Arrow columns to times, hosts and the other parts of a contact.

use std::fmt::Display;
use std::net::{IpAddr, Ipv6Addr};
use std::num::{NonZeroU8, NonZeroU64};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt32Type,
};
use arrow_array::{
    Array, BinaryArray, LargeBinaryArray, RecordBatch, downcast_dictionary_array,
    downcast_integer_array,
};
use arrow_schema::{DataType, Fields, TimeUnit};
use pyo3::PyResult;
use pyo3::exceptions::{PyTypeError, PyValueError};
use srlg_input::Contact;
use srlg_input::contact::Host;

/// Names of the columns of a table.
#[derive(Clone)]
pub(crate) struct ColumnNames {
    /// Name of the time column, or `None` if times are not read.
    pub(crate) time: Option<String>,
    pub(crate) source: String,
    pub(crate) destination: String,
    /// Columns that must exist besides the addresses. If there are any, all columns with the names of a contact's parts
    /// are read.
    pub(crate) required: &'static [&'static str],
}

pub(crate) struct Columns {
    time: Option<Column>,
    source: Column,
    destination: Column,
    details: Option<[Option<Column>; DETAILS.len()]>,
}

/// Names of the columns with the other parts of a contact, in the order of [`Details`].
const DETAILS: [&str; 5] = ["protocol", "source_port", "destination_port", "tcp_flags", "packets"];

/// The values of the columns in [`DETAILS`], which are `None` if they are unknown.
type Details = [Option<u64>; DETAILS.len()];

/// A column of a table or an argument.
pub(crate) struct Column {
    place: usize,
    name: String,
}

#[derive(Default)]
pub(crate) struct Rows {
    /// Times of the contacts, in nanoseconds since the Unix epoch. They are 0 if there is no time column.
    pub(crate) times: Vec<u64>,
    sources: Vec<Host>,
    destinations: Vec<Host>,
    /// Empty if no other parts of the contacts are read.
    details: Vec<Details>,
}

/// A row of [`Rows`].
pub(crate) struct Row {
    pub(crate) time_ns: u64,
    source: Host,
    destination: Host,
    details: Option<Details>,
}

impl FromIterator<Row> for Rows {
    fn from_iter<T: IntoIterator<Item = Row>>(rows: T) -> Self {
        let mut all = Self::default();
        for Row { time_ns, source, destination, details } in rows {
            all.times.push(time_ns);
            all.sources.push(source);
            all.destinations.push(destination);
            all.details.extend(details);
        }
        all
    }
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// Returns all rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> {
        let hosts = self.sources.iter().zip(&self.destinations);
        let rows = self.times.iter().zip(hosts).enumerate();
        rows.map(|(row, (&time_ns, (&source, &destination)))| Row {
            time_ns,
            source,
            destination,
            details: self.details.get(row).copied(),
        })
    }

    /// Returns the contacts from row `first` on.
    pub(crate) fn contacts(&self, first: usize) -> impl Iterator<Item = Contact> {
        let hosts = self.sources[first..].iter().zip(&self.destinations[first..]);
        let rows = self.times[first..].iter().zip(hosts).enumerate();
        rows.map(move |(row, (&time_ns, (&source, &destination)))| {
            let contact = Contact::new(time_ns, source, destination);
            match self.details.get(first + row) {
                None => contact,
                Some(details) => detailed(contact, details),
            }
        })
    }
}

/// Adds `details`, whose values have been checked, to `contact`.
fn detailed(mut contact: Contact, details: &Details) -> Contact {
    let [protocol, source_port, destination_port, tcp_flags, packets] = *details;
    contact.protocol = protocol.map(|it| it as u8);
    contact.source_port = source_port.map(|it| it as u16);
    contact.destination_port = destination_port.map(|it| it as u16);
    contact.tcp_flags = tcp_flags.and_then(|it| NonZeroU8::new(it as u8));
    contact.packets = packets.and_then(NonZeroU64::new);
    contact
}

impl Columns {
    pub(crate) fn new(fields: &Fields, names: &ColumnNames) -> PyResult<Self> {
        let column = |name: &str| {
            let (place, _) = fields.find(name)?;
            Some(Column { place, name: name.to_owned() })
        };
        let all = || {
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            names.join(", ")
        };
        let find = |option: &str, name: &str| {
            column(name).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "{option}: must be a column of the data ({}), got {name}",
                    all()
                ))
            })
        };
        if let Some(name) = names.required.iter().find(|name| column(name).is_none()) {
            return Err(PyValueError::new_err(format!(
                "data: the options of the detector require a column {name}, got {}; rename or add a column",
                all()
            )));
        }
        Ok(Self {
            time: names.time.as_ref().map(|name| find("time", name)).transpose()?,
            source: find("source", &names.source)?,
            destination: find("destination", &names.destination)?,
            details: (!names.required.is_empty()).then(|| DETAILS.map(column)),
        })
    }

    /// Reads all rows of `batch`, which starts at row `first` of the table.
    pub(crate) fn read(&self, batch: &RecordBatch, first: u64) -> PyResult<Rows> {
        let hosts = |column: &Column| column.hosts(batch.column(column.place), first);
        let times = |column: &Column| column.times(batch.column(column.place), first);
        let mut rows = Rows {
            times: self.time.as_ref().map_or_else(|| Ok(vec![0; batch.num_rows()]), times)?,
            sources: hosts(&self.source)?,
            destinations: hosts(&self.destination)?,
            details: Vec::new(),
        };
        let Some(columns) = &self.details else { return Ok(rows) };
        rows.details = vec![Details::default(); rows.len()];
        let largest = [u8::MAX.into(), u16::MAX.into(), u16::MAX.into(), u8::MAX.into(), u64::MAX];
        for (detail, (column, largest)) in columns.iter().zip(largest).enumerate() {
            if let Some(column) = column {
                let array = batch.column(column.place);
                let numbers = column.numbers(array, first, largest)?;
                for (row, number) in rows.details.iter_mut().zip(numbers) {
                    row[detail] = number;
                }
            }
        }
        Ok(rows)
    }
}

impl Column {
    /// Creates a column that is an argument with this name.
    pub(crate) fn argument(name: &str) -> Self {
        Self { place: 0, name: name.to_owned() }
    }

    /// Returns an error if `array` contains nulls.
    fn check_nulls(&self, array: &dyn Array, first: u64) -> PyResult<()> {
        match (0..array.len()).find(|&row| array.is_null(row)) {
            Some(row) if array.null_count() > 0 => Err(self.bad_row(first, row, NULL)),
            _ => Ok(()),
        }
    }

    fn times(&self, array: &dyn Array, first: u64) -> PyResult<Vec<u64>> {
        self.check_nulls(array, first)?;
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
            other => {
                return Err(self.bad_type(
                    "a timestamp",
                    other,
                    "convert it, such as with polars.from_epoch or pandas.to_datetime",
                ));
            }
        };
        let time = |(row, &value): (usize, &i64)| {
            let time = u64::try_from(value).ok().and_then(|value| value.checked_mul(unit));
            time.ok_or_else(|| {
                self.bad_row(first, row, "the time must be in the years 1970 to 2554")
            })
        };
        values.iter().enumerate().map(time).collect()
    }

    /// Reads the hosts of `array`, which starts at row `first`.
    pub(crate) fn hosts(&self, array: &dyn Array, first: u64) -> PyResult<Vec<Host>> {
        self.check_nulls(array, first)?;
        if *array.data_type() == DataType::UInt32 {
            let values = array.as_primitive::<UInt32Type>().values();
            return Ok(values.iter().map(|&bits| Host::v4(bits)).collect());
        }
        let Some(mut host) = host_reader(array) else {
            return Err(self.bad_type(
                "32- or 64-bit integers, text, or 4 or 16 bytes",
                array.data_type(),
                "cast it to one of these",
            ));
        };
        let hosts =
            (0..array.len()).map(|row| host(row).map_err(|text| self.bad_row(first, row, text)));
        hosts.collect()
    }

    /// Reads numbers up to `largest`, or `None` for nulls.
    fn numbers(&self, array: &dyn Array, first: u64, largest: u64) -> PyResult<Vec<Option<u64>>> {
        let Some(number) = integer_reader(array) else {
            let found = array.data_type();
            return Err(self.bad_type("integers", found, "cast it to an integer type"));
        };
        let number = |row| {
            if array.is_null(row) {
                return Ok(None);
            }
            let number = number(row);
            let checked = u64::try_from(number).ok().filter(|number| *number <= largest);
            let text = || format!("must be between 0 and {largest}, got {number}");
            checked.map(Some).ok_or_else(|| self.bad_row(first, row, text()))
        };
        (0..array.len()).map(number).collect()
    }

    fn bad_type(&self, expected: &str, found: &DataType, remedy: &str) -> pyo3::PyErr {
        let Self { name, .. } = self;
        PyTypeError::new_err(format!("column {name}: must be {expected}, got {found}; {remedy}"))
    }

    pub(crate) fn bad_row(&self, first: u64, row: usize, found: impl Display) -> pyo3::PyErr {
        let (Self { name, .. }, row) = (self, first + row as u64);
        PyValueError::new_err(format!("column {name}, row {row}: {found}"))
    }
}

const NULL: &str = "null; drop rows with nulls first";

/// A function that returns the host at an index of an array without nulls, or the reason why there is none.
type HostReader<'a> = Box<dyn FnMut(usize) -> Result<Host, String> + 'a>;

/// Returns the reader of the hosts in `array`, or `None` if arrays of this type have no hosts.
fn host_reader(array: &dyn Array) -> Option<HostReader<'_>> {
    // Text is read as bytes, because libraries do not check that text from a file is UTF-8.
    Some(match array.data_type() {
        DataType::Int32 | DataType::UInt32 | DataType::Int64 | DataType::UInt64 => {
            let number = integer_reader(array)?;
            Box::new(move |row| word(number(row)).map(Host::v4))
        }
        DataType::Utf8 => {
            let bytes = BinaryArray::from(array.as_string::<i32>().clone());
            Box::new(move |row| text(bytes.value(row)))
        }
        DataType::LargeUtf8 => {
            let bytes = LargeBinaryArray::from(array.as_string::<i64>().clone());
            Box::new(move |row| text(bytes.value(row)))
        }
        DataType::Utf8View => {
            let bytes = array.as_string_view().clone().to_binary_view();
            Box::new(move |row| text(bytes.value(row)))
        }
        DataType::FixedSizeBinary(_) => {
            let array = array.as_fixed_size_binary();
            Box::new(|row| packed(array.value(row)))
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            Box::new(|row| packed(array.value(row)))
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            Box::new(|row| packed(array.value(row)))
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            Box::new(|row| packed(array.value(row)))
        }
        // Only the values of rows are converted, because others need not be addresses. Those of a small dictionary are
        // converted once.
        DataType::Dictionary(..) => downcast_dictionary_array!(
            array => {
                let values = array.values();
                let is_small = values.len() <= array.len();
                let mut known = vec![None; if is_small { values.len() } else { 0 }];
                let mut host = host_reader(values)?;
                Box::new(move |row| {
                    let key = array.key(row).filter(|&key| values.is_valid(key));
                    let key = key.ok_or_else(|| NULL.to_owned())?;
                    match known.get_mut(key) {
                        Some(Some(host)) => Ok(*host),
                        Some(unknown) => Ok(*unknown.insert(host(key)?)),
                        None => host(key),
                    }
                })
            },
            _ => return None,
        ),
        _ => return None,
    })
}

/// Returns the reader of an array of integers, or `None` if the array has another type.
fn integer_reader(array: &dyn Array) -> Option<Box<dyn Fn(usize) -> i128 + '_>> {
    downcast_integer_array!(
        array => Some(Box::new(|row| i128::from(array.value(row)))),
        _ => None,
    )
}

/// Converts a number to the bits of an IPv4 address.
pub(crate) fn word(number: i128) -> Result<u32, String> {
    u32::try_from(number)
        .map_err(|_| format!("an IPv4 address must be between 0 and {}, got {number}", u32::MAX))
}

fn text(text: &[u8]) -> Result<Host, String> {
    let host = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    host.ok_or_else(|| format!("{:?} is not an address", String::from_utf8_lossy(text)))
}

/// Converts an address in network byte order to a host.
pub(crate) fn packed(octets: &[u8]) -> Result<Host, String> {
    let v4 = || <[u8; 4]>::try_from(octets).ok().map(Host::from);
    let v6 = || Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?)).into());
    v4().or_else(v6).ok_or_else(|| format!("an address has 4 or 16 bytes, got {}", octets.len()))
}
