"""Tests of snapshots, deltas and pickles."""

import copy
import pickle
import struct
import zlib
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
from pairs import one_host, pairs

import srlg


def detector(seed: int | None = None, threshold: int = 512) -> srlg.Detector:
    return srlg.Detector(threshold=threshold, window=10, seed=seed, device="cpu")


def test_a_restored_detector_reports_the_same() -> None:
    first, second = detector(), detector()
    first.ingest(*pairs(range(100_000)))
    first.close_slice()
    second.restore(first.snapshot())
    assert second.slice == 1
    assert first.close_slice() == second.close_slice()


@pytest.mark.parametrize("seed", [None, 7])
def test_a_pickle_keeps_sizes_seed_and_state(seed: int | None) -> None:
    first = detector(seed)
    first.ingest(*pairs(range(100_000)))
    first.close_slice()
    for second in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert (second.slice, second.threshold, second.window) == (1, 512, 10)
        more = pairs(range(100_000, 200_000))
        third = detector(seed)
        third.restore(first.snapshot())
        second.ingest(*more)
        third.ingest(*more)
        assert second.close_slice() == third.close_slice()


def test_merged_sites_report_as_one() -> None:
    sites, whole = [detector(), detector()], detector()
    centre = detector()
    for site, numbers in zip(sites, (range(60_000), range(40_000, 100_000)), strict=True):
        site.ingest(*pairs(numbers))
        whole.ingest(*pairs(numbers))
    messages = [sites[0].delta(), sites[1].delta(), sites[1].snapshot()]
    for message in messages + messages[::-1]:
        centre.merge(message)
    assert centre.close_slice() == whole.close_slice()


def test_a_delta_has_the_last_slices() -> None:
    site, centre = detector(), detector()
    site.ingest(*one_host(1000))
    site.close_slice()
    centre.skip_to(1)
    centre.merge(site.delta())
    assert centre.close_slice().super_points == []
    centre = detector()
    centre.skip_to(1)
    centre.merge(site.delta(2))
    assert [point.host for point in centre.close_slice().super_points] == ["10.0.0.1"]
    for slices in (0, 11):
        with pytest.raises(srlg.ConfigError):
            site.delta(slices)


def list_of_pairs(slice_number: int, peers: int, claimed: int | None = None) -> bytes:
    """Returns the pairs of 10.0.0.1 with `peers` peers from 198.18.0.0 on, as docs/format.md describes them.

    They claim to be `claimed` pairs. The frame of zstd is not compressed.
    """
    body = struct.pack("<II", 1, peers if claimed is None else claimed)
    body += bytes([peers & 127 | 128, peers >> 7]) + struct.pack("<I", 0x0A000001)
    planes = (bytes([byte]) + bytes(peers - 1) for byte in struct.pack("<I", 0xC6120000))
    body += b"".join(planes) + bytes(8)  # no pairs with IPv6 addresses
    frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(body))
    frame += struct.pack("<I", len(body) << 3 | 1)[:3] + body
    numbers = (0, 0, slice_number, 1, len(body), len(frame), 0)
    header = struct.pack("<4sHH7Q", b"SRLG", 3, 3, *numbers)
    return header + frame + struct.pack("<I", zlib.crc32(header + frame))


def test_pairs_are_merged_whatever_the_seed() -> None:
    for seed in (None, 7):
        by_pairs, direct = detector(seed), detector(seed)
        for one in (by_pairs, direct):
            one.skip_to(3)
        by_pairs.merge(list_of_pairs(3, 1000))
        by_pairs.merge(list_of_pairs(3, 1000))
        hosts = numpy.full(1000, 0x0A000001, dtype=numpy.uint32)
        direct.ingest(hosts, numpy.arange(0xC6120000, 0xC6120000 + 1000, dtype=numpy.uint32))
        report = by_pairs.close_slice()
        assert [point.host for point in report.super_points] == ["10.0.0.1"]
        assert report == direct.close_slice()


