"""Tests of properties that hold for arbitrary pairs."""

import ipaddress
import pickle
import random
from typing import TypeAlias

import numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import address

import srlg

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

WORDS = st.integers(0, 2**32 - 1)
FEW = st.integers(0, 40)
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))

settings.register_profile("srlg", deadline=None, max_examples=40)
settings.load_profile("srlg")


def detector() -> srlg.Detector:
    # Detectors have 2 MB, because the tests create many of them.
    return srlg.Detector(threshold=64, window=4, pairs=20_000, memory=2_000_000, device="cpu")


def array(words: list[int]) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.uint32]]:
    return numpy.array(words, dtype=numpy.uint32)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=300))
def test_arrays_and_texts_touch_the_same(pairs: list[tuple[int, int]]) -> None:
    columns = [[pair[side] for pair in pairs] for side in (0, 1)]
    of_arrays, of_texts = detector(), detector()
    of_arrays.ingest(*map(array, columns))
    of_texts.ingest(*([address(word) for word in column] for column in columns))
    assert of_arrays.snapshot() == of_texts.snapshot()


@given(st.lists(st.tuples(FEW, FEW, st.integers(0, 5))), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(
    pairs: list[tuple[int, int, int]], order: random.Random
) -> None:
    first, second = detector(), detector()
    first.ingest(array([pair[0] for pair in pairs]), array([pair[1] for pair in pairs]))
    repeated = [pair for pair in pairs for _ in range(pair[2] + 1)]
    order.shuffle(repeated)
    for inside, peer, _ in repeated:
        second.ingest(array([inside]), array([peer]))
    assert first.snapshot() == second.snapshot()


# Every run draws the same examples, because an estimate is within its bounds for almost all addresses, but not for all.
@settings(derandomize=True)
@given(st.lists(st.tuples(ADDRESSES, ADDRESSES), min_size=1, max_size=100))
def test_a_host_of_any_family_has_its_peers(pairs: list[tuple[Address, Address]]) -> None:
    host = pairs[0][0]
    peers = {peer for _, peer in pairs}
    one = detector()
    one.ingest([host] * len(pairs), [peer for _, peer in pairs])
    estimate = one.cardinality(host)
    # Few peers share a recorder. The bound is five standard errors of the estimate and one peer.
    assert estimate.lower(5) - 1 <= len(peers) <= estimate.upper(5) + 1


@given(st.lists(st.lists(st.tuples(FEW, WORDS), max_size=200), min_size=1, max_size=6))
def test_a_pickle_in_any_slice_continues_alike(slices: list[list[tuple[int, int]]]) -> None:
    first = detector()
    second = detector()
    for pairs in slices:
        for one in (first, second):
            one.ingest(array([pair[0] for pair in pairs]), array([pair[1] for pair in pairs]))
        second = pickle.loads(pickle.dumps(second))
        assert first.close_slice() == second.close_slice()


@given(st.binary(max_size=300))
def test_any_bytes_are_no_state(state: bytes) -> None:
    one = detector()
    before = one.snapshot()
    for call in (one.merge, one.restore, srlg.State, srlg.Detector.from_snapshot):
        try:
            call(state)
        except srlg.StateError:
            pass
        else:
            raise AssertionError("bytes at random were taken")
    assert one.snapshot() == before


# Texts of these few characters are often addresses or almost addresses.
@given(st.text(max_size=20) | st.text("01f:.", max_size=16) | ADDRESSES.map(str))
def test_any_text_is_an_address_as_it_is_for_ipaddress(text: str) -> None:
    try:
        expected = str(ipaddress.ip_address(text))
    except ValueError:
        expected = None
    # Zones name links and not hosts.
    if expected is not None and "%" in expected:
        expected = None
    one = detector()
    try:
        one.ingest([text], ["10.0.0.1"])
        assert expected is not None
    except ValueError:
        assert expected is None
