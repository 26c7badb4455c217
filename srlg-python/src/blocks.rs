//! Blocks of rows of a table, or of an iterable of tables.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::{Array, ArrayReader, RecordBatch};
use arrow_schema::DataType;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString};

use crate::capsule;
use crate::columns::{ColumnNames, Columns, Rows};
use crate::error::unreadable;

/// Maximum number of rows that are read at a time. A block stays in the CPU cache until its rows are fed to the
/// detector.
const BLOCK: usize = 1 << 12;

/// The rows of a table, or of several tables one after another.
pub(crate) struct Blocks {
    names: ColumnNames,
    table: Option<Table>,
    /// The tables that follow.
    tables: Option<Py<PyIterator>>,
    batch: Option<RecordBatch>,
    rows: u64,
}

struct Table {
    reader: ArrayStreamReader,
    columns: Columns,
}

impl Blocks {
    /// Opens `data`, which must be a table or an iterable of tables.
    pub(crate) fn open(data: &Bound<'_, PyAny>, names: ColumnNames) -> PyResult<Self> {
        let py = data.py();
        // A polars LazyFrame is computed batch by batch.
        let data = match data.getattr_opt(intern!(py, "collect_batches"))? {
            Some(method) => &method.call0()?,
            None => data,
        };
        let is_table = data.hasattr(intern!(py, "__arrow_c_stream__"))?;
        let tables = match is_table || data.is_instance_of::<PyString>() {
            true => None,
            false => data.try_iter().ok(),
        };
        let table = match tables {
            Some(_) => None,
            None => Some(Table::open(data, &names)?),
        };
        let tables = tables.map(Bound::unbind);
        Ok(Self { names, table, tables, batch: None, rows: 0 })
    }

    /// Reads the next block of rows. Returns `None` at the end. The caller must be detached from Python.
    pub(crate) fn next_block(&mut self) -> PyResult<Option<Rows>> {
        loop {
            if let Some(batch) = self.batch.take().filter(|batch| batch.num_rows() > 0) {
                let count = batch.num_rows().min(BLOCK);
                let table = self.table.as_ref().expect("a batch belongs to a table");
                let rows = table.columns.read(&batch.slice(0, count), self.rows)?;
                self.batch = Some(batch.slice(count, batch.num_rows() - count));
                self.rows += count as u64;
                return Ok(Some(rows));
            }
            let batch = self.table.as_mut().and_then(|table| table.reader.next()).transpose();
            match batch.map_err(unreadable)? {
                Some(structs) => self.batch = Some(self.whole(&structs)?),
                None => match self.next_table()? {
                    Some(table) => self.table = Some(table),
                    None => return Ok(None),
                },
            }
        }
    }

    fn next_table(&self) -> PyResult<Option<Table>> {
        let Some(tables) = &self.tables else { return Ok(None) };
        Python::attach(|py| {
            let next = tables.bind(py).clone().next().transpose()?;
            next.map(|data| Table::open(&data, &self.names)).transpose()
        })
    }

    /// Converts `structs` to a batch. Returns an error if a row is null as a whole.
    fn whole(&self, structs: &dyn Array) -> PyResult<RecordBatch> {
        if structs.null_count() > 0 {
            let row = (0..structs.len()).find(|&row| structs.is_null(row)).unwrap_or_default();
            let row = self.rows + row as u64;
            return Err(PyValueError::new_err(format!(
                "row {row}: null; drop rows with nulls first"
            )));
        }
        Ok(structs.as_struct().clone().into())
    }
}

impl Table {
    fn open(data: &Bound<'_, PyAny>, names: &ColumnNames) -> PyResult<Self> {
        let reader = capsule::import("data", data)?;
        let field = reader.field();
        let DataType::Struct(fields) = field.data_type() else {
            let kind = field.data_type();
            return Err(PyValueError::new_err(format!(
                "data: must be a table, got a column of {kind}"
            )));
        };
        let columns = Columns::new(fields, names)?;
        Ok(Self { reader, columns })
    }
}