def test_a_detector_lists_its_pairs_until_it_has_more_than_100_000() -> None:
    first, centre, direct = detector(), detector(), detector(7)
    first.skip_to(2)
    centre.skip_to(3)
    first.ingest(*one_host(2000))
    first.skip_to(3)
    first.ingest(*one_host(1000))
    assert first.memory_bytes < 100_000
    copied = [pickle.loads(pickle.dumps(first)), copy.copy(first), copy.deepcopy(first)]
    for one in copied:
        assert one.slice == 3 and one.memory_bytes < 100_000
    centre.merge(copied)
    direct.merge(first, advance=True)
    assert all(one.memory_bytes < 100_000 for one in (first, centre, direct))
    assert direct.slice == 3
    assert centre.close_slice() == first.close_slice()
    assert [point.host for point in direct.close_slice()] == ["10.0.0.1"]
    assert centre.snapshot() == first.snapshot()
    large = detector()
    numbers = numpy.arange(100_001, dtype=numpy.uint32)
    large.ingest(numbers[:-1], numbers[:-1])
    assert srlg.State(large.delta()).kind == "pairs"
    large.ingest(numbers, numbers)
    assert srlg.State(large.delta()).kind == "delta"


def test_pairs_that_are_too_many_too_old_or_damaged_are_rejected() -> None:
    first = detector()
    first.skip_to(20)
    good = list_of_pairs(20, 1000)
    for state in (
        good[:-1],
        good[:100] + b"\1" + good[101:],
        list_of_pairs(21, 1000),
        list_of_pairs(10, 1000),
        list_of_pairs(20, 1000, claimed=1001),
    ):
        with pytest.raises(srlg.StateError):
            first.merge(state)
    with pytest.raises(srlg.StateError, match="more than 4194304 pairs"):
        first.merge(list_of_pairs(20, 1000, claimed=(1 << 22) + 1))
    with pytest.raises(srlg.StateError):
        first.restore(good)
    assert first.close_slice().super_points == []


def test_a_seed_changes_what_is_touched() -> None:
    reports = []
    for seed in (None, 1, 2, 1):
        first = detector(seed)
        first.ingest(*one_host(1000))
        reports.append(first.close_slice().super_points[0].cardinality)
    assert reports[1] == reports[3]
    assert len(set(reports)) == 3


def test_state_of_others_is_rejected() -> None:
    first = detector()
    first.ingest(*one_host(1000))
    snapshot, delta = first.snapshot(), first.delta()
    damaged = snapshot[:-1] + bytes([snapshot[-1] ^ 1])
    for state in (b"", b"SRLG", snapshot[:-1], damaged):
        with pytest.raises(srlg.StateError):
            first.merge(state)
        with pytest.raises(srlg.StateError):
            first.restore(state)
    with pytest.raises(srlg.StateError):
        first.restore(delta)
    for other in (
        detector(seed=1),
        detector(threshold=1 << 16),
        srlg.Detector(window=5, device="cpu"),
    ):
        for state in (snapshot, delta):
            with pytest.raises(srlg.StateError):
                other.merge(state)
    first.close_slice()
    future = first.snapshot()
    with pytest.raises(srlg.StateError):
        detector().merge(future)
    first.skip_to(100)
    with pytest.raises(srlg.StateError):
        first.merge(delta)


def test_a_delta_of_one_slice_is_a_list_while_pairs_are_listed() -> None:
    one, centre, whole = detector(), detector(seed=7), detector(seed=7)
    for target in (one, centre, whole):
        target.skip_to(5)
    states = [one.delta()]
    one.ingest(*one_host(1000))
    states.append(one.delta())
    assert [srlg.State(state).kind for state in states] == ["pairs"] * 2
    assert one.memory_bytes < 100_000
    centre.merge(states)
    whole.ingest(*one_host(1000))
    assert centre.report() == whole.report()
    assert srlg.State(one.delta(2)).kind == "delta"
    assert one.memory_bytes > 1_000_000


