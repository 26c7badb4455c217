// The page of one incident or one host.
"use strict";

const REFRESH_MS = 5000;
const [sort, key] = location.pathname.split("/").slice(-2).map(decodeURIComponent);
const view = new URLSearchParams(location.search).get("view") ?? "";
let found;
let series;
let peerChart;
let rateChart;

function title(text) {
  write(byId("title"), text);
  document.title = `${text} – srlg`;
}

// An incident

function updateNotification(node, notification) {
  const [time, status, why, severity, peers, text] = node.children;
  write(time, moment(notification.now_ms));
  write(status, notification.status);
  write(why, notification.why);
  write(severity, notification.severity, notification.severity);
  write(peers, notification.status === "end" ? "–" : round(notification.cardinality), "n");
  write(text, notification.text, "says");
}

// Returns the last notification with details. The end of an alert has no details.
function detailed(notifications) {
  return notifications.findLast((notification) => notification.status !== "end") ?? notifications.at(-1);
}

function updatePeer(node, { peer, asn, as_name: name, country }) {
  updateRow(node, [[peer, "code"], [asn === undefined ? "–" : `AS${asn}`], [name ?? "–"], [country ?? "–"]]);
}

function showPeers({ id, peers, origins = {}, top_prefixes: prefixes }) {
  const rows = peers.map((peer) => ({ peer, ...origins[peer] }));
  byId("peers-section").hidden = !rows.length;
  write(byId("peers-count"), round(rows.length));
  list(byId("peers").tBodies[0], rows, (row) => row.peer, () => row(4), updatePeer);
  const links = [link("Peers as CSV", `api/v1/incidents/${id}/peers.csv`)];
  if (prefixes) links.push(link("Networks of peers as CSV", `api/v1/incidents/${id}/prefixes.csv`));
  byId("peers-links").replaceChildren(...links);
}

// The moments of an incident that its charts mark.
function marks(notifications, [times, peers]) {
  const first = notifications[0];
  const peak = peers.indexOf(Math.max(...peers));
  const made = [{ time: first.start_ms / 1e3, text: "start" }];
  if (peak >= 0) made.push({ time: times[peak], text: `peak ${round(peers[peak])}` });
  for (const { now_ms: now, status, why } of notifications) {
    if (status === "end") made.push({ time: now / 1e3, text: "end" });
    else if (["acknowledged", "silenced"].includes(why)) made.push({ time: now / 1e3, text: why });
  }
  return made;
}

// Draws the series of an incident: its count with the threshold and what is usual, and its rates.
function drawCharts(notifications) {
  const { times_ms: ms, peers, packets_per_second: packets, bits_per_second: bits } = series;
  const times = ms.map((time) => time / 1e3);
  byId("peer-chart-section").hidden = times.length < 2;
  if (times.length < 2) return;
  const [main] = detailed(notifications).windows;
  const lines = [{ label: "peers", color: "--accent", scale: "peers" }, { label: "threshold", color: "--major", scale: "peers", dash: [5, 3], fixed: true }];
  if (main.usual) lines.push({ label: "usual, up to", color: "--second", scale: "peers", dash: [2, 3], fixed: true });
  byId("series-links").replaceChildren(link("Course as CSV", `api/v1/incidents/${notifications[0].id}/series.csv`));
  const constant = (value) => times.map(() => value);
  const fill = (chart, columns) => {
    Object.assign(chart, { stored: [times, ...columns], end: times.at(-1), span: Math.max(60, times.at(-1) - times[0]), marks: marks(notifications, [times, peers]) });
    chart.show();
  };
  peerChart ??= new Chart(byId("peer-chart"), lines, [`${unit(notifications[0])} in ${windowName(main.window_ms)}`]);
  fill(peerChart, [peers, constant(main.threshold), constant(main.usual?.most)].slice(0, lines.length));
  byId("rate-chart").hidden = packets.every((value) => value === null) && bits.every((value) => value === null);
  if (byId("rate-chart").hidden) return;
  rateChart ??= new Chart(byId("rate-chart"), [{ label: "packets/s", color: "--accent", scale: "packets" }, { label: "bits/s", color: "--second", scale: "bits", dash: [5, 3] }], ["packets/s", "bits/s"]);
  fill(rateChart, [packets, bits]);
}

