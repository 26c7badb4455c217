"""Tests of tables without times, and of their partitions."""

import datetime
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
from pairs import address, assert_close, exact, pairs

import srlg

ROWS = 60_000
OPTIONS: Any = {"threshold": 512, "device": "cpu", "inside": "10.0.0.0/8"}


def table() -> pyarrow.Table:
    inside, peer = pairs(range(ROWS))
    return pyarrow.table({"source": inside, "destination": peer})


def text() -> pyarrow.Table:
    columns = {name: map(address, table()[name].to_pylist()) for name in ("source", "destination")}
    return pyarrow.table({name: list(texts) for name, texts in columns.items()})


def parts(data: pyarrow.Table) -> list[pyarrow.Table]:
    return [data.slice(start, 7000) for start in range(0, ROWS, 7000)]


def test_super_points_are_those_of_pairs_by_hand() -> None:
    report = srlg.super_points(table(), **OPTIONS)
    detector = srlg.Detector(threshold=512, window=1, device="cpu")
    detector.ingest(*pairs(range(ROWS)))
    assert report == detector.close_slice()
    assert report.start is None
    assert_close(report, exact(*pairs(range(ROWS))), 512)
    renamed = table().rename_columns(["a", "b"])
    assert srlg.super_points(renamed, source="b", destination="a", **OPTIONS) == report
    with pytest.raises(ValueError, match="source"):
        srlg.super_points(renamed, **OPTIONS)


def test_tables_of_every_form_give_the_same_report(tmp_path: Path) -> None:
    expected = srlg.super_points(table(), **OPTIONS)
    for number, part in enumerate(parts(table())):
        pyarrow.parquet.write_table(part, tmp_path / f"{number}.parquet")
    lazy = polars.scan_parquet(tmp_path / "*.parquet")
    dataset = pyarrow.dataset.dataset(tmp_path)
    forms: list[Any] = [
        parts(table()),
        (polars.DataFrame(part) for part in parts(table())),
        [text(), table()],
        lazy,
        lazy.collect_batches(chunk_size=999),
        dataset.to_batches(),
        dataset.scanner().to_reader(),
        (pyarrow.parquet.ParquetFile(path).read() for path in tmp_path.glob("*.parquet")),
        duckdb.sql(f"from '{tmp_path}/*.parquet'"),
        text(),
        text().to_pandas().astype("category"),
        polars.DataFrame(text()).cast(polars.Categorical),
        pyarrow.table({name: text()[name].dictionary_encode() for name in text().column_names}),
        table().cast(pyarrow.schema([("source", "int64"), ("destination", "uint64")])),
        table().to_pandas(),
    ]
    for number, form in enumerate(forms):
        assert srlg.super_points(form, **OPTIONS) == expected, number
    unions = polars.DataFrame(text()).with_columns(other=polars.lit("no address"))
    in_common = unions.cast(polars.Categorical).drop("other")
    assert srlg.super_points(in_common, **OPTIONS) == expected
    objects = pandas.DataFrame({"source": [1.5], "destination": [2]})
    for wrong in (objects, 7, [7], "0.parquet", tmp_path, [[table()]], dataset, None):
        with pytest.raises(TypeError):
            srlg.super_points(wrong, **OPTIONS)  # type: ignore[arg-type]


def test_states_of_partitions_merge_into_one_detector() -> None:
    whole = srlg.Detector(window=1, **OPTIONS)
    whole.ingest_table(table())
    expected = whole.report()
    states = [srlg.sketch(part, **OPTIONS) for part in parts(table())]
    merged = srlg.merge(states, **OPTIONS)
    assert (merged.report(), merged.snapshot()) == (expected, whole.snapshot())
    # A tree of merges, with states that are repeated.
    halves = [srlg.merge(half, **OPTIONS) for half in (states[:5], states[3:])]
    assert srlg.merge((halves, states), **OPTIONS).snapshot() == whole.snapshot()
    seeded = srlg.merge(states, seed=7, **OPTIONS)
    assert seeded.report() != expected
    assert_close(seeded.report(), exact(*pairs(range(ROWS))), 512)
    assert srlg.merge([], **OPTIONS).slice == 0


def test_partitions_by_time_give_the_reports_of_a_scan() -> None:
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    seconds = numpy.arange(ROWS) // 7000
    times = [start + datetime.timedelta(seconds=int(second)) for second in seconds]
    expected = list(srlg.scan(table().append_column("time", [times]), window=3, **OPTIONS))
    first = int(start.timestamp())
    detector = srlg.Detector(window=3, **OPTIONS)
    reports = []
    for slice, part in enumerate(parts(table()), first):
        detector.merge(srlg.sketch(part, slice=slice, window=3, **OPTIONS), advance=True)
        reports.append(detector.close_slice())
    assert reports == expected


def test_threads_ingest_tables_at_once() -> None:
    detector, whole = (srlg.Detector(window=1, **OPTIONS) for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(detector.ingest_table, parts(table()) * 3))
    whole.ingest_table(table())
    assert detector.report() == whole.report()


def test_a_report_is_a_sequence_and_a_table() -> None:
    report = srlg.super_points(table(), **OPTIONS)
    assert len(report) == len(report.super_points) > 40
    assert list(report) == report.super_points
    assert (report[0], report[-1]) == (report.super_points[0], report.super_points[-1])
    assert report[1:3] == report.super_points[1:3]
    with pytest.raises(IndexError):
        report[len(report)]
    assert report.to_polars().to_dicts() == report.to_dicts()
    hosts = [point.host for point in report]
    assert report.to_pandas()["host"].tolist() == hosts
    assert not srlg.super_points(table().slice(0, 0), **OPTIONS)


def test_an_error_in_an_iterable_is_raised() -> None:
    def produce() -> Any:
        yield table()
        raise KeyError("of the producer")

    with pytest.raises(KeyError, match="of the producer"):
        srlg.super_points(produce(), **OPTIONS)


def test_an_overload_is_warned_of_once() -> None:
    inside, peer = pairs(range(200_000))
    hosts = inside + numpy.arange(200_000, dtype=numpy.uint32) // 64 * 64
    table = pyarrow.table({"source": hosts, "destination": peer})
    options: Any = {"threshold": 64, "pairs": 1_000, "memory": 100_000, "device": "cpu"}
    with pytest.warns(srlg.OverloadWarning, match="slice 0") as caught:
        report = srlg.super_points(table, **options)
    assert len(caught) == 1
    assert f"overload={report.health.overload}" in repr(report)
    second = datetime.timedelta(seconds=1)
    start = datetime.datetime(2026, 1, 1)
    tables = [
        table.append_column("time", pyarrow.array([start + slice * second] * len(table)))
        for slice in range(3)
    ]
    with pytest.warns(srlg.OverloadWarning) as caught:
        reports = list(srlg.scan(tables, window=2, **options))
    assert [report.health.overload is not None for report in reports] == [True] * 3
    assert len(caught) == 1
