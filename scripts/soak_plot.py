#!/usr/bin/env python3
"""Draws the series of a soak test (scripts/soak.sh): memory, files, descriptors and threads of each process.

usage: soak_plot.py SERIES.csv CHART.svg
"""

import csv
import sys
from xml.sax.saxutils import escape

# Columns of the series, titles of the panels, and the number by which values are divided.
PANELS = [
    ("rss_bytes", "resident memory, MB", 1e6),
    ("folder_bytes", "files, MB", 1e6),
    ("descriptors", "descriptors", 1),
    ("threads", "threads", 1),
]
# Colours that colour-blind readers can distinguish (Okabe and Ito).
COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
WIDTH, HEIGHT = 430, 240
LEFT, TOP, RIGHT, BOTTOM = 60, 40, 15, 40


def ticks(top):
    """Returns the multiples of a round step up to `top`, at most six of them."""
    powers = (10.0**exponent for exponent in range(-3, 10))
    step = next(step for power in powers for step in (power, 2 * power, 5 * power) if top / step < 6)
    return [step * number for number in range(int(top / step) + 1)]


def label(x, y, text, anchor="middle"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(text)}</text>'


def panel(title, lines, last_s):
    """Returns the elements of a panel. `lines` contains the points of each process."""
    top = max(value for points in lines.values() for _, value in points) * 1.05 or 1
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    across = lambda seconds: LEFT + width * seconds / last_s
    down = lambda value: TOP + height * (1 - value / top)
    yield label(LEFT, TOP - 12, title, "start")
    for value in ticks(top):
        yield f'<path d="M{LEFT} {down(value):.1f}h{width}" stroke="#ddd"/>'
        yield label(LEFT - 6, down(value) + 4, f"{value:g}", "end")
    for minutes in ticks(last_s / 60):
        yield label(across(60 * minutes), HEIGHT - BOTTOM + 18, f"{minutes:g}")
    yield label(LEFT + width / 2, HEIGHT - 4, "minutes")
    for points, colour in zip(lines.values(), COLOURS):
        path = " ".join(f"{across(seconds):.1f},{down(value):.1f}" for seconds, value in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def main(series, chart):
    with open(series, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    processes = sorted({row["process"] for row in rows})
    last_s = max(int(row["seconds"]) for row in rows)
    width, height = 2 * WIDTH, 2 * HEIGHT + 30
    elements = [f'<rect width="{width}" height="{height}" fill="white"/>']
    for index, (process, colour) in enumerate(zip(processes, COLOURS)):
        x = LEFT + 120 * index
        elements += [f'<path d="M{x} 18h24" stroke="{colour}" stroke-width="3"/>', label(x + 30, 22, process, "start")]
    for index, (column, title, unit) in enumerate(PANELS):
        lines = {
            process: [(int(row["seconds"]), float(row[column]) / unit) for row in rows if row["process"] == process]
            for process in processes
        }
        place = f"translate({index % 2 * WIDTH} {30 + index // 2 * HEIGHT})"
        elements += [f'<g transform="{place}">', *panel(title, lines, last_s), "</g>"]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    with open(chart, "w", encoding="utf-8") as file:
        file.write("\n".join([head, *elements, "</svg>", ""]))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
