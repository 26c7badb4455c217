"""The pairs of examples/reports.rs and the exact answers for them."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy
import numpy.typing

import srlg

Words: TypeAlias = numpy.typing.NDArray[numpy.uint32]

HOST = 0x0A000001


def mixed(numbers: numpy.typing.NDArray[numpy.uint64]) -> numpy.typing.NDArray[numpy.uint64]:
    """Returns the outputs of SplitMix64 for these counters."""
    u64 = numpy.uint64
    z = (numbers + u64(1)) * u64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> u64(27))) * u64(0x94D049BB133111EB)
    return z ^ (z >> u64(31))


def pairs(numbers: range) -> tuple[Words, Words]:
    """Returns the pairs with these numbers: 64 inside hosts with up to 5,000 peers."""
    bits = mixed(numpy.arange(numbers.start, numbers.stop, dtype=numpy.uint64))
    host = (bits >> numpy.uint64(32)) % numpy.uint64(64)
    peer = bits % (numpy.uint64(1) + host * numpy.uint64(80))
    inside = (host + numpy.uint64(0x0A000000)).astype(numpy.uint32)
    return inside, (peer + numpy.uint64(0xC0000000)).astype(numpy.uint32)


def octets(prefix: str, words: Words) -> numpy.typing.NDArray[numpy.uint8]:
    """Returns IPv6 addresses whose first 96 bits are `prefix` in hexadecimal digits."""
    addresses = numpy.zeros((len(words), 16), dtype=numpy.uint8)
    addresses[:, :12] = numpy.frombuffer(bytes.fromhex(prefix), dtype=numpy.uint8)
    addresses[:, 12:] = words.astype(">u4").view(numpy.uint8).reshape(-1, 4)
    return addresses


def one_host(peers: int, host: int = HOST) -> tuple[Words, Words]:
    """Returns the pairs of one host with this number of peers."""
    return (
        numpy.full(peers, host, dtype=numpy.uint32),
        numpy.arange(0xC0000000, 0xC0000000 + peers, dtype=numpy.uint32),
    )


def exact(inside: Words, peer: Words) -> dict[str, int]:
    """Returns the number of distinct peers of each host."""
    distinct = numpy.unique(numpy.stack([inside, peer], axis=1), axis=0)
    hosts, counts = numpy.unique(distinct[:, 0], return_counts=True)
    return {address(int(host)): int(count) for host, count in zip(hosts, counts, strict=True)}


def address(word: int) -> str:
    return ".".join(str(octet) for octet in word.to_bytes(4))


def assert_close(points: Iterable[srlg.SuperPoint], truth: dict[str, int], threshold: int) -> None:
    """Compares a report with the exact answer.

    An error above five standard errors occurs once in two million times. The stated error is relative to the estimate,
    so a host is compared within its own band.
    """
    found = {point.host: point for point in points}
    for host, point in found.items():
        assert point.lower(5) <= truth[host] <= point.upper(5), (host, point)
        assert point.cardinality >= threshold
    for host, count in truth.items():
        if count > 1.3 * threshold:
            assert host in found, (host, count)
