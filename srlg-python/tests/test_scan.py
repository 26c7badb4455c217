"""Tests of scans of tables by their time column."""

import ctypes
import datetime
import ipaddress
import threading
from typing import Any

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest
from pairs import address, assert_close, exact, one_host, pairs

import srlg

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SECOND = 1_000_000_000


def columns(rows: int, per_slice: int) -> tuple[Any, Any, Any]:
    """Returns times in nanoseconds, sources and destinations of this number of rows, at this rate per second."""
    inside, peer = pairs(range(rows))
    start = int(START.timestamp()) * SECOND
    return start + numpy.arange(rows, dtype=numpy.int64) * SECOND // per_slice, inside, peer


def table(rows: int = 60_000, per_slice: int = 10_000) -> pyarrow.Table:
    times, inside, peer = columns(rows, per_slice)
    return pyarrow.table(
        {"t": pyarrow.array(times, pyarrow.timestamp("ns")), "src": inside, "dst": peer}
    )


def scan(data: Any, **options: Any) -> srlg.Scan:
    if "detector" not in options:
        defaults = {"threshold": 512, "window": 10, "device": "cpu", "inside": "10.0.0.0/8"}
        options = {**defaults, **options}
    return srlg.scan(data, time="t", source="src", destination="dst", **options)


def test_reports_are_those_of_slices_by_hand() -> None:
    reports = list(scan(table()))
    detector = srlg.Detector(threshold=512, window=10, device="cpu")
    detector.skip_to(int(START.timestamp()))
    for index, report in enumerate(reports):
        inside, peer = pairs(range(index * 10_000, (index + 1) * 10_000))
        detector.ingest(inside, peer)
        assert report == detector.close_slice()
        assert report.start == START + datetime.timedelta(seconds=index)
        truth = exact(*pairs(range((index + 1) * 10_000)))
        assert_close(report.super_points, truth, 512)
    assert len(reports) == 6


def test_rows_in_another_direction_count_for_the_inside_host() -> None:
    data = table().rename_columns(["t", "dst", "src"])
    assert list(scan(data)) == list(scan(table()))
    assert list(scan(table(), inside=["11.0.0.0/8"]))[-1].super_points == []


def test_both_ends_are_counted_without_inside_networks() -> None:
    host, peers = one_host(1000)
    times = pyarrow.array([0] * 1000, pyarrow.timestamp("s"))
    for sources, destinations in ((host, peers), (peers, host)):
        data = pyarrow.table({"t": times, "src": sources, "dst": destinations})
        (report,) = scan(data, inside=None)
        assert [point.host for point in report] == ["10.0.0.1"]


def test_every_library_gives_the_same_reports() -> None:
    arrow = table()
    expected = list(scan(arrow))
    frame = polars.DataFrame(arrow)
    chunked = pyarrow.concat_tables([arrow.slice(0, 7), arrow.slice(7, 0), arrow.slice(7)])
    reader = pyarrow.RecordBatchReader.from_batches(
        arrow.schema, iter(arrow.to_batches(max_chunksize=999))
    )
    for data in (
        frame,
        arrow.to_pandas(),
        duckdb.sql("from arrow"),
        chunked,
        reader,
        arrow.to_batches()[0],
    ):
        if hasattr(data, "__arrow_c_stream__"):
            assert list(scan(data)) == expected, type(data)
        else:
            assert isinstance(data, pyarrow.RecordBatch), type(data)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_timestamps_of_every_unit(unit: str, zone: str | None) -> None:
    times = table()["t"].cast(pyarrow.timestamp("s"), safe=False)
    times = times.cast(pyarrow.timestamp(unit, zone))
    reports = list(scan(table().set_column(0, "t", times)))
    assert reports == list(scan(table()))
    assert reports[0].start == START


