// The latest board, once a slice. Data come as text and are shown as text.
"use strict";

const SECONDS = 600;
const CHART = 168;
const ALERTS = 200;
const EXPORTERS = 500;
const RATE_MS = 5000;
const SVG = "http://www.w3.org/2000/svg";
const colors = getComputedStyle(document.documentElement);
const color = (name) => colors.getPropertyValue(name).trim();
const number = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en", { year: "numeric", month: "short", day: "numeric" });
const round = (value) => (value === null ? "∞" : number.format(Math.round(value)));
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const byId = (id) => document.getElementById(id);
const views = new Map();
const rates = new Map();
let last;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Unchanged text is not touched, so that it can be selected and is read aloud once.
function write(node, text, className) {
  if (node.textContent !== text) node.textContent = text;
  if (className !== undefined && node.className !== className) node.className = className;
}

// Makes the children of a parent those of the items, by key: known ones stay, with the focus and what is open in them.
function list(parent, items, key, make, update) {
  const known = (parent.known ??= new Map());
  const keys = new Set(items.map(key));
  for (const [name, node] of known) {
    if (!keys.has(name)) {
      node.remove();
      known.delete(name);
    }
  }
  items.forEach((item, index) => {
    let node = known.get(key(item));
    if (!node) known.set(key(item), (node = make(item)));
    update(node, item);
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
  });
}

function row(cells) {
  const made = element("tr");
  for (let index = 0; index < cells; index++) made.append(element("td"));
  return made;
}

