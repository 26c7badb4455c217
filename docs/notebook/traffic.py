"""Generates contacts of a network with two attacks in them, as a table."""

import numpy
import polars

SCANNER, VICTIM = "10.7.7.7", "10.1.1.1"


def contacts(seconds: int, per_second: int, seed: int = 1) -> polars.DataFrame:
    """Contacts of 50,000 hosts of 10.0.0.0/16 with others, in the order of time.

    A few hosts have most of the contacts, as busy servers do. In the second third of the time 10.7.7.7 contacts 100 new hosts
    each second; in the last third 400 new hosts each second contact 10.1.1.1. Addresses are numbers: 10.0.0.1 is 0x0a000001.
    """
    rng = numpy.random.default_rng(seed)
    rows = seconds * per_second
    host = 0x0A000000 + (50_000 * rng.random(rows) ** 8).astype(numpy.uint32)
    peer = 0xC6000000 + rng.integers(0, 1 << 20, rows, dtype=numpy.uint32)
    is_source = rng.random(rows) < 0.5
    background = table(
        rng.integers(0, seconds * 1000, rows),
        numpy.where(is_source, host, peer),
        numpy.where(is_source, peer, host),
    )
    third = seconds // 3
    scan = numpy.arange(third * 100)
    flood = numpy.arange(third * 400)
    attacks = [
        table(third * 1000 + scan * 10, numpy.full(scan.size, 0x0A070707), 0xCB000000 + scan),
        table(
            2 * third * 1000 + flood * 5 // 2,
            0xD0000000 + flood,
            numpy.full(flood.size, 0x0A010101),
        ),
    ]
    return polars.concat([background, *attacks]).sort("time")


def table(
    milliseconds: numpy.ndarray, source: numpy.ndarray, destination: numpy.ndarray
) -> polars.DataFrame:
    times = numpy.datetime64("2026-01-01", "ms") + milliseconds.astype("timedelta64[ms]")
    hosts = {"source": source.astype(numpy.uint32), "destination": destination.astype(numpy.uint32)}
    return polars.DataFrame({"time": polars.Series(times).dt.replace_time_zone("UTC"), **hosts})
