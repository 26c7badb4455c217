"""Finds the hosts with at least 1,024 distinct peers in the last 60 seconds, second by second, in three ways.

    python compare.py srlg|intervals|windows TABLE.arrow [RESULT.arrow]
    python compare.py make SECONDS ROWS_PER_SECOND TABLE.arrow

`srlg` estimates; `intervals` and `windows` are exact, by polars. Prints the seconds that it took, and the most memory that it took
beside the table, in megabytes. RESULT gets a row for each such host and second.
"""

import json
import sys
import time
from pathlib import Path

import polars
from polars import col

import srlg
import traffic

THRESHOLD, WINDOW = 1024, 60

# The number of an IPv4 host as text.
ADDRESS = polars.concat_str([col("host") // 256**byte % 256 for byte in (3, 2, 1, 0)], separator=".").alias("host")


def by_srlg(table: polars.DataFrame) -> polars.DataFrame:
    """Estimates, in the memory of one detector."""
    reports = srlg.scan(
        table,
        time="time",
        source="source",
        destination="destination",
        inside=["10.0.0.0/8"],
        slice="1s",
        detector=srlg.Detector(threshold=THRESHOLD, window=WINDOW),
        progress=False,
    )
    columns = ["start", "host", "cardinality", "lower", "upper"]
    frames = [polars.DataFrame(report).select(columns) for report in reports]
    return polars.concat(frames).with_columns(col("start").dt.cast_time_unit("ms"))


def seconds_of_pairs(table: polars.DataFrame) -> polars.LazyFrame:
    """Each host of 10.0.0.0/8 with each of its peers and each second in which they were in contact."""
    is_inside = col("source").is_between(0x0A000000, 0x0AFFFFFF)
    host = polars.when(is_inside).then("source").otherwise("destination").alias("host")
    peer = polars.when(is_inside).then("destination").otherwise("source").alias("peer")
    start = col("time").dt.truncate("1s").alias("start")
    return table.lazy().select(start, host, peer).unique()


def by_intervals(table: polars.DataFrame, threshold: int = THRESHOLD) -> polars.DataFrame:
    """Exact: a contact keeps a peer in the window for a minute, or until the next contact with it. Counts the peers that
    enter and leave."""
    pairs = seconds_of_pairs(table).sort("host", "peer", "start")
    second, minute = polars.duration(seconds=1), polars.duration(seconds=WINDOW)
    is_again = (col("host") == col("host").shift(-1)) & (col("peer") == col("peer").shift(-1))
    leaves = polars.when(is_again).then(polars.min_horizontal(col("start").shift(-1), col("start") + minute))
    leaves = leaves.otherwise(col("start") + minute)
    change = polars.concat(
        [
            pairs.select("host", "start", change=polars.lit(1, polars.Int32)),
            pairs.select("host", start=leaves, change=polars.lit(-1, polars.Int32)),
        ]
    )
    changes = change.group_by("host", "start").agg(col("change").sum()).sort("host", "start")
    until = polars.when(col("host") == col("host").shift(-1)).then(col("start").shift(-1))
    counts = changes.select("host", "start", until=until, peers=col("change").cum_sum().over("host"))
    large = counts.filter(col("peers") >= threshold)
    seconds = polars.datetime_ranges("start", col("until") - second, interval="1s")
    found = large.select("host", "peers", start=seconds).explode("start")
    return found.filter(col("start") <= table["time"].max()).with_columns(ADDRESS).collect()


def by_windows(table: polars.DataFrame) -> polars.DataFrame:
    """Exact: the windows of polars, each counted by itself."""
    windows = seconds_of_pairs(table).sort("start").group_by_dynamic(
        "start", every="1s", period=f"{WINDOW}s", offset=f"-{WINDOW - 1}s", group_by="host"
    )
    peers = windows.agg(peers=col("peer").n_unique()).filter(col("peers") >= THRESHOLD)
    found = peers.with_columns(col("start") + polars.duration(seconds=WINDOW - 1))
    return found.filter(col("start") <= table["time"].max()).with_columns(ADDRESS).collect()


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
    find = {"srlg": by_srlg, "intervals": by_intervals, "windows": by_windows}[method]
    table = polars.read_ipc(path).rechunk()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the most memory so far
    before, start = status("VmRSS"), time.perf_counter()
    found = find(table)
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
