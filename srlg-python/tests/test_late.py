"""Tests of scans of tables with late rows."""

import datetime
import gc
import itertools
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import numpy.typing
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import assert_close, exact, one_host, pairs

import srlg

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
START_S = int(START.timestamp())
WINDOW = 10
YEAR_S = 365 * 86_400

Seconds = numpy.typing.NDArray[numpy.int64]


def in_order(rows: int, per_second: int = 100) -> Seconds:
    """Returns the seconds of rows that are sorted by time."""
    return numpy.arange(rows, dtype=numpy.int64) // per_second


def shuffled(rows: int) -> Seconds:
    return numpy.random.default_rng(7).permutation(in_order(rows))


def ending_late(rows: int, late: int, by: int = WINDOW) -> Seconds:
    """Returns the seconds of sorted rows of which the last ones are late by this number of slices."""
    seconds = in_order(rows)
    seconds[rows - late :] = seconds[-1] - by
    return seconds


def scan(seconds: Seconds, **options: Any) -> srlg.Scan:
    inside, peer = one_host(len(seconds))
    times = pyarrow.array(START_S + seconds, pyarrow.timestamp("s"))
    data = pyarrow.table({"t": times, "src": inside, "dst": peer})
    detector = srlg.Detector(threshold=64, window=WINDOW, device="cpu", inside="10.0.0.0/8")
    options.setdefault("detector", detector)
    return scan_table(data, **options)


def scan_table(data: pyarrow.Table, **options: Any) -> srlg.Scan:
    return srlg.scan(
        data, time="t", source="src", destination="dst", **options
    )


def too_late(seconds: Seconds) -> int:
    """Counts the rows that are at least a window older than a row before them."""
    return int((seconds <= numpy.maximum.accumulate(seconds) - WINDOW).sum())


def late(seconds: Seconds) -> int:
    """Counts the rows that are older than a row before them, after the first report."""
    newest = numpy.maximum.accumulate(seconds)
    return int(((seconds < newest) & ((newest > seconds[0]) | (seconds <= newest - WINDOW))).sum())


def counts(text: object) -> tuple[int, int]:
    """Returns the number of late rows and of all rows in a message."""
    found = re.search(r"(\d+) of (\d+) rows", str(text))
    assert found, text
    return int(found[1]), int(found[2])


@pytest.fixture(autouse=True)
def unexpected_warnings_fail() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_rows_in_random_order_raise_after_the_reports_before_the_last_one() -> None:
    seconds = shuffled(10_000)
    reports, found = scan(seconds), []
    with pytest.raises(srlg.LateRowsError) as caught:
        for report in reports:
            found.append(report)
    assert counts(caught.value) == (late(seconds), 10_000)
    assert reports.too_late == too_late(seconds) > 5000
    assert reports.late == late(seconds) - too_late(seconds)
    with pytest.warns(srlg.LateRowsWarning):
        *others, last = scan(seconds, late="drop")
    assert found == others
    assert found
    assert (found[0].slice, last.slice) == (START_S + int(seconds[0]), START_S + 99)
    assert list(reports) == []


