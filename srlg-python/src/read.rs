//! The function `read`, which returns the contacts in files as an Arrow stream.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{
    PrimitiveBuilder, StringBuilder, TimestampNanosecondBuilder, UInt8Builder, UInt16Builder,
    UInt64Builder,
};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use srlg_input::contact::Host;
use srlg_input::{Contact, Event, Input, InputOptions, LogLevel, LogLine};

use crate::capsule;
use crate::error::{InputError as Unreadable, unreadable};

/// Minimum number of contacts in a batch, except in the last one.
const BATCH: usize = 1 << 16;

/// Returns the contacts in files as an Arrow stream.
///
/// The formats are pcap, pcapng, CSV with the header time_ms,src,dst, logs of Zeek, Suricata, Hubble, Elastic or clouds,
/// and IPFIX files. Files may be compressed with gzip. If `exports` is set, UDP datagrams in captures are read as flow exports:
/// NetFlow v5, v7 or v9, IPFIX, or sFlow v5. Warnings go to the logger `srlg`.
#[pyfunction]
#[pyo3(signature = (*paths, exports=false))]
pub(crate) fn read(py: Python<'_>, paths: Vec<PathBuf>, exports: bool) -> PyResult<Contacts> {
    let options = InputOptions { input: paths, exports, ..InputOptions::default() };
    let input = py.detach(|| Input::open(&options)).map_err(unreadable)?;
    Ok(Contacts { input: Arc::new(Mutex::new(input)), is_taken: AtomicBool::new(false) })
}

/// The contacts in files, as an Arrow stream that can be read once.
///
/// Pass the object to `polars.DataFrame(contacts)`, `pyarrow.table(contacts)` or `srlg.scan(contacts, ...)`. Iteration
/// yields pyarrow batches and requires pyarrow.
#[pyclass(frozen, module = "srlg")]
pub(crate) struct Contacts {
    input: Arc<Mutex<Input>>,
    is_taken: AtomicBool,
}

#[pymethods]
impl Contacts {
    /// The current counters of the input, as text.
    #[getter]
    fn status(&self, py: Python<'_>) -> String {
        py.detach(|| self.input.lock().unwrap_or_else(PoisonError::into_inner).status().to_string())
    }

    /// Returns the contacts as an Arrow stream. A second call raises an error.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema); // A producer may ignore this argument.
        if self.is_taken.swap(true, Ordering::Relaxed) {
            return Err(Unreadable::new_err(
                "cannot read the contacts twice: a stream can be read only once; call srlg.read again",
            ));
        }
        let input = Arc::clone(&self.input);
        capsule::export(
            py,
            Box::new(Batches { input, schema: schema(), failure: None, is_at_end: false }),
        )
    }

    /// Yields the contacts as pyarrow batches.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let reader = slf.py().import("pyarrow")?.getattr("RecordBatchReader")?;
        reader.call_method1("from_stream", (slf,))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<srlg.Contacts {}>", self.status(py))
    }
}

fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let fields = vec![
        Field::new("time", time, false),
        Field::new("source", DataType::Utf8, false),
        Field::new("destination", DataType::Utf8, false),
        Field::new("protocol", DataType::UInt8, true),
        Field::new("source_port", DataType::UInt16, true),
        Field::new("destination_port", DataType::UInt16, true),
        Field::new("tcp_flags", DataType::UInt8, true),
        Field::new("packets", DataType::UInt64, true),
        Field::new("bytes", DataType::UInt64, true),
        Field::new("exporter", DataType::Utf8, true),
    ];
    Arc::new(Schema::new(fields))
}

