"""Tests of snapshots, deltas and pickles."""

import copy
import pickle
import struct
import zlib

import numpy
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
    for one in (first, centre, direct):
        one.skip_to(2)
    first.ingest(*one_host(2000))
    first.skip_to(3)
    first.ingest(*one_host(1000))
    pairs = first.pairs()
    assert pairs is not None and len(pairs) == 2 and first.memory_bytes < 100_000
    for one in (centre, direct):
        one.skip_to(3)
        for state in reversed(pairs):
            one.merge(state)
    assert centre.close_slice() == first.close_slice()
    assert [point.host for point in direct.close_slice().super_points] == ["10.0.0.1"]
    assert first.pairs() is None
    assert centre.snapshot() == first.snapshot()
    large = detector()
    numbers = numpy.arange(100_001, dtype=numpy.uint32)
    large.ingest(numbers[:-1], numbers[:-1])
    assert large.pairs() is not None
    large.ingest(numbers, numbers)
    assert large.pairs() is None


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