def test_a_million_shuffled_rows_raise_and_sorted_ones_are_all_counted() -> None:
    inside, peer = pairs(range(1_000_000))
    seconds = numpy.random.default_rng(7).permutation(in_order(1_000_000) // 100)
    times = pyarrow.array(START_S + seconds, pyarrow.timestamp("s"))
    data = pyarrow.table({"t": times, "src": inside, "dst": peer})
    detectors = [srlg.Detector(threshold=512, window=100, device="cpu", inside="10.0.0.0/8") for _ in range(2)]
    reports = scan_table(data, detector=srlg.Detector(threshold=512, window=10, device="cpu", inside="10.0.0.0/8"))
    with pytest.raises(srlg.LateRowsError):
        list(reports)
    assert reports.too_late > 800_000
    # The sorted rows are counted like those of a window that is long enough for the shuffled ones.
    *_, last = scan_table(data.sort_by("t"), detector=detectors[0])
    with pytest.warns(srlg.LateRowsWarning):
        *_, expected = scan_table(data, detector=detectors[1], late="drop")
    assert last.slice == expected.slice
    assert_close(last.super_points, exact(inside, peer), 512)
    assert detectors[0].snapshot() == detectors[1].snapshot()


def test_sorted_rows_cause_no_warning() -> None:
    reports = scan(numpy.sort(shuffled(10_000)))
    assert len(list(reports)) == 100
    assert (reports.late, reports.too_late) == (0, 0)


def test_one_per_cent_of_late_rows_causes_a_warning_and_one_row_more_an_exception() -> None:
    with pytest.warns(srlg.LateRowsWarning) as caught:
        reports = list(scan(ending_late(5000, 50)))
    assert [counts(warning.message) for warning in caught] == [(50, 5000)]
    assert len(reports) == 50
    with pytest.raises(srlg.LateRowsError) as raised:
        list(scan(ending_late(5000, 51)))
    assert counts(raised.value) == (51, 5000)


def test_rows_that_are_late_by_less_than_the_window_count_as_late() -> None:
    reports = scan(ending_late(5000, 50, by=1))
    with pytest.warns(srlg.LateRowsWarning) as caught:
        assert len(list(reports)) == 50
    assert [counts(warning.message) for warning in caught] == [(50, 5000)]
    assert (reports.late, reports.too_late) == (50, 0)
    with pytest.raises(srlg.LateRowsError):
        list(scan(ending_late(5000, 51, by=1)))


def test_five_minutes_in_random_order_raise_with_the_default_window() -> None:
    seconds = numpy.random.default_rng(3).permutation(in_order(30_000))
    inside, peer = one_host(len(seconds))
    times = pyarrow.array(START_S + seconds, pyarrow.timestamp("s"))
    data = pyarrow.table({"t": times, "src": inside, "dst": peer})
    reports = scan_table(data, detector=srlg.Detector(threshold=64, device="cpu"))
    with pytest.raises(srlg.LateRowsError):
        list(reports)
    assert reports.late > 20_000
    assert reports.too_late == 0


@pytest.mark.parametrize("grace", ["7s", datetime.timedelta(seconds=7)])
def test_rows_within_the_grace_are_in_all_reports(grace: Any) -> None:
    rows = 20_000
    seconds = in_order(rows)
    # Each row comes up to seven seconds after its time, but the first rows come in order.
    delays = numpy.random.default_rng(5).integers(0, 8, rows)
    delays[:100] = 0
    order = numpy.argsort(seconds + delays, kind="stable")
    with pytest.raises(srlg.LateRowsError, match="set grace to 6s"):
        list(scan(seconds[order]))
    reports = scan(seconds[order], grace=grace)
    counted = [(report.slice, len(report)) for report in reports]
    assert counted == [(report.slice, len(report)) for report in scan(seconds)]
    assert (reports.late, reports.too_late) == (0, 0)


@given(
    gaps=st.lists(st.integers(0, 40_000), min_size=1, max_size=60),
    delays=st.lists(st.integers(0, 5_000), min_size=60, max_size=60),
)
def test_with_grace_the_reports_are_those_of_the_sorted_rows(
    gaps: list[int], delays: list[int]
) -> None:
    """The rows come up to 5 s after their times, with any gaps, and the first row need not be the oldest."""
    times_ms = numpy.repeat(numpy.cumsum(gaps), 70)
    inside, peer = one_host(len(times_ms))
    order = numpy.argsort(times_ms + numpy.resize(delays, len(times_ms)), kind="stable")
    found = []
    for rows, grace in ((slice(None), None), (order, "5s")):
        times = pyarrow.array(START_S * 1000 + times_ms[rows], pyarrow.timestamp("ms"))
        data = pyarrow.table({"t": times, "src": inside[rows], "dst": peer[rows]})
        detector = srlg.Detector(threshold=64, window=WINDOW, device="cpu", memory=10**6, pairs=10**4)
        reports = scan_table(data, detector=detector, grace=grace)
        found.append(list(reports))
        assert (reports.late, reports.too_late) == (0, 0)
    assert found[0] == found[1]


@pytest.mark.parametrize("row", [0, 5_000])
def test_with_grace_a_row_far_ahead_makes_no_others_late(row: int) -> None:
    seconds = in_order(10_000)
    seconds[row] = YEAR_S
    reports = scan(seconds, grace="5s")
    slices = [report.slice - START_S for report in reports if len(report)]
    assert slices == list(range(100 + WINDOW - 1))
    assert (reports.late, reports.too_late) == (0, 0)


def test_the_warning_names_the_place_of_the_caller() -> None:
    with pytest.warns(srlg.LateRowsWarning) as caught:
        for _ in scan(ending_late(5000, 50)):
            pass
    assert [warning.filename for warning in caught] == [__file__]


def test_the_last_report_comes_after_the_warning_or_not_at_all() -> None:
    reports = scan(ending_late(5000, 50))
    assert len(list(itertools.islice(reports, 49))) == 49
    with pytest.warns(srlg.LateRowsWarning):
        last = next(reports)
    assert last.slice == START_S + 49
    assert list(reports) == []
    reports = scan(ending_late(5000, 51))
    assert len(list(itertools.islice(reports, 49))) == 49
    with pytest.raises(srlg.LateRowsError):
        next(reports)
    assert list(reports) == []


def test_the_option_drop_replaces_the_exception_by_the_warning() -> None:
    seconds = shuffled(10_000)
    reports = scan(seconds, late="drop")
    with pytest.warns(srlg.LateRowsWarning) as caught:
        slices = [report.slice for report in reports]
    assert [counts(warning.message) for warning in caught] == [(late(seconds), 10_000)]
    assert reports.too_late == too_late(seconds)
    assert (slices[0], slices[-1]) == (START_S + int(seconds[0]), START_S + 99)


def test_the_warning_can_be_silenced_or_turned_into_an_exception() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", srlg.LateRowsWarning)
        assert len(list(scan(ending_late(5000, 50)))) == 50
    reports = scan(ending_late(5000, 1))
    with pytest.raises(srlg.LateRowsWarning):
        list(reports)
    assert list(reports) == []


@pytest.mark.parametrize("late", ["", "ignore", "Raise", "drop "])
def test_other_values_of_late_are_rejected(late: str) -> None:
    with pytest.raises(ValueError, match="late"):
        scan(in_order(10), late=late)


def is_first_row_named(seconds: Seconds) -> str | None:
    """Scans rows, and returns the message about the late rows if it names the first row."""
    with pytest.raises(srlg.LateRowsError) as caught:
        list(scan(seconds))
    text = str(caught.value)
    if "the first row" not in text:
        assert counts(text) == (late(seconds), len(seconds))
        return None
    assert counts(text) == (too_late(seconds), len(seconds))
    return text


@pytest.mark.parametrize("ahead", [1, 3])
def test_a_first_row_a_year_ahead_is_named_with_its_time_and_distance(ahead: int) -> None:
    seconds = in_order(10_000)
    seconds[:ahead] = YEAR_S
    text = is_first_row_named(seconds)
    assert text
    assert "2027-01-01 00:00:00 UTC" in text
    # The rows after the first ones are from 0 to 99 seconds after the start.
    assert "364d 23h 58m 21s to 365d ahead" in text


def test_a_first_row_of_a_time_that_arrow_cannot_state_in_nanoseconds_is_named() -> None:
    seconds = in_order(1000)
    seconds[0] = 400 * YEAR_S
    text = is_first_row_named(seconds)
    assert text and f"{START + datetime.timedelta(days=365 * 400):%F %T} UTC" in text


def test_the_first_row_is_named_if_nine_tenths_are_late_and_older_by_a_window() -> None:
    # The first row is a window ahead of the rows of second 0 and less than a window ahead of those of second 1.
    for on_time, is_named in ((100, True), (101, False)):
        seconds = numpy.zeros(1000, dtype=numpy.int64)
        seconds[0] = WINDOW
        seconds[1:on_time] = 1
        assert (is_first_row_named(seconds) is not None) == is_named
    # Time moves on, and one row is late only because of that.
    seconds = numpy.zeros(1000, dtype=numpy.int64)
    seconds[0] = WINDOW
    seconds[998:] = (WINDOW + 1, 1)
    assert is_first_row_named(seconds) is None


def test_without_a_first_row_ahead_the_greatest_lateness_is_stated() -> None:
    seconds = ending_late(5000, 60, by=40)
    seconds[-1] -= 3
    with pytest.raises(srlg.LateRowsError) as caught:
        list(scan(seconds))
    assert "43s late, after a row of 2026-01-01 00:00:49 UTC" in str(caught.value)
    assert "set grace to 43s" in str(caught.value)
    reports = scan(seconds, grace="43s")
    assert len(list(reports)) == 50
    assert (reports.late, reports.too_late) == (0, 0)


def test_a_discarded_scan_warns_of_dropped_rows() -> None:
    # A row of second 30 is in the middle of rows that start with second 0, so the first report has late rows behind it.
    seconds = in_order(20_000)
    seconds[50] = 30
    with pytest.warns(srlg.LateRowsWarning) as caught:
        for report in scan(seconds):
            if report.slice == START_S + 31:
                break
        gc.collect()
    ((found, rows),) = [counts(warning.message) for warning in caught]
    assert found == late(seconds)
    assert 3000 < rows < 20_000
    with pytest.warns(srlg.LateRowsWarning):
        reports = scan(seconds, late="drop")
        assert len(list(itertools.islice(reports, 32))) == 32
        del reports


def test_a_discarded_scan_does_not_warn_without_dropped_rows_or_after_an_exception() -> None:
    reports = scan(in_order(10_000))
    next(reports)
    del reports
    # After an exception, the caller knows that the scan has failed.
    reports = scan(shuffled(10_000))
    with pytest.raises(srlg.LateRowsError):
        list(reports)
    del reports


def test_the_warning_of_a_discarded_scan_keeps_an_exception() -> None:
    def fail() -> None:
        for _ in itertools.islice(scan(seconds), 31, None):
            raise KeyError("of the caller")

    seconds = in_order(20_000)
    seconds[50] = 30
    with pytest.warns(srlg.LateRowsWarning), pytest.raises(KeyError, match="of the caller"):
        fail()


def test_a_scan_that_python_discards_at_its_exit_warns_of_dropped_rows() -> None:
    program = """
import numpy, pyarrow, srlg
times = pyarrow.array([0, 10**6] + [1] * 500 + [10**6 + 1], pyarrow.timestamp("s"))
hosts = numpy.arange(503, dtype=numpy.uint32)
data = pyarrow.table({"t": times, "src": hosts, "dst": hosts})
scan = srlg.scan(data, time="t", source="src", destination="dst", late="drop")
while next(scan).slice < 10**6:
    pass
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "LateRowsWarning" in run.stderr
    assert counts(run.stderr)[0] == 500
