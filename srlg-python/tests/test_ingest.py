"""Tests of accepted and rejected pairs."""

import ipaddress
import resource
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
from pairs import HOST, Words, address, assert_close, exact, octets, one_host, pairs

import srlg


def closed(inside: Any, peer: Any) -> srlg.Report:
    detector = srlg.Detector(threshold=512, device="cpu")
    detector.ingest(inside, peer)
    return detector.close_slice()


def test_reports_match_exact_sets() -> None:
    inside, peer = pairs(range(200_000))
    report = closed(inside, peer)
    assert_close(report.super_points, exact(inside, peer), 512)
    assert len(report.super_points) > 40


def test_every_form_of_the_same_pairs_gives_the_same_report() -> None:
    inside, peer = one_host(2000)
    expected = closed(inside, peer)
    texts = [[address(int(word)) for word in column] for column in (inside, peer)]
    objects = [[ipaddress.ip_address(text) for text in column] for column in texts]
    mapped = [octets("00000000000000000000ffff", column) for column in (inside, peer)]
    assert closed(*texts) == expected
    assert closed(*objects) == expected
    assert closed(tuple(texts[0]), iter(texts[1])) == expected
    assert closed(inside, texts[1]) == expected
    assert closed(inside.data, peer) == expected
    assert closed(*mapped) == expected
    assert closed(mapped[0], peer).super_points[0].host == "10.0.0.1"


def test_ipv6_hosts_and_mixed_families() -> None:
    inside, peer = one_host(2000)
    v6 = octets("20010db80000000000000000", inside)
    for peers in (octets("20010db80000000000000001", peer), peer):
        point = closed(v6, peers).super_points[0]
        assert point.host == "2001:db8::a00:1"
        assert point.lower(5) <= 2000 <= point.upper(5)
        assert point.peers == []
    texts = [str(ipaddress.IPv6Address(bytes(row))) for row in v6]
    assert closed(texts, peer) == closed(v6, peer)


def test_strides_do_not_matter() -> None:
    inside, peer = pairs(range(100_000))
    expected = closed(inside, peer)
    rows = numpy.stack([inside, peer], axis=1)
    assert not rows[:, 0].flags.c_contiguous
    assert closed(rows[:, 0], rows[:, 1]) == expected
    assert closed(inside[::-1], peer[::-1]) == expected
    columns = numpy.asfortranarray(octets("20010db80000000000000000", inside))
    assert closed(columns, peer) == closed(numpy.ascontiguousarray(columns), peer)


def test_read_only_arrays_are_ingested() -> None:
    inside, peer = one_host(2000)
    expected = closed(inside, peer)
    inside.flags.writeable = False
    assert closed(inside, peer) == expected
    assert closed(numpy.frombuffer(inside.tobytes(), dtype=numpy.uint32), peer) == expected


def test_nothing_is_ingested_of_empty_columns() -> None:
    empty = numpy.empty(0, dtype=numpy.uint32)
    for inside, peer in (
        (empty, empty),
        ([], []),
        (numpy.empty((0, 16), dtype=numpy.uint8), []),
    ):
        report = closed(inside, peer)
        assert (report.super_points, report.candidates) == ([], 0)


