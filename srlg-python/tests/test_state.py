"""Tests of snapshots, deltas and pickles."""

import copy
import pickle

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
