"""Tests of calls from several threads at once."""

import datetime
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy
import polars
import pytest
from pairs import one_host, pairs

import srlg


def test_threads_ingest_at_once() -> None:
    together, alone = (srlg.Detector(threshold=512, device="cpu") for _ in range(2))
    parts = [pairs(range(start, start + 50_000)) for start in range(0, 400_000, 50_000)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda part: together.ingest(*part), parts))
    for part in parts:
        alone.ingest(*part)
    assert together.close_slice() == alone.close_slice()


def test_python_runs_while_pairs_are_ingested() -> None:
    # One thread notes times while another one ingests. If ingesting kept Python attached, the first thread could note no
    # time in the middle of a call. On a busy machine, it may have to wait for a processor, so one call is enough.
    detector = srlg.Detector(device="cpu")
    columns = one_host(2_000_000)
    times: list[float] = []
    done = threading.Event()
    has_run = False

    def ingest() -> None:
        nonlocal has_run
        try:
            for _ in range(100):
                times.clear()
                start = time.perf_counter()
                detector.ingest(*columns)
                seconds = time.perf_counter() - start
                has_run = any(start + seconds / 4 < it < start + seconds / 2 for it in times.copy())
                if has_run:
                    break
        finally:
            done.set()

    thread = threading.Thread(target=ingest)
    thread.start()
    while not done.is_set():
        times.append(time.perf_counter())
        time.sleep(0)
    thread.join()
    assert has_run


def test_pairs_ingested_during_closes_are_all_counted() -> None:
    # Each pair is ingested once, so a lost pair is missing at the end. A block of 32,768 pairs has 328 peers of each of
    # the 100 hosts, which is more than five standard errors. No more slices are closed than the window has.
    detector = srlg.Detector(threshold=512, window=2000, device="cpu")
    inside, peer = one_host(600_000)
    inside += numpy.arange(600_000, dtype=numpy.uint32) % numpy.uint32(100)
    stop, has_begun = threading.Event(), threading.Event()

    def close() -> None:
        while not stop.is_set() and detector.slice < 1000:
            detector.close_slice()
            has_begun.set()

    thread = threading.Thread(target=close)
    thread.start()
    has_begun.wait()
    detector.ingest(inside, peer)
    stop.set()
    thread.join()
    closed = detector.slice
    points = detector.close_slice().super_points
    assert 0 < closed < 2000
    assert len(points) == 100
    for point in points:
        assert point.lower(5) <= 6000 <= point.upper(5)


def test_threads_that_close_and_merge_at_once_wait_for_each_other() -> None:
    detector, whole = (srlg.Detector(threshold=512, device="cpu") for _ in range(2))
    parts = [pairs(range(start, start + 20_000)) for start in range(0, 160_000, 20_000)]
    states = []
    for part in parts:
        whole.ingest(*part)
        one = srlg.Detector(threshold=512, device="cpu")
        one.ingest(*part)
        states += [one.delta(), one.snapshot()]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(detector.merge, states))
        assert detector.report() == whole.report()
        reports = list(pool.map(lambda _: detector.close_slice(), range(8)))
    assert sorted(report.slice for report in reports) == list(range(8))


def test_two_threads_cannot_take_reports_of_one_scan() -> None:
    entered, leave = threading.Event(), threading.Event()

    def produce() -> Iterator[polars.DataFrame]:
        entered.set()
        leave.wait()
        yield polars.DataFrame(
            {"time": [datetime.datetime(2026, 1, 1)], "source": ["::1"], "destination": ["::2"]}
        )

    scan = srlg.scan(produce())
    with ThreadPoolExecutor(1) as pool:
        report = pool.submit(next, scan)
        entered.wait()
        with pytest.raises(srlg.Error):
            next(scan)
        leave.set()
        assert report.result().slice == 1_767_225_600


def test_a_thread_may_ask_while_another_closes() -> None:
    detector = srlg.Detector(threshold=512, device="cpu")
    detector.ingest(*one_host(1000))
    with ThreadPoolExecutor(2) as pool:
        closes = pool.submit(lambda: [detector.close_slice() for _ in range(50)])
        while not closes.done():
            assert detector.cardinality("10.0.0.1").cardinality > 900
            assert len(detector.snapshot()) > 1000
        assert len(closes.result()) == 50


def test_an_interrupt_ends_a_long_call() -> None:
    import _thread

    detector = srlg.Detector(device="cpu")
    many = numpy.lib.stride_tricks.as_strided(
        numpy.array([7], dtype=numpy.uint32), shape=(1 << 40,), strides=(0,)
    )
    # A shell starts its background jobs with this signal ignored, and then Python does not handle it.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    try:
        with pytest.raises(KeyboardInterrupt):
            # The interrupt may come at any time after this line.
            timer.start()
            detector.ingest(many, many)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, former)
