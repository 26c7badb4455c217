//! Conversion of a report to an Arrow table.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, ListArray, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StringArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::PyResult;
use srlg::{SliceReport, SuperPoint};
use srlg_input::contact::Packing;

use crate::error::Error;
use crate::format::{SIGMAS, kebab_case};
use crate::view::Names;

pub(crate) fn reader(
    report: &SliceReport,
    start_us: Option<i64>,
    names: Names,
) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let batch =
        batch(report, start_us, names).map_err(|error| Error::new_err(error.to_string()))?;
    let schema = batch.schema();
    Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

fn batch(
    report: &SliceReport,
    start_us: Option<i64>,
    names: Names,
) -> Result<RecordBatch, ArrowError> {
    let SliceReport { slice, super_points, .. } = report;
    let count = super_points.len();
    let numbers = |value: &dyn Fn(&SuperPoint) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(super_points.iter().map(value)))
    };
    let texts = |value: &dyn Fn(&SuperPoint) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(super_points.iter().map(value)))
    };
    let starts = TimestampMicrosecondArray::from(vec![start_us; count]).with_timezone("UTC");
    let columns: [(&str, ArrayRef); 9] = [
        ("slice", Arc::new(UInt64Array::from_value(*slice, count))),
        ("start", Arc::new(starts)),
        ("host", texts(&|point| names.hosts.name(point.host).to_string())),
        ("cardinality", numbers(&|point| point.cardinality)),
        ("std_error", numbers(&|point| point.std_error)),
        ("lower", numbers(&|point| point.lower(SIGMAS))),
        ("upper", numbers(&|point| point.upper(SIGMAS))),
        ("range", texts(&|point| kebab_case(point.range))),
        ("peers", Arc::new(peers(super_points, names.peers)?)),
    ];
    let field = |(name, array): &(&str, ArrayRef)| {
        Field::new(*name, array.data_type().clone(), *name == "start")
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect())
}

fn peers(points: &[SuperPoint], names: Packing) -> Result<ListArray, ArrowError> {
    let all = || points.iter().flat_map(|point| &point.peers);
    let hosts = StringArray::from_iter_values(all().map(|peer| names.name(peer.host).to_string()));
    let last_seen = UInt64Array::from_iter_values(all().map(|peer| peer.last_seen));
    let field = |name, array: &dyn Array| Field::new(name, array.data_type().clone(), false);
    let fields = vec![field("host", &hosts), field("last_seen", &last_seen)];
    let columns: Vec<ArrayRef> = vec![Arc::new(hosts), Arc::new(last_seen)];
    let structs = StructArray::try_new(fields.into(), columns, None)?;
    let item = Field::new("item", structs.data_type().clone(), false);
    let lengths = OffsetBuffer::from_lengths(points.iter().map(|point| point.peers.len()));
    ListArray::try_new(Arc::new(item), lengths, Arc::new(structs), None)
}
