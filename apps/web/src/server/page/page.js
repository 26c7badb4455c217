// The main page: the latest overview, updated with each slice, and charts of the time before.
"use strict";

const ALERTS = 200;
const CARDS = 10;
const RATE_MS = 5000;
const views = new Map();
const rates = new Map();
let last;
let input;

// Alerts

const ORDERS = {
  peers: (a, b) => b.cardinality - a.cardinality,
  start: (a, b) => b.start_ms - a.start_ms,
  host: (a, b) => a.host.localeCompare(b.host, "en", { numeric: true }),
};

// Returns the alerts that have all words of the filter, in the chosen order. The server sorts by severity.
function arrange(alerts) {
  const words = byId("alerts-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = ({ severity, host, label, kind, view }) => [severity, host, label, kind, view].join(" ").toLowerCase();
  const chosen = alerts.filter((alert) => words.every((word) => text(alert).includes(word)));
  const order = ORDERS[byId("alerts-sort").value];
  return order ? chosen.sort(order) : chosen;
}

function showAlerts(overview) {
  const [count, sent] = [alertCount(overview), alertCount(overview, 1)];
  const isMany = count > CARDS;
  byId("alerts-tools").hidden = !isMany;
  byId("alerts").classList.toggle("many", isMany);
  const chosen = isMany ? arrange(overview.alerts) : overview.alerts;
  const shown = chosen.slice(0, ALERTS);
  write(byId("alerts-count"), round(count));
  const shared = byId("alerts-shared");
  shared.hidden = overview.shared.length === 0;
  write(shared, overview.shared.join(", "));
  list(byId("alerts"), shown, (alert) => alert.id, makeAlert, updateAlert);
  const absent = count - shown.length;
  write(byId("alerts-none"), count === 0 ? "No active alerts." : absent ? `Alerts not shown here: ${round(absent)}. See /api/v1/alerts.` : "");
  document.title = sent ? `(${sent}) srlg` : "srlg";
}

// Charts of the last minutes, hours or days

const INPUT_LINES = [{ label: "per second", color: "--accent", scale: "rate" }];

const spanMs = () => Number(byId("span").value) * 1000;

// Returns the period that the charts show.
function times() {
  const to = last.is_live ? Date.now() : last.now_ms;
  return { from: to - spanMs(), to };
}

async function readInput() {
  const exporter = byId("input-of").value;
  const answer = await ask("series", { exporter, ...times() });
  const columns = (from) => [exporter ? from.records : from.contacts];
  input.set(answer, { stored: columns(answer), recent: columns(answer.recent) });
}

// Reads the data of all charts again. A chart whose data cannot be read does not change.
async function readCharts() {
  const reads = [...views].map(([name, { chart }]) => readView(name, chart, times()));
  if (input) reads.push(readInput());
  const failed = (await Promise.allSettled(reads)).find((read) => read.status === "rejected");
  write(byId("charts-none"), failed ? `Cannot read chart data: ${failed.reason.message}` : "");
}

function setSpan() {
  remember();
  charts.forEach((chart) => (chart.span = spanMs() / 1000));
  readCharts();
}

// Views

function makeView({ name, unit: counted }) {
  const section = element("section", undefined, "view");
  const title = element("h2", name);
  title.id = `view-${views.size}`;
  section.setAttribute("aria-labelledby", title.id);
  const view = { section, facts: element("p", "", "facts"), body: element("tbody"), none: element("p", "", "none"), table: element("table") };
  const drawn = element("div", undefined, "chart");
  const head = element("tr");
  for (const [text, className] of [["host", "wide"], [counted === "hosts" ? "peers" : unit({ unit: counted }), "n"], ["±", "n"], ["last slices"]]) {
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
  scroll.setAttribute("aria-label", `${name}: hosts over the threshold`);
  scroll.append(view.table, view.none);
  drawn.classList.add("of-alerts");
  scroll.classList.add("of-alerts");
  section.append(title, view.facts, drawn, scroll);
  byId("views").append(section);
  view.chart = makeViewChart(drawn, counted);
  view.chart.span = spanMs() / 1000;
  readView(name, view.chart, times()).catch((error) => write(byId("charts-none"), error.message));
  return view;
}

function makeHost() {
  const made = row(4);
  const [host, , error, line] = made.children;
  host.append(link("", "", "code"), element("em"));
  error.className = "n";
  line.append(makeLine());
  return made;
}

function updateHost(node, host, view) {
  const [name, count, error, line] = node.children;
  write(name.children[0], host.host);
  name.children[0].href = hostPath(host.host, view);
  write(name.children[1], host.label ?? "");
  write(count, `${host.is_lower_bound ? "≥ " : ""}${round(host.cardinality)}`, host.is_alert ? "n alert" : "n");
  count.title = host.is_alert ? "active alert" : "";
  write(error, round(host.std_error));
  updateLine(line.firstChild, host.line);
}

// A probe counts, but does not search for super points.
function viewFacts(view) {
  const found = last.probe ? [`window of ${windowName(view.window_ms)}`] : [`${round(view.super_points)} ${view.super_points === 1 ? "host" : "hosts"} with ${round(view.threshold)} or more in ${windowName(view.window_ms)}`];
  const parts = [...found, ...(view.overloads ? ["overload: more pairs than planned"] : [])];
  for (const [count, text] of [[view.too_late, "contacts too late"], [view.future, "from the future"], [view.allowed, "ignored (allow lists)"], [view.without_port, "without a port"]]) {
    if (count) parts.push(`${round(count)} ${text}`);
  }
  return parts.join(" · ");
}

function showView(view, now) {
  if (!views.has(view.name)) views.set(view.name, makeView(view));
  const shown = views.get(view.name);
  write(shown.facts, viewFacts(view), view.overloads ? "facts bad" : "facts");
  list(shown.body, view.top, (host) => host.host, makeHost, (node, host) => updateHost(node, host, view.name));
  shown.table.hidden = !view.top.length;
  write(shown.none, view.top.length ? (view.super_points > view.top.length ? `Hosts not shown: ${round(view.super_points - view.top.length)}.` : "") : view.found_from === null ? "No hosts to show." : `No host has ${round(view.found_from)} or more.`);
  pushView(shown.chart, view, now);
}

function showViews(overview) {
  const names = new Set(overview.views.map((view) => view.name));
  for (const [name, view] of views) {
    if (names.has(name)) continue;
    view.chart.remove();
    view.section.remove();
    views.delete(name);
  }
  overview.views.forEach((view) => showView(view, overview.now_ms));
}

// Input of a site

function showInput(overview) {
  byId("input-section").hidden = Boolean(overview.network);
  if (overview.network) return;
  const known = new Set([...byId("input-of").options].map((option) => option.value));
  for (const { address, name } of overview.exporters) {
    if (!known.has(address)) byId("input-of").append(new Option(`flow records from ${withName(address, name)}`, address));
  }
  if (input) return;
  input = new Chart(byId("input"), INPUT_LINES, ["per second"]);
  input.span = spanMs() / 1000;
  readInput().catch((error) => write(byId("charts-none"), error.message));
}

// Engine, sites, exporters and sinks

function updateEngine(node, view) {
  updateRow(node, [
    [view.name], [megabytes(view.memory_bytes), "n"], [last.probe ? "–" : `${(view.close_seconds * 1e3).toFixed(1)} ms`, "n"],
    [last.probe ? "–" : view.load === null ? "∞" : view.load.toFixed(2), "n"], [view.share > 1 ? `1 in ${view.share}` : "all", "n"], [round(view.overloads), view.overloads ? "n bad" : "n"],
  ]);
}

function updateSite(node, site) {
  const { front } = last.network;
  const behind = front === null || site.newest === null ? "–" : round(Math.max(0, front - site.newest));
  const state = site.newest === null ? "no data yet" : site.is_silent ? "silent" : site.is_late ? "late" : site.is_input_lost ? "no traffic" : "in time";
  updateRow(node, [
    [site.name], [state, state === "in time" ? "" : "bad"], [behind, "n"], [round(site.in_time), "n"],
    [round(site.late), site.late ? "n bad" : "n"], [round(site.repeated), "n"], [round(site.refused), site.refused ? "n bad" : "n"],
    [spooled(site.spool), "n"], [site.spool ? round(site.spool.lost) : "–", site.spool?.lost ? "n bad" : "n"],
  ]);
}

const sliceTime = (slice) => (slice === null ? "–" : timeOf(slice * last.slice_ms));

function updateProbe(node, probe) {
  updateRow(node, [
    [probe.broker], [probe.is_connected ? "connected" : "not connected", probe.is_connected ? "" : "bad"], [sliceTime(probe.newest), "n"],
    [sliceTime(probe.durable), "n"], [megabytes(probe.sent_bytes), "n"], [spooled(probe.spool), "n"], [round(probe.spool.lost), probe.spool.lost ? "n bad" : "n"],
  ]);
}

function showProbe({ probe }) {
  byId("probe-section").hidden = !probe;
  document.body.classList.toggle("probe", Boolean(probe));
  if (!probe) return;
  write(byId("probe-name"), probe.name);
  byId("probe-collector").hidden = !probe.collector;
  write(byId("probe-link"), probe.collector ?? "");
  byId("probe-link").href = probe.collector ?? "";
  list(byId("probe").tBodies[0], [probe], (it) => it.name, () => row(7), updateProbe);
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

const KINDS = { version: "with unknown version", held: "before their template", "bad-clock": "with wrong clock", "shared-address": "of several exporters", "too-late": "too late", future: "from the future", "without-port": "without a port" };

function notUsed({ problems, waiting_since_ms: since }) {
  const parts = Object.entries(problems).filter(([, count]) => count).map(([kind, count]) => `${round(count)} ${KINDS[kind] ?? kind}`);
  if (since !== null) parts.push(`waiting for templates since ${timeOf(since)}`);
  return parts.join(", ");
}

function makeProblem() {
  const made = element("li");
  made.append(element("strong"), element("span"));
  return made;
}

function updateProblem(node, problem) {
  write(node.children[0], problem.text);
  write(node.children[1], `since ${moment(problem.since_ms)}: ${problem.remedy}`);
}

function lastSeen({ last_seen_ms: seen, is_silent: silent }) {
  if (seen === null) return "never";
  return timeOf(seen) + (silent ? ", silent" : "");
}

function updateExporter(node, exporter) {
  updateRow(node, [
    [withName(exporter.address, exporter.name), "code"],
    [rate(exporter, last.now_ms), "n"],
    [round(exporter.datagrams), "n"],
    [round(exporter.records), "n"],
    exporter.lost === null ? ["unknown", "n bad"] : [round(exporter.lost), exporter.lost ? "n bad" : "n"],
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
    [round(sink.dropped), sink.dropped ? "n bad" : "n"], [sink.error || (sink.held ? `rate limit: alerts waiting: ${round(sink.held)}` : "ok"), sink.error || sink.held ? "bad says" : "says"],
  ]);
}

function showTables(overview) {
  const { exporters, network, sinks } = overview;
  byId("sites-section").hidden = !network;
  byId("exporters-section").hidden = Boolean(network);
  if (network) list(byId("sites").tBodies[0], network.sites, (site) => site.name, () => row(9), updateSite);
  const addresses = new Set(exporters.map((exporter) => exporter.address));
  for (const address of rates.keys()) if (!addresses.has(address)) rates.delete(address);
  list(byId("exporters").tBodies[0], exporters, (exporter) => exporter.address, () => row(10), updateExporter);
  byId("exporters").hidden = !exporters.length;
  write(byId("exporters-none"), !exporters.length ? "No exporter has sent data yet." : overview.exporter_count > exporters.length ? `Exporters not shown: ${round(overview.exporter_count - exporters.length)}.` : "");
  write(byId("engine-memory"), `${megabytes(overview.memory_bytes)} of memory`);
  list(byId("engines").tBodies[0], overview.views, (view) => view.name, () => row(6), updateEngine);
  list(byId("sinks").tBodies[0], sinks, (sink) => sink.name, () => row(6), updateSink);
  byId("sinks").hidden = !sinks.length;
  const waiting = overview.waiting_notifications;
  const isFull = waiting > 0 || overview.is_checkpoint_failing;
  const full = waiting ? `Cannot write the state: ${waiting} notifications not stored yet.` : "Cannot write a checkpoint.";
  const none = sinks.length ? "" : "No sinks are configured, so notifications are stored but not sent.";
  write(byId("sinks-none"), isFull ? full : none);
}

// Overview and its stream

function show(overview) {
  // The overview is empty before the first slice closes.
  if (!overview.views.length && !overview.probe) return;
  last = overview;
  canAct = overview.can_act;
  state(overview.health.text, overview.health.level);
  showProbe(overview);
  if (!overview.views.length) return;
  list(byId("problems"), overview.problems, (problem) => problem.kind, makeProblem, updateProblem);
  const input = [moment(overview.now_ms)];
  if (!overview.network) input.push(`${round(overview.input.contacts)} contacts`);
  if (overview.input.refused) input.push(`${round(overview.input.refused)} datagrams from unknown senders`);
  if (overview.input.dropped) input.push(`${round(overview.input.dropped)} dropped by the kernel`);
  if (overview.broker) input.push(`${round(overview.broker.lag)} messages waiting at the broker`);
  if (!overview.is_last_reload_good) input.push("last reload failed or was incomplete");
  if (overview.is_learning) input.push("learning what is usual; no sink is notified");
  write(byId("facts"), input.join(" · "));
  showAlerts(overview);
  showSilences(overview.silences);
  showViews(overview);
  showInput(overview);
  showTables(overview);
  if (!overview.probe) followHistory(overview);
}

setInterval(() => last && readCharts(), MINUTE_MS);
setInterval(() => input && readInput().catch((error) => write(byId("charts-none"), error.message)), RATE_MS);
startZone(() => {
  if (last) show(last);
  charts.forEach((chart) => chart.draw());
  turnTo(past.isToday ? today() : past.day);
});
byId("span").addEventListener("change", setSpan);
for (const [name, event] of [["filter", "input"], ["sort", "change"]]) {
  byId(`alerts-${name}`).addEventListener(event, () => {
    remember();
    if (last) showAlerts(last);
  });
}
byId("alerts-tools").addEventListener("submit", (event) => event.preventDefault());
byId("input-of").addEventListener("change", () => readInput().catch((error) => write(byId("charts-none"), error.message)));
startHistory();
follow((overview, isNew) => {
  show(overview);
  // The stored minutes contain the slices that this page has missed.
  if (isNew) readCharts();
});