def test_addresses_of_every_form() -> None:
    data = table()
    texts = {
        name: [address(int(word)) for word in data[name].to_numpy()] for name in ("src", "dst")
    }
    packed = {
        name: [ipaddress.ip_address(text).packed for text in values]
        for name, values in texts.items()
    }
    mapped = {
        name: [bytes(10) + b"\xff\xff" + value for value in values]
        for name, values in packed.items()
    }
    expected = list(scan(data))
    forms: list[tuple[dict[str, Any], Any]] = [
        (texts, pyarrow.string()),
        (texts, pyarrow.large_string()),
        (texts, pyarrow.string_view()),
        (packed, pyarrow.binary(4)),
        (packed, pyarrow.binary()),
        (mapped, pyarrow.binary(16)),
        (mapped, pyarrow.binary()),
        (mapped, pyarrow.large_binary()),
        (mapped, pyarrow.binary_view()),
    ]
    for values, kind in forms:
        form = data
        for place, name in ((1, "src"), (2, "dst")):
            form = form.set_column(place, name, pyarrow.array(values[name], kind))
        assert list(scan(form)) == expected, kind
    frame = polars.DataFrame({"t": polars.DataFrame(data)["t"], **texts})
    assert list(scan(frame)) == expected


def test_ipv6_hosts_are_found() -> None:
    rows = 3000
    data = polars.DataFrame(
        {
            "t": [START] * rows,
            "src": ["2001:db8::1"] * rows,
            "dst": [f"2001:db8:1::{row:x}" for row in range(rows)],
        }
    )
    (report,) = scan(data, inside=["2001:db8::/48"])
    assert [point.host for point in report.super_points] == ["2001:db8::1"]


@pytest.mark.parametrize(
    ("length", "count"),
    [
        ("1s", 6),
        ("1000ms", 6),
        ("500ms", 12),
        ("2s", 3),
        ("1m", 1),
        ("1h", 1),
        ("1d", 1),
        (datetime.timedelta(seconds=2), 3),
        (datetime.timedelta(milliseconds=500), 12),
    ],
)
def test_slices_of_several_lengths(length: str | datetime.timedelta, count: int) -> None:
    assert len(list(scan(table(), slice=length))) == count


@pytest.mark.parametrize(
    "length",
    [
        *("", "s", "1", "1.5s", "-1s", "1 s", "1w", "0s", "99999999999999999999s", 5),
        datetime.timedelta(0),
        datetime.timedelta(seconds=-1),
    ],
)
def test_other_lengths_are_rejected(length: Any) -> None:
    with pytest.raises((ValueError, srlg.ConfigError)):
        scan(table(), slice=length)


def test_late_rows_are_counted_in_their_slice_and_too_late_ones_are_stated() -> None:
    inside, peer = one_host(2000)
    times = numpy.full(2000, 20 * SECOND)
    times[1000:1500] = 15 * SECOND
    times[1500:] = 5 * SECOND
    data = pyarrow.table(
        {"t": pyarrow.array(times, pyarrow.timestamp("ns")), "src": inside, "dst": peer}
    )
    reports = scan(data, late="drop")
    with pytest.warns(srlg.LateRowsWarning):
        (report,) = reports
    assert (reports.rows, reports.too_late) == (2000, 500)
    assert report.super_points[0].lower(5) <= 1500 <= report.super_points[0].upper(5)
    assert reports.detector.cardinality("10.0.0.1", 6).cardinality < 1100


def test_a_long_silence_has_no_reports() -> None:
    times = numpy.array([0] * 1000 + [10**9 * 10**9], dtype=numpy.int64)
    inside, peer = one_host(1001)
    data = pyarrow.table(
        {"t": pyarrow.array(times, pyarrow.timestamp("ns")), "src": inside, "dst": peer}
    )
    reports = list(scan(data))
    # The reports are for the window of 10 slices, one slice in which the host is estimated once more, a silent slice,
    # and the last slice.
    assert [report.slice for report in reports] == [*range(12), 10**9]
    assert [len(report.super_points) for report in reports] == [1] * 10 + [0, 0, 0]


def test_reports_come_lazily_and_the_detector_can_be_asked_between_them() -> None:
    batches = 0

    def produce() -> Any:
        nonlocal batches
        for batch in table(rows=400_000, per_slice=10_000).to_batches(max_chunksize=20_000):
            batches += 1
            yield batch

    reader = pyarrow.RecordBatchReader.from_batches(table().schema, produce())
    reports = scan(reader)
    first = next(reports)
    assert batches <= 2
    assert reports.detector.slice == first.slice + 1
    assert reports.detector.cardinality("10.0.0.63").cardinality > 50
    assert len(list(reports)) == 39


def test_a_table_without_rows_has_no_report() -> None:
    assert list(scan(table().slice(0, 0))) == []