struct Batches {
    input: Arc<Mutex<Input>>,
    schema: SchemaRef,
    /// An error to return after the last batch, which contains the contacts that were read before the error.
    failure: Option<ArrowError>,
    is_at_end: bool,
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(failure) = self.failure.take() {
            return Some(Err(failure));
        }
        if self.is_at_end {
            return None;
        }
        let mut builders = Builders::default();
        // Warnings are logged after the input is unlocked, because logging waits for Python.
        let filled = loop {
            let step =
                builders.fill(&mut self.input.lock().unwrap_or_else(PoisonError::into_inner));
            match step {
                Ok(Step::Log(line)) => {
                    if let Err(error) = Python::attach(|py| log(py, &line)) {
                        break Err(failed(&error.to_string()));
                    }
                }
                Ok(Step::Full) => break Ok(()),
                Ok(Step::End) => {
                    self.is_at_end = true;
                    break Ok(());
                }
                Err(error) => break Err(failed(&error)),
            }
        };
        if let Err(failure) = filled {
            self.is_at_end = true;
            if builders.is_empty() {
                return Some(Err(failure));
            }
            self.failure = Some(failure);
        }
        if builders.is_empty() { None } else { Some(builders.finish(&self.schema)) }
    }
}

enum Step {
    Full,
    End,
    Log(LogLine),
}

#[derive(Default)]
struct Builders {
    count: usize,
    time: TimestampNanosecondBuilder,
    source: StringBuilder,
    destination: StringBuilder,
    protocol: UInt8Builder,
    source_port: UInt16Builder,
    destination_port: UInt16Builder,
    tcp_flags: UInt8Builder,
    packets: UInt64Builder,
    bytes: UInt64Builder,
    exporter: StringBuilder,
}

impl Builders {
    fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Reads contacts from `input` until the batch is full, the input ends, or a line must be logged.
    fn fill(&mut self, input: &mut Input) -> Result<Step, String> {
        while self.count < BATCH {
            match input.next_event().map_err(|error| error.to_string())? {
                None => return Ok(Step::End),
                Some(Event::Contacts(contacts)) => {
                    contacts.iter().try_for_each(|contact| self.push(contact))?;
                }
                Some(Event::Log(line)) => return Ok(Step::Log(line)),
                // Files have no other events.
                Some(_) => {}
            }
        }
        Ok(Step::Full)
    }

    fn push(&mut self, contact: &Contact) -> Result<(), String> {
        let time = i64::try_from(contact.time_ns);
        self.time.append_value(time.map_err(|_| {
            format!(
                "cannot convert the contact time {} ns: Arrow timestamps end in the year 2262",
                contact.time_ns
            )
        })?);
        append(&mut self.source, contact.source);
        append(&mut self.destination, contact.destination);
        self.protocol.append_option(contact.protocol);
        self.source_port.append_option(contact.source_port);
        self.destination_port.append_option(contact.destination_port);
        self.tcp_flags.append_option(contact.tcp_flags.map(Into::into));
        self.packets.append_option(contact.packets.map(Into::into));
        self.bytes.append_option(contact.octets.map(Into::into));
        match contact.exporter {
            Some(exporter) => append(&mut self.exporter, exporter),
            None => self.exporter.append_null(),
        }
        self.count += 1;
        Ok(())
    }

    fn finish(mut self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        fn array<T: ArrowPrimitiveType>(mut builder: PrimitiveBuilder<T>) -> ArrayRef {
            Arc::new(builder.finish())
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.time.finish().with_timezone("UTC")),
            Arc::new(self.source.finish()),
            Arc::new(self.destination.finish()),
            array(self.protocol),
            array(self.source_port),
            array(self.destination_port),
            array(self.tcp_flags),
            array(self.packets),
            array(self.bytes),
            Arc::new(self.exporter.finish()),
        ];
        RecordBatch::try_new(Arc::clone(schema), columns)
    }
}

fn append(builder: &mut StringBuilder, host: Host) {
    write!(builder, "{host}").expect("a builder accepts any text");
    builder.append_value("");
}

fn log(py: Python<'_>, line: &LogLine) -> PyResult<()> {
    let method = match line.level {
        LogLevel::Info => "info",
        LogLevel::Warning => "warning",
    };
    let logger = py.import("logging")?.call_method1("getLogger", ("srlg",))?;
    // The text is passed as an argument, because it may contain a percent sign.
    logger.call_method1(method, ("%s", &line.text)).map(drop)
}

/// Returns an error with this text. Zero bytes are replaced, because the stream exports the text as a C string.
fn failed(text: &str) -> ArrowError {
    ArrowError::ExternalError(text.replace('\0', "\\0").into())
}
