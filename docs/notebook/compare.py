"""Finds the hosts with at least 1,024 distinct peers in the last 60 seconds, second by second.

    python compare.py srlg|intervals|chunks|windows TABLE.arrow [RESULT.arrow]
    python compare.py make SECONDS ROWS_PER_SECOND TABLE.arrow

`srlg` estimates; the others are exact, by polars. Prints the seconds, and the peak of memory in megabytes without the table.
RESULT gets a row for each such host and second.
"""

import json
import sys
import time
from datetime import timedelta
from pathlib import Path

import polars
from polars import col

import srlg
import traffic

THRESHOLD, WINDOW = 1024, 60
CHUNK = timedelta(minutes=5)

# A host of 10.0.0.0/8 and its peer in one number, and the second of the contact. Exactly one end of each row must be in that
# network, as in the tables of traffic.py.
IS_INSIDE = col("source").is_between(0x0A000000, 0x0AFFFFFF)
HOST = polars.when(IS_INSIDE).then("source").otherwise("destination").cast(polars.UInt64)
PEER = polars.when(IS_INSIDE).then("destination").otherwise("source").cast(polars.UInt64)
PAIR = (HOST * 2**32 + PEER).alias("pair")
SECOND = col("time").dt.epoch("s").cast(polars.Int32).alias("second")

# The host of a pair as text, and the second as a time.
ADDRESS = polars.concat_str(
    [col("pair") // 2 ** (32 + bits) % 256 for bits in (24, 16, 8, 0)], separator="."
).alias("host")
START = polars.from_epoch("second").cast(polars.Datetime("ms", "UTC")).alias("start")


def by_srlg(table: polars.DataFrame) -> polars.DataFrame:
    """Estimates, in the memory of one detector."""
    options = {"threshold": THRESHOLD, "window": WINDOW, "inside": "10.0.0.0/8"}
    reports = srlg.scan(table, progress=False, **options)
    columns = ["start", "host", "cardinality", "lower", "upper"]
    frames = [polars.DataFrame(report).select(columns) for report in reports]
    return polars.concat(frames).with_columns(col("start").dt.cast_time_unit("ms"))


def by_intervals(table: polars.DataFrame, threshold: int = THRESHOLD) -> polars.DataFrame:
    """Exact: computes when each peer enters and leaves the window, and sums these changes."""
    contacts = table.lazy().select(PAIR, SECOND).unique().sort("pair", "second")
    is_again = col("pair") == col("pair").shift(-1)
    leaves = polars.when(is_again).then(
        polars.min_horizontal(col("second").shift(-1), col("second") + WINDOW)
    )
    leaves = leaves.otherwise(col("second") + WINDOW)
    host = col("pair") // 2**32
    changes = polars.concat(
        [
            contacts.select(host.alias("host"), "second", change=polars.lit(1, polars.Int32)),
            contacts.select(host.alias("host"), second=leaves, change=polars.lit(-1, polars.Int32)),
        ]
    )
    changes = changes.group_by("host", "second").agg(col("change").sum()).sort("host", "second")
    until = polars.when(col("host") == col("host").shift(-1)).then(col("second").shift(-1))
    peers = col("change").cum_sum().over("host")
    large = changes.select("host", "second", until=until, peers=peers)
    large = large.filter(col("peers") >= threshold)
    seconds = polars.int_ranges("second", "until", dtype=polars.Int32)
    found = large.select(col("host") * 2**32, "peers", second=seconds).rename({"host": "pair"})
    return answer(table, found.explode("second"))


def by_chunks(table: polars.DataFrame) -> polars.DataFrame:
    """Exact: `by_intervals` for five minutes at a time, each with the minute before it. Needs a table in the order of time."""
    times = table["time"]
    first, last = times.min().replace(microsecond=0), times.max()
    found = []
    while first <= last:
        before = first - timedelta(seconds=WINDOW - 1)
        rows = slice(times.search_sorted(before), times.search_sorted(first + CHUNK))
        found.append(by_intervals(table[rows]).filter(col("start") >= first))
        first += CHUNK
    return polars.concat(found)


def by_windows(table: polars.DataFrame) -> polars.DataFrame:
    """Exact: the windows of polars, each counted by itself."""
    contacts = table.lazy().select(PAIR, SECOND).unique().sort("second")
    windows = contacts.group_by_dynamic(
        "second",
        every="1i",
        period=f"{WINDOW}i",
        offset=f"-{WINDOW - 1}i",
        group_by=(col("pair") // 2**32).alias("host"),
    )
    counts = windows.agg(peers=col("pair").n_unique()).filter(col("peers") >= THRESHOLD)
    second = col("second") + WINDOW - 1
    return answer(table, counts.select(second, "peers", pair=col("host") * 2**32))


def answer(table: polars.DataFrame, found: polars.LazyFrame) -> polars.DataFrame:
    """The hosts and times of pairs and seconds, up to the end of the table."""
    found = found.select(START, ADDRESS, col("peers").cast(polars.UInt32))
    return found.filter(col("start") <= table["time"].max()).collect()


def status(field: str) -> float:
    """A field of the status of this process, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(field))


def main() -> None:
    if sys.argv[1] == "make":
        seconds, per_second, path = sys.argv[2:]
        traffic.contacts(int(seconds), int(per_second)).write_ipc(path)
        return
    method, path, *result = sys.argv[1:]
    methods = {
        "srlg": by_srlg,
        "intervals": by_intervals,
        "chunks": by_chunks,
        "windows": by_windows,
    }
    table = polars.read_ipc(path).rechunk()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before, start = status("VmRSS"), time.perf_counter()
    found = methods[method](table)
    took = time.perf_counter() - start
    print(
        json.dumps(
            {
                "method": method,
                "rows": table.height,
                "seconds": round(took, 2),
                "megabytes": round(status("VmHWM") - before),
                "found": found.height,
            }
        )
    )
    for to in result:
        found.write_ipc(to)


if __name__ == "__main__":
    main()