def test_states_of_every_form_are_merged() -> None:
    one, whole = detector(), detector()
    one.ingest(*pairs(range(100_000)))
    whole.ingest(*pairs(range(100_000)))
    expected = whole.report()
    snapshot, delta = one.snapshot(), one.delta()
    forms: list[Any] = [
        one,
        copy.copy(one),
        bytearray(delta),
        memoryview(snapshot),
        numpy.frombuffer(delta, dtype=numpy.uint8),
        pyarrow.py_buffer(delta),
        pyarrow.array([delta, snapshot]),
        polars.Series([delta, snapshot]),
        pandas.Series([delta]),
        numpy.array([delta, snapshot], dtype=object),
        (state for state in (one, [delta, (snapshot,)])),
    ]
    for number, form in enumerate(forms):
        centre = detector()
        centre.merge(form)
        assert centre.report() == expected, number
    for other in ("text", ["text"], 7, [7], None, numpy.zeros(3)):
        with pytest.raises(TypeError):
            centre.merge(other)  # type: ignore[arg-type]
    centre.merge(centre)
    assert centre.close_slice() == expected


def test_a_detector_advances_to_the_slice_of_a_state_if_it_is_told_to() -> None:
    early, late = detector(), detector()
    early.ingest(*one_host(1000))
    late.skip_to(3)
    late.ingest(*one_host(2000))
    whole = detector()
    whole.ingest(*one_host(1000))
    whole.skip_to(3)
    whole.ingest(*one_host(2000))
    for states in ([early, late], [late.snapshot(), early.delta(2)]):
        centre = detector()
        with pytest.raises(srlg.StateError):
            centre.merge(states)
        centre.merge(states, advance=True)
        assert (centre.slice, centre.report()) == (3, whole.report())
        assert srlg.merge(states, threshold=512, window=10, device="cpu").report() == whole.report()


def test_the_header_of_a_state_tells_its_kind_slice_and_size() -> None:
    one = detector(seed=7)
    one.skip_to(4)
    one.ingest(*one_host(1000))
    states = [one.delta(), one.snapshot(), one.delta(3)]
    found = [srlg.State(state) for state in states]
    assert [(it.kind, it.slice, it.slices) for it in found] == [
        ("pairs", 4, 1),
        ("snapshot", 4, 0),
        ("delta", 4, 3),
    ]
    assert [it.size for it in found] == [len(state) for state in states]
    assert "delta slice=4" in repr(found[2])
    with pytest.raises(srlg.StateError):
        srlg.State(states[1][:-1])
    with pytest.raises(TypeError):
        srlg.State("text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [{}, {"seed": 7}, {"window": 600}, {"threshold": 64, "pairs": 100_000, "memory": 2_000_000}],
)
def test_a_detector_is_created_from_a_snapshot(options: Any) -> None:
    first = srlg.Detector(device="cpu", **options)
    first.ingest(*pairs(range(100_000)))
    first.close_slice()
    restored = {key: value for key, value in options.items() if key == "seed"}
    second = srlg.Detector.from_snapshot(first.snapshot(), device="cpu", **restored)
    third = pickle.loads(pickle.dumps(copy.copy(second)))
    for one in (second, third):
        sizes = (one.slice, one.threshold, one.window, one.memory_bytes, one.device)
        assert sizes == (1, first.threshold, first.window, first.memory_bytes, "cpu")
        assert one.snapshot() == first.snapshot()
        one.merge(first.delta(2))
    assert first.close_slice() == second.close_slice() == third.close_slice()
    wrongs: list[Any] = [{"threshold": 64}, {"size": 1}]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            srlg.Detector.from_snapshot(first.snapshot(), **restored, **wrong)
    with pytest.raises(srlg.StateError):
        srlg.Detector.from_snapshot(first.snapshot(), seed=8)
    with pytest.raises(srlg.StateError):
        srlg.Detector.from_snapshot(first.delta())
