"""Tests of reading contacts from files."""

import gzip
import logging
import os
import struct
from pathlib import Path

import polars
import pyarrow
import pytest

import srlg

COLUMNS = [
    "time",
    "source",
    "destination",
    "protocol",
    "source_port",
    "destination_port",
    "tcp_flags",
    "packets",
    "bytes",
    "exporter",
]
DATA = os.environ.get("SRLG_DATA")


def contact_list(folder: Path, rows: int = 5000) -> Path:
    path = folder / "contacts.csv"
    lines = [f"{row},192.0.2.1,198.51.{row // 256}.{row % 256}" for row in range(rows)]
    path.write_text("\n".join(["time_ms,src,dst", *lines, ""]))
    return path


def test_contacts_of_a_list(tmp_path: Path) -> None:
    contacts = srlg.read(contact_list(tmp_path))
    frame = polars.DataFrame(contacts)
    assert frame.columns == COLUMNS
    assert frame.height == 5000
    row = frame.row(4999, named=True)
    assert (row["source"], row["destination"]) == ("192.0.2.1", "198.51.19.135")
    assert row["time"].timestamp() == 4.999
    assert row["exporter"] is None
    assert "5000" in contacts.status


def test_several_files_and_compressed_ones(tmp_path: Path) -> None:
    path = contact_list(tmp_path)
    compressed = tmp_path / "contacts.csv.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert pyarrow.table(srlg.read(path, str(compressed))).num_rows == 10_000


def test_batches_can_be_looped_over(tmp_path: Path) -> None:
    batches = list(srlg.read(contact_list(tmp_path, 65_000), contact_list(tmp_path, 65_000)))
    assert all(isinstance(batch, pyarrow.RecordBatch) for batch in batches)
    assert sum(batch.num_rows for batch in batches) == 130_000
    assert len(batches) >= 2


def test_a_scan_reads_files(tmp_path: Path) -> None:
    contacts = srlg.read(contact_list(tmp_path))
    reports = list(srlg.scan(contacts, time="time", source="source", destination="destination"))
    assert len(reports) == 5
    point = reports[-1].super_points[0]
    assert point.host == "192.0.2.1"
    assert point.lower(5) <= 5000 <= point.upper(5)


def test_contacts_are_read_once(tmp_path: Path) -> None:
    contacts = srlg.read(contact_list(tmp_path))
    pyarrow.table(contacts)
    with pytest.raises(srlg.InputError):
        pyarrow.table(contacts)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(srlg.InputError):
        srlg.read()
    with pytest.raises(srlg.InputError):
        srlg.read(tmp_path / "none.pcap")
    with pytest.raises(TypeError):
        srlg.read(7)  # type: ignore[arg-type]
    unknown = tmp_path / "unknown"
    unknown.write_bytes(bytes(range(200, 256)) * 10)
    with pytest.raises(srlg.InputError):
        srlg.read(unknown)


def test_an_error_in_the_middle_comes_after_the_contacts_before(tmp_path: Path) -> None:
    unknown = tmp_path / "unknown"
    unknown.write_bytes(bytes(range(200, 256)) * 10)
    path = contact_list(tmp_path, 100)
    reader = pyarrow.RecordBatchReader.from_stream(srlg.read(path, unknown))
    assert next(reader).num_rows == 100
    with pytest.raises((pyarrow.ArrowException, OSError)):
        next(reader)
    contacts = srlg.read(path, unknown)
    reports = srlg.scan(contacts, time="time", source="source", destination="destination")
    with pytest.raises(srlg.InputError, match=str(unknown)):
        list(reports)


def test_files_that_end_early_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ip = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20, 0, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    )
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    packet = struct.pack("<IIII", 1, 0, len(ip), len(ip)) + ip
    path = tmp_path / "cut.pcap"
    path.write_bytes(header + packet + packet[:-5])
    compressed = tmp_path / "damaged.pcap.gz"
    compressed.write_bytes(gzip.compress(header + packet)[:-4] + b"\0\0\0\0")
    with caplog.at_level(logging.WARNING, logger="srlg"):
        table = pyarrow.table(srlg.read(path, compressed))
    assert table["source"].to_pylist() == ["10.0.0.1"] * 2
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2


def data_file(name: str) -> Path:
    if DATA is None:
        pytest.skip("recorded traffic is missing; set SRLG_DATA to its folder")
    return Path(DATA) / name


def test_a_capture_of_the_data_folder() -> None:
    table = polars.DataFrame(srlg.read(data_file("captures/pcap_usec_ddos_synack.pcap")))
    assert table.height > 0
    assert table["protocol"].value_counts(sort=True)["protocol"][0] == 6


def test_exports_of_the_data_folder() -> None:
    path = data_file("flows/softflowd_synack_v9.pcap")
    flows = polars.DataFrame(srlg.read(path, exports=True))
    assert flows.height > 0
    assert flows["exporter"].null_count() == 0
    assert flows["packets"].null_count() == 0
    assert polars.DataFrame(srlg.read(path))["exporter"].null_count() > 0