function lasting(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

function moment(ms) {
  const date = new Date(ms);
  return `${day.format(date)}, ${clock.format(date)}`;
}

// Alerts

function shares(parts) {
  return (parts || []).map(([name, share]) => `${name} ${Math.round(share * 100)} %`).join(", ");
}

function unit(of) {
  return of.unit.replaceAll("-", " ");
}

function withoutSampling(notice) {
  if (notice.sampling === "none") return "none";
  const most = notice.unsampled_most === undefined ? "an unknown number of" : round(notice.unsampled_most);
  return `${notice.sampling}: there may be from ${round(notice.cardinality)} to ${most} ${unit(notice)}`;
}

function windowFact(count, counted) {
  return `${lasting(count.window_ms)}: ${round(count.cardinality)} ${counted}, ${round(count.peak)} at most, threshold ${round(count.threshold)}`;
}

function facts(notice) {
  return [
    ["probably", notice.kind],
    ["view, rule", `${notice.view}, ${notice.rule}`],
    ["network", notice.label],
    ["since", moment(notice.start_ms)],
    ["peak", `${round(notice.peak)} ${unit(notice)} at ${clock.format(new Date(notice.peak_ms))}`],
    ["windows", notice.windows.length > 1 ? notice.windows.map((count) => windowFact(count, unit(notice))).join("; ") : ""],
    ["other direction", notice.opposite === undefined ? "not watched" : `${round(notice.opposite)} hosts`],
    ["sampling", withoutSampling(notice)],
    ["age of data", lasting(notice.data_age_ms)],
    ["ports", shares(notice.top_ports), "code"],
    ["SYN alone", notice.syn_only === undefined ? "" : `${Math.round(notice.syn_only * 100)} % of contacts`],
    ["peers in", shares(notice.top_prefixes), "code"],
    ["some peers", notice.peers.join("  "), "code"],
    ["largest hosts", (notice.largest || []).map(([host, hosts]) => `${host} ${round(hosts)}`).join(", "), "code"],
    ["sites", (notice.sites || []).map((site) => `${site.site} ${Math.round(site.share * 100)} % (${round(site.cardinality)} ${unit(notice)})`).join(", ")],
    ["no details from", (notice.sites_without_details || []).join(", ")],
    ["silent", (notice.silent || []).map((it) => `${it.source} since ${moment(it.since_ms)}`).join("; ")],
    ["slice missing from", (notice.missing_sites || []).join(", ")],
    ["seen by", (notice.exporters || []).join("  "), "code"],
    ["id", notice.id, "code"],
  ].filter(([, value]) => value);
}

function makeAlert() {
  const made = element("details");
  const summary = element("summary");
  summary.append(element("span", "", "severity"), element("span", "", "says"), element("span", "", "since"));
  made.append(summary, element("dl"));
  return made;
}

function updateAlert(node, notice) {
  node.className = notice.severity;
  const [summary, all] = node.children;
  const [severity, says, since] = summary.children;
  write(severity, notice.severity);
  write(says, notice.text);
  write(since, lasting(last.now_ms - notice.start_ms));
  // A notice is of one moment.
  if (node.shown === notice.now_ms) return;
  node.shown = notice.now_ms;
  all.replaceChildren(...facts(notice).flatMap(([name, value, kind]) => [element("dt", name), element("dd", value, kind)]));
}

function showAlerts(board) {
  const count = board.alerts.length;
  write(byId("alerts-count"), round(count));
  list(byId("alerts"), board.alerts.slice(0, ALERTS), (notice) => notice.id, makeAlert, updateAlert);
  write(byId("alerts-none"), count === 0 ? "Nothing goes on." : count > ALERTS ? `And ${round(count - ALERTS)} more, in the database.` : "");
  document.title = count ? `(${count}) srlg` : "srlg";
}

// Views

// The minute before the last board, and more as more is known.
function span(least, most) {
  const last = most ?? Date.now() / 1e3;
  return [Math.min(least ?? last, last - 60), last];
}

function plot(view) {
  const soft = color("--soft");
  const axis = { stroke: soft, font: "12px system-ui, sans-serif", ticks: { show: false }, grid: { stroke: color("--line"), width: 1 } };
  const ticks = (_, values) => values.map((value) => (Number.isInteger(value) ? number.format(value) : ""));
  const upTo = (least) => ({ range: (_, __, most) => [0, Math.max(least, (most ?? 0) * 1.1)] });
  const shown = (_, value) => (value == null ? "–" : round(value));
  const series = { width: 1.5, points: { show: false }, value: shown };
  return new uPlot({
    width: width(view.chart), height: CHART,
    cursor: { y: false, drag: { x: false, y: false } },
    series: [
      { label: "at", value: (_, value) => (value == null ? "–" : clock.format(new Date(value * 1e3))) },
      { ...series, label: "largest", stroke: color("--accent"), scale: "hosts" },
      { ...series, label: "super points", stroke: color("--second"), scale: "points", dash: [5, 3] },
    ],
    scales: { x: { range: (_, least, most) => span(least, most) }, hosts: upTo(10), points: upTo(5) },
    axes: [
      { ...axis, size: 26, space: 70, incrs: [10, 20, 30, 60, 120, 300], values: (_, values, __, ___, step) => values.map((value) => clock.format(new Date(value * 1e3)).slice(0, step < 60 ? 8 : 5)) },
      { ...axis, scale: "hosts", size: 62, space: 36, values: ticks },
      { ...axis, scale: "points", side: 1, size: 46, space: 36, values: ticks, grid: { show: false } },
    ],
  }, view.data, view.chart);
}

const width = (chart) => Math.max(240, chart.clientWidth);

function makeView({ name, unit: counted }) {
  const section = element("section", undefined, "view");
  const title = element("h2", name);
  title.id = `view-${views.size}`;
  section.setAttribute("aria-labelledby", title.id);
  const view = { section, facts: element("p", "", "facts"), chart: element("div", undefined, "chart"), body: element("tbody"), none: element("p", "", "none"), table: element("table"), data: [[], [], []] };
  const head = element("tr");
  for (const [text, className] of [["host", "wide"], [counted === "hosts" ? "opposite hosts" : unit({ unit: counted }), "n"], ["±", "n"], ["last slices"]]) {
    const cell = element("th", text, className);
    cell.scope = "col";
    head.append(cell);
  }
  const top = element("thead");
  top.append(head);
  view.table.append(top, view.body);
  const scroll = element("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", `${name}: super points`);
  scroll.append(view.table, view.none);
  section.append(title, view.facts, view.chart, scroll);
  byId("views").append(section);
  view.plot = plot(view);
  return view;
}

function makeHost() {
  const made = row(4);
  const [host, count, error, line] = made.children;
  host.className = "code";
  host.append(element("span"), element("em"));
  error.className = "n";
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 90 18");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(SVG, "polyline"));
  line.append(svg);
  return made;
}

function updateHost(node, host) {
  const [name, count, error, line] = node.children;
  write(name.children[0], host.host);
  write(name.children[1], host.label ?? "");
  write(count, `${host.is_lower_bound ? "≥ " : ""}${round(host.cardinality)}`, host.is_alert ? "n alert" : "n");
  count.title = host.is_alert ? "an alert goes on" : "";
  write(error, round(host.std_error));
  const most = Math.max(1, ...host.line);
  const from = 60 - host.line.length;
  const points = host.line.map((value, index) => `${(1 + (index + from) * 88 / 59).toFixed(1)},${(17 - value * 16 / most).toFixed(1)}`);
  line.firstChild.firstChild.setAttribute("points", points.join(" "));
}

function viewFacts(view) {
  const parts = [
    `${round(view.super_points)} ${view.super_points === 1 ? "host" : "hosts"} with ${round(view.threshold)} or more in ${lasting(view.window_ms)}`,
    megabytes(view.memory_bytes),
    `closed in ${(view.close_seconds * 1e3).toFixed(1)} ms`,
    `load ${view.load === null ? "∞" : view.load.toFixed(2)}`,
  ];
  for (const [count, text] of [[view.too_late, "contacts too late"], [view.future, "of the future"], [view.allowed, "allowed"], [view.without_port, "without a port"], [view.overloads, "slices in overload"]]) {
    if (count) parts.push(`${round(count)} ${text}`);
  }
  return parts.join(" · ");
}

function showView(view, now) {
  if (!views.has(view.name)) views.set(view.name, makeView(view));
  const shown = views.get(view.name);
  write(shown.facts, viewFacts(view), view.overloads ? "facts bad" : "facts");
  list(shown.body, view.top, (host) => host.host, makeHost, updateHost);
  shown.table.hidden = !view.top.length;
  write(shown.none, view.top.length ? (view.super_points > view.top.length ? `And ${round(view.super_points - view.top.length)} more.` : "") : "No host is at the threshold.");
  const [times, largest, points] = shown.data;
  // The clock of the data goes back where `srlg run` started again.
  if (times.length && now / 1e3 < times[times.length - 1]) shown.data.forEach((values) => values.splice(0));
  if (times.length && now / 1e3 === times[times.length - 1]) return;
  times.push(now / 1e3);
  largest.push(view.top.length ? view.top[0].cardinality : 0);
  points.push(view.super_points);
  while (times[0] < now / 1e3 - SECONDS) shown.data.forEach((values) => values.shift());
  shown.plot.setData(shown.data);
  if (shown.plot.cursor.left === undefined || shown.plot.cursor.left < 0) shown.plot.setLegend({ idx: times.length - 1 });
}

function showViews(board) {
  const names = new Set(board.views.map((view) => view.name));
  for (const [name, view] of views) {
    if (names.has(name)) continue;
    view.plot.destroy();
    view.section.remove();
    views.delete(name);
  }
  board.views.forEach((view) => showView(view, board.now_ms));
}

// Sites, exporters and sinks

function updateSite(node, site) {
  const { front } = last.network;
  const behind = front === null || site.newest === null ? "–" : round(Math.max(0, front - site.newest));
  const state = site.newest === null ? "never heard of" : site.is_silent ? "silent" : site.is_late ? "late" : "in time";
  updateRow(node, [
    [site.name], [state, state === "in time" ? "" : "bad"], [behind, "n"], [round(site.in_time), "n"],
    [round(site.late), site.late ? "n bad" : "n"], [round(site.repeated), "n"], [round(site.refused), site.refused ? "n bad" : "n"],
    [spooled(site.spool), "n"], [site.spool ? round(site.spool.lost) : "–", site.spool?.lost ? "n bad" : "n"],
  ]);
}

function spooled(spool) {
  if (!spool) return "–";
  return spool.unsent ? `${round(spool.slices)}, ${round(spool.unsent)} unsent` : round(spool.slices);
}

function rate(exporter, now) {
  const known = rates.get(exporter.address);
  if (!known || exporter.records < known.records || now < known.now) {
    rates.set(exporter.address, { now, records: exporter.records });
  } else if (now - known.now >= RATE_MS || (known.rate === undefined && now - known.now >= 1000)) {
    rates.set(exporter.address, { now, records: exporter.records, rate: ((exporter.records - known.records) * 1000) / (now - known.now) });
  }
  const current = rates.get(exporter.address).rate;
  return current === undefined ? "–" : round(current);
}

function updateRow(node, cells) {
  cells.forEach(([text, className], index) => write(node.children[index], text, className ?? ""));
}

const KINDS = { version: "of unknown version", held: "before their template", "bad-clock": "with bad clock", "too-late": "too late", future: "from the future", "without-port": "without a port" };

function notUsed({ troubles, waiting_since_ms: since }) {
  const parts = Object.entries(troubles).filter(([, count]) => count).map(([kind, count]) => `${round(count)} ${KINDS[kind] ?? kind}`);
  if (since !== null) parts.push(`waits for templates since ${clock.format(new Date(since))}`);
  return parts.join(", ");
}

function makeTrouble() {
  const made = element("li");
  made.append(element("strong"), element("span"));
  return made;
}

function updateTrouble(node, trouble) {
  write(node.children[0], trouble.text);
  write(node.children[1], `since ${moment(trouble.since_ms)}: ${trouble.remedy}`);
}

function lastSeen({ last_seen_ms: seen, is_silent: silent }) {
  if (seen === null) return "never";
  return clock.format(new Date(seen)) + (silent ? ", silent" : "");
}

function updateExporter(node, exporter) {
  updateRow(node, [
    [exporter.address, "code"],
    [rate(exporter, last.now_ms), "n"],
    [round(exporter.datagrams), "n"],
    [round(exporter.records), "n"],
    [round(exporter.lost), exporter.lost ? "n bad" : "n"],
    [round(exporter.templates), "n"],
    [notUsed(exporter), "bad"],
    [exporter.sampling, exporter.sampling.includes("unknown") ? "bad" : ""],
    [`${exporter.skew_ms > 0 ? "+" : ""}${(exporter.skew_ms / 1e3).toFixed(1)} s`, Math.abs(exporter.skew_ms) > 5000 ? "n bad" : "n"],
    [lastSeen(exporter), exporter.is_silent ? "n bad" : "n"],
  ]);
}

function updateSink(node, sink) {
  updateRow(node, [
    [sink.name], [round(sink.sent), "n"], [round(sink.queue), "n"], [round(sink.failed), "n"],
    [round(sink.dropped), sink.dropped ? "n bad" : "n"], [sink.error || "works", sink.error ? "bad says" : "says"],
  ]);
}

function showTables(board) {
  const { exporters, network, sinks } = board;
  byId("sites-section").hidden = !network;
  byId("exporters-section").hidden = Boolean(network);
  if (network) list(byId("sites").tBodies[0], network.sites, (site) => site.name, () => row(9), updateSite);
  const addresses = new Set(exporters.map((exporter) => exporter.address));
  for (const address of rates.keys()) if (!addresses.has(address)) rates.delete(address);
  list(byId("exporters").tBodies[0], exporters.slice(0, EXPORTERS), (exporter) => exporter.address, () => row(10), updateExporter);
  byId("exporters").hidden = !exporters.length;
  write(byId("exporters-none"), !exporters.length ? "No exporter has sent anything." : exporters.length > EXPORTERS ? `And ${round(exporters.length - EXPORTERS)} more.` : "");
  list(byId("sinks").tBodies[0], sinks, (sink) => sink.name, () => row(6), updateSink);
  byId("sinks").hidden = !sinks.length;
  const waiting = board.waiting_notices;
  const isFull = waiting > 0 || board.is_checkpoint_failing;
  const full = `The state cannot be written: ${waiting} notifications are not stored yet.`;
  const none = sinks.length ? "" : "Notifications are stored, and sent to no sink.";
  write(byId("sinks-none"), isFull ? full : none);
}

// The board, and how it comes

// The level is "good", "warn" or "bad". What is shown may be old where no board comes.
function state(text, level, isStale = false) {
  write(byId("state"), text, level);
  document.body.classList.toggle("stale", isStale);
}

function show(board) {
  // Nothing is known before the first slice.
  if (!board.views.length) return;
  last = board;
  state(board.health.text, board.health.level);
  list(byId("troubles"), board.troubles, (trouble) => trouble.kind, makeTrouble, updateTrouble);
  const input = [moment(board.now_ms)];
  if (!board.network) input.push(`${round(board.input.contacts)} contacts`);
  if (board.input.refused) input.push(`${round(board.input.refused)} datagrams of strangers`);
  if (board.input.dropped) input.push(`${round(board.input.dropped)} dropped by the kernel`);
  if (board.kafka) input.push(`${round(board.kafka.lag)} messages to read in Kafka`);
  if (!board.is_last_reload_good) input.push("last reload failed");
  input.push(megabytes(board.memory_bytes));
  write(byId("facts"), input.join(" · "));
  showAlerts(board);
  showViews(board);
  showTables(board);
}

let received = 0;

function connect() {
  const events = new EventSource("events");
  events.onmessage = (event) => {
    received = Date.now();
    show(JSON.parse(event.data));
  };
  events.onerror = () => {
    state("no connection, trying again", "bad", true);
    // A browser does not ask again after a refusal.
    if (events.readyState !== EventSource.CLOSED) return;
    events.close();
    setTimeout(connect, 3000);
  };
}

setInterval(() => {
  const silent = Date.now() - received;
  if (last?.is_live && byId("state").className !== "bad" && silent > Math.max(10000, 10 * last.slice_ms)) state(`no slice has ended for ${lasting(silent)}`, "bad", true);
}, 1000);
addEventListener("resize", () => views.forEach((view) => view.plot.setSize({ width: width(view.chart), height: CHART })));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => views.forEach((view) => {
  view.plot.destroy();
  view.plot = plot(view);
}));
connect();