def test_a_second_scan_continues_with_the_detector_of_the_first() -> None:
    detector = srlg.Detector(threshold=512, window=10, device="cpu", inside="10.0.0.0/8")
    data = table()
    reports = list(scan(data.slice(0, 30_000), detector=detector))
    reports += list(scan(data.slice(30_000), detector=detector))
    assert reports == list(scan(data))
    with pytest.raises(srlg.Error):
        next(scan(data, detector=detector))


def test_a_scan_waits_while_its_detector_is_busy() -> None:
    detector = srlg.Detector(threshold=512, window=10, device="cpu", inside="10.0.0.0/8")
    reports = scan(table(200_000, 2000), detector=detector)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            detector.delta(2)

    thread = threading.Thread(target=change)
    thread.start()
    found = list(reports)
    stop.set()
    thread.join()
    assert found == list(scan(table(200_000, 2000)))


def test_the_detector_is_made_if_none_is_given() -> None:
    reports = srlg.scan(table(), time="t", source="src", destination="dst")
    assert (reports.detector.threshold, reports.detector.window) == (1024, 300)
    assert iter(reports) is reports


def replaced(name: str, array: Any) -> pyarrow.Table:
    data = table(1000)
    return data.set_column(data.column_names.index(name), name, array)


@pytest.mark.parametrize(
    ("name", "array", "error"),
    [
        ("t", pyarrow.array([1] * 1000), TypeError),
        ("t", pyarrow.array(["2026-01-01"] * 1000), TypeError),
        ("t", pyarrow.array([1] * 999 + [None], pyarrow.timestamp("s")), ValueError),
        ("t", pyarrow.array([-1] * 1000, pyarrow.timestamp("s")), ValueError),
        ("t", pyarrow.array([1 << 62] * 1000, pyarrow.timestamp("s")), ValueError),
        ("src", pyarrow.array([-1] * 1000), ValueError),
        ("src", pyarrow.array([1 << 32] * 1000), ValueError),
        ("src", pyarrow.array([1] * 1000, pyarrow.uint16()), TypeError),
        ("src", pyarrow.array([1.0] * 1000), TypeError),
        ("src", pyarrow.array([None] * 1000, pyarrow.uint32()), ValueError),
        ("src", pyarrow.nulls(1000), TypeError),
        ("src", pyarrow.array(["10.0.0.1"] * 999 + ["?"]), ValueError),
        ("src", pyarrow.array(["10.0.0.1"] * 999 + ["?"]).dictionary_encode(), ValueError),
        ("src", pyarrow.array(["10.0.0.1"] * 999 + [None]).dictionary_encode(), ValueError),
        ("src", pyarrow.DictionaryArray.from_arrays([0] * 1000, [None]), TypeError),
        (
            "src",
            pyarrow.DictionaryArray.from_arrays([0] * 1000, pyarrow.array([None], "string")),
            ValueError,
        ),
        # The text is not UTF-8. Other libraries do not check text from files.
        ("src", pyarrow.array([b"10.0.0.1\xc0"] * 1000).view(pyarrow.string()), ValueError),
        (
            "src",
            pyarrow.array([b"\xff"] * 1000).cast("large_binary").view("large_string"),
            ValueError,
        ),
        (
            "src",
            pyarrow.array([b"\xc0" * 20] * 1000, "binary_view").view("string_view"),
            ValueError,
        ),
        ("dst", pyarrow.array([b"12345"] * 1000), ValueError),
        ("dst", pyarrow.array([b"1234567"] * 1000, pyarrow.binary(7)), ValueError),
    ],
)
def test_other_columns_are_rejected(name: str, array: Any, error: type[Exception]) -> None:
    reports = scan(replaced(name, array))
    with pytest.raises(error) as caught:
        next(reports)
    assert name in str(caught.value)
    assert list(reports) == []


def test_rows_that_are_null_as_a_whole_are_rejected() -> None:
    data = table(6000)
    mask = numpy.zeros(6000, dtype=bool)
    mask[5001] = True
    columns = [column.combine_chunks() for column in data.columns]
    for array in (
        pyarrow.StructArray.from_arrays(columns, names=data.column_names, mask=pyarrow.array(mask)),
        polars.DataFrame(data).to_struct().set(polars.Series(mask), None),
    ):
        if isinstance(array, pyarrow.Array):
            array = pyarrow.chunked_array([array[:1000], array[1000:]])
        with pytest.raises(ValueError, match="row 5001"):
            list(scan(array))
    whole = pyarrow.chunked_array([pyarrow.StructArray.from_arrays(columns, data.column_names)])
    assert list(scan(whole)) == list(scan(data))


