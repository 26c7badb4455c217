// The page for a screen on a wall, which has no mouse and never scrolls. It shows the largest alerts, a chart of each view
// and the alerts that ended last.
"use strict";

const MOST = { alerts: 6, ended: 5, views: 4 };
const SPAN_MS = 3600000;
const DAY_MS = 86400000;
const SEVERITIES = ["info", "warning", "major", "critical"];
const drawn = new Map();
let last;

function makeAlertRow() {
  const made = element("li");
  const name = element("b");
  name.append(element("span"), element("em"));
  made.append(name, element("b"), element("span"), element("span"));
  return made;
}

function updateAlertRow(node, alert) {
  const [name, count, says, since] = node.children;
  if (node.className !== alert.severity) node.className = alert.severity;
  write(name.children[0], alert.host);
  write(name.children[1], alert.label ?? "");
  write(count, alert.cardinality ? `${round(alert.cardinality)} ${unit(alert)}` : "–");
  write(says, [alert.severity, about(alert)].join(" · "));
  write(since, `for ${lasting(alert.duration_ms)}`);
}

// The server sorts alerts by severity. Among equals, the largest comes first.
function largest(alerts) {
  const rank = (alert) => SEVERITIES.indexOf(alert.severity);
  return [...alerts].sort((a, b) => rank(b) - rank(a) || b.cardinality - a.cardinality).slice(0, MOST.alerts);
}

function showAlerts(overview) {
  const count = alertCount(overview);
  const shown = largest(overview.alerts);
  write(byId("alerts-count"), round(count));
  list(byId("alerts"), shown, (alert) => alert.id, makeAlertRow, updateAlertRow);
  write(byId("alerts-shown"), count > shown.length ? `the ${shown.length} largest are shown` : "");
  write(byId("alerts-none"), count === 0 ? "No active alerts." : "");
}

// Views

const period = () => ({ from: last.now_ms - SPAN_MS, to: last.is_live ? Date.now() : last.now_ms });

function makeView({ name, unit: counted }) {
  const section = element("section", undefined, "view");
  const chart = element("div", undefined, "chart");
  section.append(element("h2", name), chart);
  byId("views").append(section);
  return { section, chart: makeViewChart(chart, counted) };
}

function showViews(overview) {
  const shown = overview.views.slice(0, MOST.views);
  const names = shown.map((view) => view.name).join("\n");
  if (byId("views").dataset.names !== names) {
    byId("views").dataset.names = names;
    for (const { section, chart } of drawn.values()) {
      chart.remove();
      section.remove();
    }
    drawn.clear();
    shown.forEach((view) => drawn.set(view.name, makeView(view)));
    // The places of the charts are known when all of them exist.
    charts.forEach((chart) => chart.draw());
    readCharts();
  }
  shown.forEach((view) => pushView(drawn.get(view.name).chart, view, overview.now_ms));
}

// A chart whose data cannot be read shows the slices since the page was opened.
function readCharts() {
  return Promise.allSettled([...drawn].map(([name, { chart }]) => readView(name, chart, period())));
}

// Alerts that ended last

function updateEnded(node, incident) {
  updateRow(node, [
    [timeOf(incident.end_ms)], [incident.severity, incident.severity], [[incident.host, incident.label].filter(Boolean).join(" ")],
    [incident.kind], [`${round(incident.peak)} ${unit(incident)}`, "n"], [`after ${lasting(incident.end_ms - incident.start_ms)}`, "n"],
  ]);
}

async function readEnded() {
  try {
    const { incidents } = await ask("incidents", { from: last.now_ms - DAY_MS, to: last.now_ms });
    const ended = incidents.filter((incident) => incident.is_over).sort((a, b) => b.end_ms - a.end_ms).slice(0, MOST.ended);
    list(byId("ended").tBodies[0], ended, (incident) => incident.id, () => row(6), updateEnded);
    write(byId("ended-none"), ended.length ? "" : "No alert has ended.", "none");
  } catch (error) {
    write(byId("ended-none"), `Cannot read the history: ${error.message}`, "none bad");
  }
}

function show(overview) {
  // The overview is empty before the first slice closes.
  if (!overview.views.length) return state(overview.health.text, overview.health.level);
  // A program that has started again may have other files.
  if (last && overview.started_ms !== last.started_ms) return location.reload();
  last = overview;
  state(overview.health.text, overview.health.level);
  write(byId("facts"), timeOf(overview.now_ms));
  showAlerts(overview);
  showViews(overview);
}

setInterval(() => last && readEnded(), 30000);
setInterval(() => last && readCharts(), MINUTE_MS);
startZone(() => {
  charts.forEach((chart) => chart.draw());
  if (!last) return;
  show(last);
  readEnded();
});
follow((overview, isNew) => {
  show(overview);
  if (!isNew || !last) return;
  readCharts();
  readEnded();
});