// Shows the buttons for actions. They stay while the same actions are possible, so that they keep their focus.
function showActs(last) {
  const acts = byId("acts");
  const possible = [canAct, last.status === "end", Boolean(last.acknowledged), Boolean(last.silence)].join();
  acts.hidden = false;
  if (acts.dataset.possible === possible) return;
  acts.dataset.possible = possible;
  acts.replaceChildren(...actButtons(last, reread), rulesButton(() => detailed(found.notifications)));
}

function showIncident({ alert, notifications }) {
  const end = notifications.at(-1);
  const isOver = end.status === "end";
  title(`${end.kind === "unknown" ? "incident" : end.kind} of ${end.host} (${end.severity})`);
  const lasted = lasting((alert ?? end).duration_ms);
  write(byId("state"), isOver ? `over after ${lasted}` : `active for ${lasted}`, isOver ? "good" : "bad");
  list(byId("alerts"), alert ? [alert] : [], (alert) => alert.id, makeAlert, updateAlert);
  write(byId("alerts-none"), alert ? "" : isOver ? end.text : "The latest slice has no counts for this alert.");
  byId("links").replaceChildren(hostLink(end));
  showActs(end);
  const details = detailed(notifications);
  // Peers have their own table.
  writeFacts(byId("facts"), { ...details, peers: [] });
  showPeers(details);
  write(byId("notifications-count"), round(notifications.length));
  list(byId("notifications").tBodies[0], [...notifications.keys()], (index) => index, () => row(6), (node, index) => updateNotification(node, notifications[index]));
  for (const part of ["facts", "notifications"]) byId(`${part}-section`).hidden = false;
  drawCharts(notifications);
}

// A host

function makeCount() {
  const made = row(4);
  made.children[3].append(makeLine());
  return made;
}

function updateCount(node, count) {
  const [of, peers, error, line] = node.children;
  write(of, count.view);
  write(peers, `${count.is_lower_bound ? "≥ " : ""}${round(count.cardinality)}`, count.is_alert ? "n alert" : "n");
  write(error, round(count.std_error), "n");
  updateLine(line.firstChild, count.line);
}

function showHost({ host, counts, alerts, incidents, next }) {
  title(view ? `${host} in ${view}` : host);
  write(byId("state"), alerts.length ? "alert active" : "no alert", alerts.length ? "bad" : "good");
  list(byId("alerts"), alerts, (alert) => alert.id, makeAlert, updateAlert);
  write(byId("alerts-none"), alerts.length ? "" : "This host has no active alerts.");
  byId("counts-section").hidden = !counts.length;
  list(byId("counts").tBodies[0], counts, (count) => count.view + count.host, makeCount, updateCount);
  byId("incidents-section").hidden = false;
  write(byId("incidents-count"), `${round(incidents.length)}${next === null ? "" : " and more"}`);
  showIncidents(byId("incidents").firstChild, incidents);
  write(byId("incidents-none"), incidents.length ? "" : "This host has no stored incidents.");
}

function show() {
  canAct = found.can_act;
  if (sort === "incident") showIncident(found);
  else showHost(found);
}

async function reread() {
  try {
    const path = `${sort}s/${encodeURIComponent(key)}`;
    found = await ask(path, sort === "incident" ? {} : { view });
    if (sort === "incident") series = await ask(`${path}/series`, {});
    show();
  } catch (error) {
    if (!found) title(key);
    write(byId("state"), error.message, "bad");
  }
}

async function read() {
  await reread();
  if (!(sort === "incident" && found?.notifications.at(-1).status === "end")) setTimeout(read, REFRESH_MS);
}

byId("incidents").append(makeIncidentTable());
startZone(() => {
  if (found) show();
  charts.forEach((chart) => chart.draw());
});
read();
