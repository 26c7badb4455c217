"""Tests that reports equal those of the Rust library."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from pairs import octets, pairs

import srlg

FOLDER = Path(__file__).parent.parent


@pytest.mark.skipif(
    shutil.which("cargo") is None or not (FOLDER / "Cargo.toml").exists(),
    reason="needs cargo and the sources",
)
def test_rust_reports_the_same_bits() -> None:
    command = ["cargo", "run", "--quiet", "--release", "--locked", "--example", "reports"]
    expected = subprocess.check_output(command, cwd=FOLDER, text=True).splitlines()
    detector = srlg.Detector(threshold=512, window=4, device="cpu")
    lines = []
    for slice in range(8):
        columns = pairs(range(slice * 60_000, (slice + 1) * 60_000))
        detector.ingest(*columns)
        detector.ingest(*(octets("20010db80000000000000000", column) for column in columns))
        for point in detector.close_slice().super_points:
            bits = [
                struct.pack(">d", value).hex() for value in (point.cardinality, point.std_error)
            ]
            peers = ",".join(f"{peer.host}@{peer.last_seen}" for peer in point.peers)
            lines.append(f"{slice} {point.host} {bits[0]} {bits[1]} {peers}")
    assert len(lines) > 500
    assert lines == expected
