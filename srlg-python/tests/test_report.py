"""Tests of reports and of queries about hosts."""

import copy
import dataclasses
import pickle
from typing import Any

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest
from pairs import one_host

import srlg

COLUMNS = [
    "slice",
    "start",
    "host",
    "cardinality",
    "std_error",
    "lower",
    "upper",
    "range",
    "peers",
]


@pytest.fixture
def detector() -> srlg.Detector:
    detector = srlg.Detector(threshold=512, window=10, device="cpu")
    for host, peers in ((1, 3000), (2, 1000), (3, 10)):
        detector.ingest(*one_host(peers, host))
    return detector


def test_a_report_has_the_largest_first(detector: srlg.Detector) -> None:
    report = detector.close_slice()
    assert (report.slice, report.start, detector.slice) == (0, None, 1)
    first, second = report.super_points
    assert (first.host, second.host) == ("0.0.0.1", "0.0.0.2")
    assert (first.range, second.range) == ("within", "within")
    assert first.lower(0) == first.cardinality == first.upper(0)
    assert first.upper() == pytest.approx(first.cardinality + 1.96 * first.std_error)
    assert 0 < len(first.peers) <= 64
    assert {peer.last_seen for peer in first.peers} == {0}
    assert all(peer.host.startswith("192.0.") for peer in first.peers)
    assert report.candidates >= 2


def test_tables_of_all_libraries_say_the_same(detector: srlg.Detector) -> None:
    report = detector.close_slice()
    dicts: list[Any] = list(report.to_dicts())
    table = report.to_arrow()
    assert table.column_names == COLUMNS
    assert table.to_pylist() == dicts
    assert pyarrow.table(report).equals(table)
    assert polars.DataFrame(report).to_dicts() == dicts
    frame = pandas.DataFrame.from_arrow(report)  # type: ignore[attr-defined]
    assert frame["host"].tolist() == ["0.0.0.1", "0.0.0.2"]
    relation = duckdb.sql("select host from report")
    assert relation is not None
    assert relation.fetchall() == [("0.0.0.1",), ("0.0.0.2",)]
    # A report may be read any number of times.
    assert report.to_arrow().equals(table)


def test_an_empty_report_is_an_empty_table() -> None:
    report = srlg.Detector(device="cpu").close_slice()
    assert report.to_dicts() == []
    assert (report.to_arrow().num_rows, report.to_arrow().column_names) == (0, COLUMNS)
    assert "<table>" in report._repr_html_()


def test_a_notebook_shows_hosts_and_no_more_than_fifty() -> None:
    detector = srlg.Detector(threshold=64, device="cpu")
    for host in range(60):
        detector.ingest(*one_host(200, host))
    html = detector.close_slice()._repr_html_()
    assert html.count("<tr><td>") == 50
    assert "and 10 more" in html


def test_hosts_can_be_asked_about(detector: srlg.Detector) -> None:
    estimate = detector.cardinality("0.0.0.1")
    assert estimate.lower(5) <= 3000 <= estimate.upper(5)
    assert estimate.range == "within"
    detector.close_slice()
    assert detector.cardinality("0.0.0.1", 1).cardinality < 100
    assert detector.cardinality("0.0.0.1", 2).cardinality == estimate.cardinality
    assert 0 < len(detector.sample_peers("0.0.0.1")) <= 64
    assert detector.sample_peers("2001:db8::1") == []
    for slices in (0, 11):
        with pytest.raises(srlg.ConfigError):
            detector.cardinality("0.0.0.1", slices)


def test_many_hosts_can_be_asked_about_at_once(detector: srlg.Detector) -> None:
    detector.close_slice()
    hosts = numpy.arange(1000, dtype=numpy.uint32)
    texts = [f"0.0.{host // 256}.{host % 256}" for host in hosts]
    for slices in (None, 1, 2):
        expected = [detector.cardinality(text, slices) for text in texts]
        for form in (hosts, texts, polars.Series(texts), hosts.astype(">i8")):
            assert detector.cardinalities(form, slices) == expected
    assert expected[1].cardinality > 2500
    assert detector.cardinalities([]) == []
    with pytest.raises(srlg.ConfigError):
        detector.cardinalities(hosts, 11)


