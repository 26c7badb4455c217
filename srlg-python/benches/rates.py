"""Compares the rates of Python and Rust in alternating runs. Start it with `python benches/rates.py`.

Each line shows the minimum time of both in seconds, which other programs affect least. It also shows the rate of
Python relative to the rate of Rust.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import polars
import pyarrow

import srlg

ROWS = 10_000_000
ROWS_PER_SLICE = 500_000
RUNS = 9

rows = numpy.arange(ROWS, dtype=numpy.uint32)
inside = numpy.uint32(0x0A000000) + (rows * numpy.uint32(0x9E3779B1) >> numpy.uint32(16))
peer = numpy.uint32(0xC0000000) + rows
times = rows.astype(numpy.int64) * 1_000_000_000 // ROWS_PER_SLICE


def allocated(**options: Any) -> srlg.Detector:
    """Returns a detector that has allocated its memory, as that of the Rust part has."""
    detector = srlg.Detector(device="cpu", **options)
    detector.cardinality("10.0.0.1")
    return detector


def ingest() -> None:
    detector = allocated()
    start = time.perf_counter()
    detector.ingest(inside, peer)
    took.append(time.perf_counter() - start)


def scan(data: srlg._ArrowStream) -> None:
    detector = allocated(inside="10.0.0.0/8")
    start = time.perf_counter()
    reports = srlg.scan(data, detector=detector)
    count = sum(1 for _ in reports)
    took.append(time.perf_counter() - start)
    assert count == ROWS // ROWS_PER_SLICE


def rust(what: str) -> float:
    return float(subprocess.check_output([program, what]))


def compare(name: str, what: str, run: Callable[[], None]) -> None:
    took.clear()
    of_rust = []
    for _ in range(RUNS):
        of_rust.append(rust(what))
        run()
    rust_s, python_s = min(of_rust), min(took)
    print(f"{name:24} Rust {rust_s:.3f} s, Python {python_s:.3f} s, rate {rust_s / python_s:.2f}")


folder = Path(__file__).parent.parent
build = ["cargo", "build", "--release", "--example", "rates", "--message-format=json"]
messages = subprocess.check_output(build, cwd=folder, text=True, stderr=subprocess.DEVNULL)
programs = [json.loads(line).get("executable") for line in messages.splitlines()]
program = next(path for path in programs if path)
took: list[float] = []
frame = polars.DataFrame(
    {
        "time": polars.Series(times).cast(polars.Datetime("ns")),
        "source": inside,
        "destination": peer,
    }
)
table = pyarrow.table(frame)
compare("ingest from numpy", "ingest", ingest)
compare("scan of a polars frame", "scan", lambda: scan(frame))
compare("scan of a pyarrow table", "scan", lambda: scan(table))