def test_huge_arrays_take_no_more_memory_than_a_block() -> None:
    # With a stride of 0, four bytes give many rows. As pairs, the rows would take 512 MB.
    many = numpy.lib.stride_tricks.as_strided(
        numpy.array([HOST], dtype=numpy.uint32), shape=(1 << 26,), strides=(0,)
    )
    detector = srlg.Detector(device="cpu")
    detector.ingest(many[:100_000], many[:100_000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    detector.ingest(many, many)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64_000  # in KiB
    assert detector.close_slice().super_points == []


@pytest.mark.parametrize(
    "column",
    [
        numpy.array([1], dtype=numpy.uint16),
        numpy.array([1.0]),
        numpy.ma.array([1, 2], mask=[True, False], dtype=numpy.uint32),
        numpy.array([True]),
        numpy.array([[1]], dtype=numpy.uint32),
        numpy.array(1, dtype=numpy.uint32),
        numpy.zeros((1, 4), dtype=numpy.uint8),
        numpy.zeros((1, 17), dtype=numpy.uint8),
        numpy.zeros((1, 16), dtype=numpy.int8),
        numpy.zeros(16, dtype=numpy.uint8),
        b"0123",
        "10.0.0.1",
        7,
        None,
        [True],
        [7.0],
        [None],
        [b"1234"],
        [["10.0.0.1"]],
        [ipaddress.ip_network("10.0.0.0/8")],
    ],
)
def test_other_types_are_rejected(column: Any) -> None:
    detector = srlg.Detector(device="cpu")
    for arguments in ((column, ["10.0.0.1"]), (["10.0.0.1"], column)):
        with pytest.raises(TypeError):
            detector.ingest(*arguments)


@pytest.mark.parametrize(
    "text", ["", "10.0.0", "10.0.0.256", "::g", "10.0.0.1/31", "host", "fe80::1%eth0"]
)
def test_other_texts_are_rejected(text: str) -> None:
    detector = srlg.Detector(device="cpu")
    calls: list[Callable[[], object]] = [
        lambda: detector.ingest([text], ["10.0.0.1"]),
        lambda: detector.cardinality(text),
        lambda: detector.sample_peers(text),
    ]
    for call in calls:
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("form", ["<u4", ">u4", "<i4", ">i4", "<i8", ">i8", "<u8", ">u8"])
def test_integers_of_every_form_are_the_same_addresses(form: str) -> None:
    inside, peer = one_host(2000)
    if "i4" in form:
        peer -= 0x80000000
    expected = closed(inside, peer)
    columns = [column.astype(form) for column in (inside, peer)]
    assert closed(*columns) == expected
    assert closed(*(numpy.stack([column] * 2, axis=1)[:, 1] for column in columns)) == expected
    if form[0] == "<":
        for library in (pyarrow.array, polars.Series, pandas.Series):
            assert closed(*map(library, columns)) == expected


@pytest.mark.parametrize("number", [-1, 1 << 32])
def test_integers_that_are_no_addresses_are_rejected(number: int) -> None:
    detector = srlg.Detector(device="cpu")
    good = [1] * 70_000
    column = [*good[1:], number]
    for form in (numpy.array(column), pyarrow.array(column), column):
        with pytest.raises(ValueError, match=f"69999.*{number}"):
            detector.ingest(form, good)
    with pytest.raises(ValueError, match="host"):
        detector.cardinality(number)


def test_columns_of_every_library_and_form_give_the_same_report() -> None:
    inside, peer = one_host(2000)
    expected = closed(inside, peer)
    texts = [[address(int(word)) for word in column] for column in (inside, peer)]
    objects = [[ipaddress.ip_address(text) for text in column] for column in texts]
    chunked = [pyarrow.chunked_array([column[:7], column[7:]]) for column in texts]
    forms: list[tuple[Callable[[Any], Any], list[Any]]] = [
        (pyarrow.array, texts),
        (lambda column: column.dictionary_encode(), chunked),
        (polars.Series, texts),
        (lambda column: polars.Series(column, dtype=polars.Categorical), texts),
        (pandas.Series, texts),
        (lambda column: pandas.Series(column, dtype="category"), texts),
        (lambda column: pandas.Series(column, dtype=object), texts),
        (pandas.Series, objects),
        (lambda column: numpy.array(column, dtype=object), objects),
        (numpy.array, texts),
        (lambda column: [int(address) for address in column], objects),
    ]
    for number, (form, columns) in enumerate(forms):
        assert closed(*map(form, columns)) == expected, number
    assert closed(*chunked) == expected
    # polars exports objects as pointers.
    with pytest.raises(ValueError):
        closed(polars.Series(objects[0], dtype=polars.Object), peer)


def test_addresses_with_a_zone_are_rejected() -> None:
    zoned = ipaddress.ip_address("fe80::1%eth0")
    detector = srlg.Detector(device="cpu")
    with pytest.raises(ValueError):
        detector.ingest([zoned], ["10.0.0.1"])
    with pytest.raises(ValueError):
        detector.cardinality(zoned)


def test_columns_have_one_length() -> None:
    inside, peer = one_host(3)
    with pytest.raises(ValueError):
        srlg.Detector(device="cpu").ingest(inside, peer[:2])


def test_an_array_may_be_written_while_it_is_ingested() -> None:
    inside, peer = one_host(1_000_000)
    stop = threading.Event()

    def write(column: Words) -> None:
        while not stop.is_set():
            column[:] = column[0]

    thread = threading.Thread(target=write, args=(inside,))
    thread.start()
    try:
        report = closed(inside, peer)
    finally:
        stop.set()
        thread.join()
    assert [point.host for point in report.super_points] == ["10.0.0.1"]