def test_a_report_can_be_copied_and_names_what_can_be_pickled(detector: srlg.Detector) -> None:
    report = detector.close_slice()
    assert copy.copy(report) == copy.deepcopy([report])[0] == report
    with pytest.raises(TypeError, match="to_arrow"):
        pickle.dumps(report)
    assert pickle.loads(pickle.dumps(report.to_dicts())) == report.to_dicts()


def test_the_window_slides() -> None:
    detector = srlg.Detector(threshold=512, window=3, device="cpu")
    detector.ingest(*one_host(2000))
    found = [len(detector.close_slice().super_points) for _ in range(5)]
    assert found == [1, 1, 1, 0, 0]
    detector.skip_to(100)
    assert detector.slice == 100
    with pytest.raises(srlg.Error):
        detector.skip_to(99)


def test_health_describes_the_last_close(detector: srlg.Detector) -> None:
    assert detector.health.load == 0.0
    report = detector.close_slice()
    health = detector.health
    assert health.load == report.health.load > 0
    assert (health.errors_hold, health.overload) == (True, None)
    assert health.cells_in_use is not None and 0 < health.cells_in_use < 0.01
    assert 0 < health.miss_probability < 0.01
    assert health.found_from < 512


def test_sizes_follow_the_arguments() -> None:
    detector = srlg.Detector(device="cpu")
    assert (detector.threshold, detector.window, detector.device) == (1024, 300, "cpu")
    assert detector.memory_bytes < 1_000
    detector.close_slice()
    assert detector.memory_bytes == 31_639_552
    small = srlg.Detector(pairs=100_000, memory=2_000_000, device="cpu")
    small.close_slice()
    assert 1_000_000 < small.memory_bytes <= 2_000_000
    large = srlg.Detector(pairs=20_000_000, device="cpu")
    large.close_slice()
    assert 30_000_000 < large.memory_bytes <= 31_639_552
    large = srlg.Detector(threshold=100_000, device="cpu")
    assert large.threshold == 100_000


@dataclasses.dataclass
class Rejected:
    arguments: dict[str, Any]
    error: type[Exception]


@pytest.mark.parametrize(
    "rejected",
    [
        Rejected({"threshold": 7}, srlg.ConfigError),
        Rejected({"threshold": 4_000_000_000}, srlg.ConfigError),
        Rejected({"window": 0}, srlg.ConfigError),
        Rejected({"window": 65_535}, srlg.ConfigError),
        Rejected({"memory": 1_000_000}, srlg.ConfigError),
        Rejected({"memory": 1_000, "pairs": 100_000}, srlg.ConfigError),
        Rejected({"device": "gpu"}, srlg.ConfigError),
        Rejected({"threshold": -1}, OverflowError),
        Rejected({"threshold": 1 << 32}, OverflowError),
        Rejected({"seed": 1 << 64}, OverflowError),
        Rejected({"pairs": 1 << 200}, OverflowError),
        Rejected({"host_prefix4": 256}, OverflowError),
        Rejected({"threshold": "many"}, TypeError),
        Rejected({"threshold": 64.5}, TypeError),
        Rejected({"sizes": 1}, TypeError),
    ],
)
def test_other_arguments_are_rejected_by_name(rejected: Rejected) -> None:
    with pytest.raises(rejected.error, match=next(iter(rejected.arguments))):
        srlg.Detector(**{"device": "cpu", **rejected.arguments})


def test_errors_have_one_base() -> None:
    errors = [
        srlg.ConfigError,
        srlg.DeviceError,
        srlg.InputError,
        srlg.StateError,
    ]
    assert all(issubclass(error, srlg.Error) for error in errors)
    assert not issubclass(srlg.Error, ValueError)


def test_a_lack_of_pyarrow_is_an_import_error(
    detector: srlg.Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    report = detector.close_slice()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError):
        report.to_arrow()
    assert len(report.to_dicts()) == 2
    assert numpy.isfinite(report.super_points[0].cardinality)
