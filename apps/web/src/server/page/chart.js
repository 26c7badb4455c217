// Charts of the stored values per minute and of the slices since then.
"use strict";

const CHART = 168;
const HOUR_S = 3600;
const SHORT_S = HOUR_S;
const charts = new Set();

const width = (node) => Math.max(240, node.clientWidth);

function axisTimes(values, step) {
  return values.map((value) => {
    const date = new Date(value * 1e3);
    if (step < 60) return clock.format(date);
    if (step < 86400) return clock.format(date).slice(0, 5);
    return date.toLocaleDateString("en", { month: "short", day: "numeric", timeZone: isUtc ? "UTC" : undefined });
  });
}

// A chart of `lines`, each with a label, a colour, a scale and an optional dash. The first scale is on the left.
class Chart {
  constructor(node, lines) {
    Object.assign(this, { node, lines, span: HOUR_S });
    this.stored = this.none();
    this.live = this.none();
    this.draw();
    charts.add(this);
  }

  none() {
    return [[], ...this.lines.map(() => [])];
  }

  draw() {
    const soft = color("--soft");
    const axis = { stroke: soft, font: "12px system-ui, sans-serif", ticks: { show: false }, grid: { stroke: color("--line"), width: 1 } };
    const counts = (_, values) => values.map((value) => (Number.isInteger(value) ? number.format(value) : ""));
    const scales = [...new Set(this.lines.map((line) => line.scale))];
    const upTo = { range: (_, __, most) => [0, Math.max(5, (most ?? 0) * 1.1)] };
    this.plot?.destroy();
    this.plot = new uPlot({
      width: width(this.node), height: CHART,
      cursor: { y: false, drag: { x: false, y: false } },
      tzDate: (seconds) => (isUtc ? uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC") : new Date(seconds * 1e3)),
      series: [
        { label: "at", value: (_, value) => (value == null ? "–" : moment(value * 1e3)) },
        ...this.lines.map((line) => ({ width: 1.5, points: { show: false }, value: (_, value) => (value == null ? "–" : round(value)), label: line.label, stroke: color(line.color), scale: line.scale, dash: line.dash })),
      ],
      scales: { x: { range: () => this.bounds() }, ...Object.fromEntries(scales.map((scale) => [scale, upTo])) },
      axes: [
        { ...axis, size: 26, space: 70, values: (_, values, __, ___, step) => axisTimes(values, step) },
        ...scales.map((scale, index) => ({ ...axis, scale, side: index ? 1 : 3, size: index ? 46 : 62, space: 36, values: counts, grid: index ? { show: false } : axis.grid })),
      ],
    }, this.data(), this.node);
  }

  bounds() {
    const last = this.live[0].at(-1) ?? this.end ?? Date.now() / 1e3;
    return [Math.max(last - this.span, Math.min(this.first(), last - 60)), last];
  }

  // Returns the time of the first value. The chart starts there, so that a new program fills the whole width.
  first() {
    const isKnown = (_, index) => this.stored.some((values, line) => line > 0 && values[index] != null);
    const stored = this.stored[0].findIndex(isKnown);
    return Math.min(this.stored[0][stored] ?? Infinity, this.live[0][0] ?? Infinity);
  }

  // Returns the stored minutes, followed by the slices that this page has received. Long spans contain only minutes.
  data() {
    const [from, to] = this.bounds();
    const first = this.span > SHORT_S ? Infinity : this.live[0][0] ?? Infinity;
    const known = this.stored[0].findIndex((time) => time >= first);
    const minutes = this.stored.map((values) => values.slice(0, known < 0 ? undefined : known));
    if (first === Infinity) return minutes;
    const late = this.live[0].findIndex((time) => time >= from && time <= to);
    return minutes.map((values, index) => values.concat(this.live[index].slice(Math.max(0, late))));
  }

  show() {
    this.plot.setData(this.data());
    if (this.plot.cursor.left === undefined || this.plot.cursor.left < 0) this.plot.setLegend({ idx: this.plot.data[1].findLastIndex((value) => value != null) });
  }

  // Adds the values of a slice.
  push(seconds, values) {
    const [times] = this.live;
    // The time goes backwards if `srlg run` was restarted with older data.
    if (times.length && seconds < times.at(-1)) this.live = this.none();
    if (seconds === this.live[0].at(-1)) return;
    this.live[0].push(seconds);
    values.forEach((value, index) => this.live[index + 1].push(value));
    while (this.live[0][0] < seconds - SHORT_S) this.live.forEach((values) => values.shift());
    this.show();
  }

  // Sets the stored values, which have equal intervals. A missing value is null.
  set(startMs, stepMs, all) {
    this.stored = [all[0].map((_, index) => (startMs + index * stepMs) / 1e3), ...all];
    this.end = (startMs + all[0].length * stepMs) / 1e3;
    this.show();
  }

  // Removes the slices, because some may be missing.
  forget() {
    this.live = this.none();
  }

  remove() {
    this.plot.destroy();
    charts.delete(this);
  }
}

addEventListener("resize", () => charts.forEach((chart) => chart.plot.setSize({ width: width(chart.node), height: CHART })));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.draw()));
