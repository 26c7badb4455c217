"""Tests of calls from several threads at once."""

import signal
import threading
import time
from collections.abc import Callable
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


def at_once(call: Callable[[], object]) -> list[BaseException | None]:
    """Repeats the same call in two threads at once, until one of them has failed or 10,000 calls have succeeded."""
    outcomes: list[BaseException | None] = []
    failed = threading.Event()
    barrier = threading.Barrier(2)

    def work() -> None:
        barrier.wait()
        for _ in range(5000):
            if failed.is_set():
                return
            try:
                call()
                outcomes.append(None)
            except srlg.BusyError as error:
                outcomes.append(error)
                failed.set()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a call blocks"
    return outcomes


def test_two_closes_at_once_raise() -> None:
    detector = srlg.Detector(device="cpu")
    outcomes = at_once(detector.close_slice)
    assert any(isinstance(outcome, srlg.BusyError) for outcome in outcomes)
    assert detector.slice == outcomes.count(None)
    detector.close_slice()


def test_two_threads_cannot_take_reports_of_one_scan() -> None:
    rows = 2_000_000
    frame = polars.DataFrame(
        {
            "time": polars.Series(numpy.arange(rows) * 500).cast(polars.Datetime("us")),
            "source": numpy.full(rows, 7, dtype=numpy.uint32),
            "destination": numpy.arange(rows, dtype=numpy.uint32),
        }
    )
    scan = srlg.scan(frame, time="time", source="source", destination="destination")
    outcomes = at_once(lambda: next(scan, None))
    assert any(isinstance(outcome, srlg.BusyError) for outcome in outcomes)


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
