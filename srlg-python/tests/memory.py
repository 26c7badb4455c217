"""Calls every part of the module once under valgrind, from `scripts/python.sh`. Other tests check the results."""

from __future__ import annotations

import array
import pickle
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import srlg


def detector() -> srlg.Detector:
    return srlg.Detector(threshold=64, window=8, device="cpu")


def arrays() -> tuple[array.array[int], array.array[int]]:
    inside = [0x0A000001] * 500 + [0x0A000002] * 50
    return array.array("I", inside), array.array("I", range(0xC0000000, 0xC0000000 + 550))


def use(file: Path) -> None:
    one, other = detector(), detector()
    one.ingest(*arrays())
    one.ingest(["10.0.0.3", "2001:db8::1"], ["10.0.0.4", "2001:db8::2"])
    report = one.close_slice()
    assert [point.host for point in report.super_points] == ["10.0.0.1"]
    report.to_dicts()
    report._repr_html_()
    report.__arrow_c_stream__()
    one.cardinality("10.0.0.1")
    one.cardinality("10.0.0.1", 2)
    one.sample_peers("10.0.0.1")
    assert one.health.errors_hold
    other.restore(one.snapshot())
    other.merge(one.delta())
    other.merge([one, other.delta(2)])
    other.report()
    one.cardinalities(arrays()[0])
    for copied in (one, detector()):
        pickle.loads(pickle.dumps(copied))
    srlg.Detector.from_snapshot(one.snapshot(), device="cpu")
    state = srlg.sketch(srlg.read(file), threshold=64, device="cpu")
    assert srlg.State(state).kind == "pairs"
    assert list(srlg.merge([state], threshold=64, device="cpu").report())
    numbers = [array.array(code, [1, 2]) for code in "iq"]
    one.ingest(*numbers)
    assert srlg.super_points(iter([srlg.read(file)]), threshold=64, role="source", device="cpu")[0]
    for is_whole in (True, False):  # the second scan is dropped before its end
        reports = srlg.scan(
            srlg.read(file),
            time="time",
            source="source",
            destination="destination",
            detector=detector(),
        )
        next(reports)
        if is_whole:
            list(reports)


def lose_rows(file: Path) -> None:
    for late, is_whole in (("raise", True), ("drop", True), ("drop", False)):
        reports = srlg.scan(
            srlg.read(file),
            time="time",
            source="source",
            destination="destination",
            detector=detector(),
            late=late,  # type: ignore[arg-type]
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            while next(reports).slice < 1000:
                pass
            try:
                found = list(reports) if is_whole else []
            except srlg.InputError:
                found = []
            assert bool(found) == (is_whole and late == "drop") and reports.too_late == 100
            del reports
        assert len(caught) == (late == "drop")


def fail() -> None:
    inside, peer = arrays()
    one = detector()
    snapshot = one.snapshot()
    wrong: list[Callable[[], object]] = [
        lambda: one.ingest(inside, peer[:3]),
        lambda: one.ingest([1.5], [2]),  # type: ignore[list-item]
        lambda: one.restore(b"x"),
        lambda: one.merge(snapshot[:40]),
        lambda: srlg.Detector(threshold=0),
        lambda: srlg.read("/does/not/exist"),
    ]
    for call in wrong:
        try:
            call()
        except (srlg.Error, OSError, TypeError, ValueError):
            continue
        raise AssertionError("a wrong call succeeded")


def close_at_once() -> None:
    one = detector()

    def close() -> None:
        closed.append(one.close_slice())

    closed: list[srlg.Report] = []
    threads = [threading.Thread(target=close) for _ in range(4)]
    threads.append(threading.Thread(target=lambda: one.ingest(*arrays())))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.slice == len(closed) == 4


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "contacts.csv"
    rows = [f"{row * 10},10.0.0.1,198.51.{row // 256}.{row % 256}" for row in range(1000)]
    path.write_text("\n".join(["time_ms,src,dst", *rows]))
    use(path)
    # After the first row of second 1000, rows of second 8 are too late.
    rows[900:] = ["1000000,10.0.0.1,198.51.100.1", *rows[800:900], "1001000,10.0.0.1,198.51.100.2"]
    path.write_text("\n".join(["time_ms,src,dst", *rows]))
    lose_rows(path)
fail()
for _ in range(5):
    close_at_once()