def test_a_detector_that_others_moved_ends_the_scan() -> None:
    for slices in (1, 2):
        detector = srlg.Detector(threshold=512, window=10, device="cpu")
        reports = scan(table(), detector=detector)
        first = next(reports)
        detector.skip_to(first.slice + 1 + slices)
        with pytest.raises(srlg.Error):
            next(reports)
        assert list(reports) == []
        assert detector.slice == first.slice + 1 + slices


def test_the_row_of_an_error_is_that_of_the_table() -> None:
    texts = ["10.0.0.1"] * 60_000
    texts[50_123] = "?"
    data = table().set_column(1, "src", pyarrow.array(texts))
    with pytest.raises(ValueError, match="50123"):
        list(scan(data))


@pytest.mark.parametrize(
    ("data", "options", "error"),
    [
        (7, {}, TypeError),
        ([1], {}, TypeError),
        (table().rename_columns(["t", "a", "b"]), {}, ValueError),
        (table(), {"inside": ["10.0.0.0/33"]}, ValueError),
        (table(), {"inside": []}, ValueError),
        (table(), {"inside": 7}, TypeError),
        (table(), {"inside": [7]}, ValueError),
        (table(), {"role": "sink"}, ValueError),
        (table(), {"measure": "outside", "inside": None}, ValueError),
        (table(), {"host_prefix4": 33}, ValueError),
        (table(), {"peers": "port"}, TypeError),
        (table(), {"peer": "port"}, ValueError),
        (table(), {"only": "tcp-syn"}, ValueError),
        ("flows.parquet", {}, TypeError),
        (table(), {"detector": 7}, TypeError),
        (pyarrow.chunked_array([[1, 2]]), {}, ValueError),
    ],
)
def test_other_arguments_are_rejected(
    data: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        list(scan(data, **options))


def test_an_error_of_the_producer_ends_the_scan() -> None:
    def produce() -> Any:
        yield from table().to_batches()
        raise RuntimeError("the disk is gone")

    reader = pyarrow.RecordBatchReader.from_batches(table().schema, produce())
    reports = scan(reader)
    with pytest.raises(srlg.InputError, match="the disk is gone"):
        list(reports)


def test_a_stream_is_taken_once() -> None:
    class Once:
        capsule = table().__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return self.capsule

    assert len(list(scan(Once()))) == 6
    with pytest.raises(ValueError):
        scan(Once())


def test_a_stream_without_a_callback_is_rejected() -> None:
    names = ("get_schema", "get_next", "get_last_error", "release", "private_data")

    class Stream(ctypes.Structure):
        _fields_ = [(name, ctypes.c_void_p) for name in names]

    class Incomplete:
        capsule = table().__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return self.capsule

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    Stream.from_address(pointer(Incomplete.capsule, b"arrow_array_stream")).get_next = None
    with pytest.raises(ValueError):
        scan(Incomplete())


def test_a_capsule_of_another_kind_is_rejected() -> None:
    class Schema:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return table().schema.__arrow_c_schema__()

    class Nothing:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return None

    for data in (Schema(), Nothing()):
        with pytest.raises((ValueError, TypeError)):
            scan(data)


def test_progress_is_shown_if_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    list(scan(table(), progress=True))
    assert "60.0k/60.0k" in capsys.readouterr().err
    list(scan(table()))
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    list(scan(table()))
    assert "60.0k/60.0k" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    list(scan(table()))
    with pytest.raises(ImportError):
        scan(table(), progress=True)


def test_pandas_frames_have_times_of_their_own() -> None:
    frame = pandas.DataFrame(
        {
            "t": pandas.date_range("2026-01-01", periods=4000, freq="1ms"),
            "src": ["10.0.0.1"] * 4000,
            "dst": [address(0xC0000000 + row) for row in range(4000)],
        }
    )
    reports = list(scan(frame))
    assert [report.start for report in reports] == [
        START + datetime.timedelta(seconds=second) for second in range(4)
    ]
