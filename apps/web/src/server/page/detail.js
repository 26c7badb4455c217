// The page of one incident or one host.
"use strict";

const REFRESH_MS = 5000;
const [sort, key] = location.pathname.split("/").slice(-2).map(decodeURIComponent);
const view = new URLSearchParams(location.search).get("view") ?? "";
let found;
let peerChart;

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

function drawPeerChart(notifications, alert) {
  const points = notifications.filter((notification) => notification.status !== "end").map((notification) => [notification.now_ms / 1e3, notification.cardinality]);
  if (alert && alert.now_ms / 1e3 > points.at(-1)?.[0]) points.push([alert.now_ms / 1e3, alert.cardinality]);
  byId("peer-chart-section").hidden = points.length < 2;
  if (points.length < 2) return;
  peerChart ??= new Chart(byId("peer-chart"), [{ label: "peers", color: "--accent", scale: "peers" }]);
  peerChart.stored = [points.map(([time]) => time), points.map(([, count]) => count)];
  peerChart.end = points.at(-1)[0];
  peerChart.span = Math.max(60, peerChart.end - points[0][0]);
  peerChart.show();
}

function showIncident({ alert, notifications }) {
  const end = notifications.at(-1);
  const isOver = end.status === "end";
  title(`${end.kind === "unknown" ? "incident" : end.kind} of ${end.host} (${end.severity})`);
  const lasted = lasting((alert ?? end).duration_ms);
  write(byId("state"), isOver ? `over after ${lasted}` : `active for ${lasted}`, isOver ? "good" : "bad");
  list(byId("alerts"), alert ? [alert] : [], (alert) => alert.id, makeAlert, updateAlert);
  write(byId("alerts-none"), alert ? "" : isOver ? end.text : "The latest slice has no counts for this alert.");
  const links = byId("links");
  const acts = isOver ? actButtons(end, reread) : [];
  links.replaceChildren(hostLink(end), ...acts);
  const details = detailed(notifications);
  // Peers have their own table.
  writeFacts(byId("facts"), { ...details, peers: [] });
  showPeers(details);
  write(byId("notifications-count"), round(notifications.length));
  list(byId("notifications").tBodies[0], [...notifications.keys()], (index) => index, () => row(6), (node, index) => updateNotification(node, notifications[index]));
  for (const part of ["facts", "notifications"]) byId(`${part}-section`).hidden = false;
  drawPeerChart(notifications, alert);
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
    found = sort === "incident" ? await ask(`incidents/${encodeURIComponent(key)}`, {}) : await ask(`hosts/${encodeURIComponent(key)}`, { view });
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
