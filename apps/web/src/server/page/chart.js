// Charts of the stored minutes, of the last ten minutes by slice, and of the slices since the page was opened.
"use strict";

const CHART = 168;
const LEGEND = 44;
const HOUR_S = 3600;
const charts = new Set();

// On a wall, everything is larger, and a chart fills its place.
const isWall = document.documentElement.className === "wall";
const GAPS = isWall ? 1 : 3;
const scaled = (pixels) => (isWall ? Math.round((pixels * innerWidth) / 1280) : pixels);
const chartFont = () => `${scaled(12)}px system-ui, sans-serif`;
const size = (node) => ({ width: Math.max(240, node.clientWidth), height: isWall ? Math.max(120, node.clientHeight - scaled(LEGEND)) : CHART });

function axisTimes(values, step) {
  return values.map((value) => {
    const date = new Date(value * 1e3);
    if (step < 60) return clock.format(date);
    if (step < 86400) return clock.format(date).slice(0, 5);
    return date.toLocaleDateString("en", { month: "short", day: "numeric", timeZone: isUtc ? "UTC" : undefined });
  });
}

// A chart of `lines`, each with a label, a colour, a scale and an optional dash. A fixed line is no data. `titles` are those
// of the scales. The first scale is on the left. `marks` each have a time and a text.
class Chart {
  constructor(node, lines, titles) {
    Object.assign(this, { node, lines, titles, span: HOUR_S, marks: [], stepS: 1, gaps: element("p", "", "none") });
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
    const axis = { stroke: soft, font: chartFont(), ticks: { show: false }, grid: { stroke: color("--line"), width: 1 } };
    const counts = (_, values) => values.map((value) => (value >= 1e5 ? quantity(value, "").trim() : Number.isInteger(value) ? number.format(value) : ""));
    const scales = [...new Set(this.lines.map((line) => line.scale))];
    const upTo = { range: (_, __, most) => [0, Math.max(5, (most ?? 0) * 1.1)] };
    this.plot?.destroy();
    const titled = { labelSize: scaled(18), labelGap: 0, labelFont: axis.font };
    this.plot = new uPlot({
      ...size(this.node),
      cursor: { y: false, drag: { x: false, y: false } },
      tzDate: (seconds) => (isUtc ? uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC") : new Date(seconds * 1e3)),
      series: [
        { label: "at", value: (_, value) => (value == null ? "–" : moment(value * 1e3)) },
        ...this.lines.map((line) => ({ width: scaled(1.5), points: { show: false }, value: (_, value) => (value == null ? "–" : round(value)), label: line.label, stroke: color(line.color), scale: line.scale, dash: line.dash })),
      ],
      scales: { x: { range: () => this.bounds() }, ...Object.fromEntries(scales.map((scale) => [scale, upTo])) },
      axes: [
        { ...axis, size: scaled(26), space: scaled(70), values: (_, values, __, ___, step) => axisTimes(values, step) },
        ...scales.map((scale, index) => ({ ...axis, ...titled, label: this.titles[index], scale, side: index ? 1 : 3, size: scaled(index ? 46 : 62), space: scaled(36), values: counts, grid: index ? { show: false } : axis.grid })),
      ],
      hooks: { draw: [(plot) => this.drawMarks(plot)] },
    }, this.data(), this.node);
    this.node.append(this.gaps);
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

  // Returns the stored minutes, followed by slices.
  data() {
    const [from] = this.bounds();
    const first = this.live[0][0] ?? Infinity;
    const known = this.stored[0].findIndex((time) => time >= first);
    const minutes = this.stored.map((values) => values.slice(0, known < 0 ? undefined : known));
    const late = Math.max(0, this.live[0].findIndex((time) => time >= from));
    return minutes.map((values, index) => values.concat(this.live[index].slice(late)));
  }

  // Names the last periods without any value, which are gaps in the lines.
  nameGaps([times, ...all]) {
    const [from] = this.bounds();
    const lines = all.filter((_, index) => !this.lines[index].fixed);
    const found = [];
    let [isStarted, since] = [false];
    times.forEach((time, index) => {
      if (time < from) return;
      if (lines.every((values) => values[index] == null)) {
        if (isStarted) since ??= time;
        return;
      }
      if (since !== undefined) found.push(`${timeOf(since * 1e3)} to ${timeOf(time * 1e3)}`);
      [isStarted, since] = [true];
    });
    if (since !== undefined) found.push(`${timeOf(since * 1e3)} on`);
    write(this.gaps, found.length ? `No data from ${found.slice(-GAPS).join(", ")}${found.length > GAPS ? ", and in earlier periods" : ""}.` : "");
  }

  drawMarks({ ctx, bbox, valToPos }) {
    ctx.save();
    ctx.font = `${Math.round(12 * devicePixelRatio)}px system-ui, sans-serif`;
    ctx.strokeStyle = ctx.fillStyle = color("--soft");
    ctx.setLineDash([4, 4]);
    this.marks.forEach(({ time, text }, index) => {
      const x = valToPos(time, "x", true);
      if (!(x >= bbox.left && x <= bbox.left + bbox.width)) return;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const isRight = x > bbox.left + bbox.width / 2;
      ctx.textAlign = isRight ? "right" : "left";
      ctx.fillText(text, x + (isRight ? -4 : 4), bbox.top + (12 + 14 * (index % 3)) * devicePixelRatio);
    });
    ctx.restore();
  }

  show() {
    const data = this.data();
    this.plot.setData(data);
    this.nameGaps(data);
    // The library draws, and clears the legend, after this task.
    queueMicrotask(() => this.plot.cursor.left >= 0 || this.plot.setLegend({ idx: data[1].findLastIndex((value) => value != null) }));
  }

  // Adds the values of a slice.
  push(seconds, values) {
    const [times] = this.live;
    // The time goes backwards if `srlg run` was restarted with older data.
    if (times.length && seconds < times.at(-1)) this.live = this.none();
    const before = this.live[0].at(-1);
    if (seconds <= before) return;
    // Slices are missing, so the line has a gap.
    if (seconds - before > 2 * this.stepS) this.add(before + this.stepS, values.map(() => null));
    this.add(seconds, values);
    while (this.live[0][0] < seconds - HOUR_S) this.live.forEach((values) => values.shift());
    this.show();
  }

  add(seconds, values) {
    this.live[0].push(seconds);
    values.forEach((value, index) => this.live[index + 1].push(value));
  }

  // Sets the stored values per minute and the recent values per slice. A missing value is null.
  set({ start_ms: startMs, step_ms: stepMs, recent }, columns) {
    const times = (values, start, step) => values.map((_, index) => (start + index * step) / 1e3);
    const [stored, live] = [columns.stored, columns.recent];
    this.stored = [times(stored[0], startMs, stepMs), ...stored];
    this.end = (startMs + stored[0].length * stepMs) / 1e3;
    this.stepS = recent.step_ms / 1e3;
    // Slices that came after the answer stay.
    const newest = this.live;
    this.live = [times(live[0], recent.start_ms, recent.step_ms), ...live.map((values) => [...values])];
    newest[0].forEach((time, index) => time > (this.live[0].at(-1) ?? 0) && this.add(time, newest.slice(1).map((values) => values[index])));
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

// The charts of views

const VIEW_LINES = [
  { label: "largest count", color: "--accent", scale: "hosts" },
  { label: "hosts over the threshold", color: "--second", scale: "points", dash: [5, 3] },
];

function makeViewChart(node, counted) {
  return new Chart(node, VIEW_LINES, [counted === "hosts" ? "peers of a host" : unit({ unit: counted }), "hosts"]);
}

async function readView(name, chart, period) {
  const answer = await ask("series", { view: name, ...period });
  const columns = (from) => [from.largest, from.super_points];
  chart.set(answer, { stored: columns(answer), recent: columns(answer.recent) });
}

function pushView(chart, view, now) {
  chart.push(now / 1e3, [view.top.length ? view.top[0].cardinality : 0, view.super_points]);
}

addEventListener("resize", () => charts.forEach((chart) => chart.plot.setSize(size(chart.node))));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.draw()));
