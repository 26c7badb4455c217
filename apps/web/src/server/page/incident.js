// Texts about an alert.
"use strict";

const unit = (of) => of.unit.replaceAll("-", " ");

const percent = (share) => `${Math.round(share * 100)} %`;

// Names of ports that operators know, as in /etc/services.
const PORTS = {
  17: "qotd", 19: "chargen", 20: "ftp-data", 21: "ftp", 22: "ssh", 23: "telnet", 25: "smtp", 53: "dns", 69: "tftp", 80: "http", 88: "kerberos", 110: "pop3", 111: "portmap", 123: "ntp",
  135: "msrpc", 137: "netbios", 139: "netbios", 143: "imap", 161: "snmp", 179: "bgp", 389: "ldap", 443: "https", 445: "smb", 465: "smtps", 500: "ike", 514: "syslog", 587: "submission",
  636: "ldaps", 853: "dns-over-tls", 993: "imaps", 995: "pop3s", 1194: "openvpn", 1433: "mssql", 1883: "mqtt", 1900: "ssdp", 3074: "xbox", 3283: "ard", 3306: "mysql", 3389: "rdp", 3478: "stun", 3702: "ws-discovery",
  4500: "ipsec-nat", 5060: "sip", 5353: "mdns", 5432: "postgresql", 5683: "coap", 6379: "redis", 8080: "http-alt", 8443: "https-alt", 9200: "elasticsearch", 11211: "memcached", 27015: "steam", 27017: "mongodb", 51820: "wireguard",
};

// Returns a port such as tcp/443 with the name of its service, if it is well known.
function portName(port) {
  const name = port === "udp/443" ? "quic" : PORTS[port.split("/")[1]];
  return name ? `${port} (${name})` : port;
}

const portShares = (parts = []) => shares(parts.map(([name, share]) => [portName(name), share]));

function shares(parts) {
  return (parts || []).map(([name, share]) => `${name} ${percent(share)}`).join(", ");
}

// Returns the AS and country, if known.
function originText({ asn, as_name: name, country } = {}) {
  return [[asn === undefined ? "" : `AS${asn}`, name].filter(Boolean).join(" "), country].filter(Boolean).join(", ");
}

function prefixes({ top_prefixes: parts = [], origins = {} }) {
  return shares(parts.map(([name, share]) => [[name, originText(origins[name])].filter(Boolean).join(" "), share]));
}

// Returns shares with the size of the sample, because the sample is small.
function originShares(notification, parts, name) {
  if (!parts) return "";
  const peers = notification.origin_sample === 1 ? "1 sampled peer" : `${notification.origin_sample} sampled peers`;
  return `${shares(parts.map((part) => [name(part), part.share]))} of ${peers}`;
}

function withoutSampling(notification) {
  if (notification.sampling === "none") return "none";
  if (!notification.cardinality) return notification.sampling;
  if (notification.unsampled_most === undefined) return `${notification.sampling}: there may be any number of further ${unit(notification)}`;
  return `${notification.sampling}: up to ${number.format(notification.unsampled_most / notification.cardinality)} times as many ${unit(notification)} without sampling`;
}

// Says that a count is, or may be, that of sampled packets.
const sampledText = ({ sampling }) => (sampling === "none" ? "" : ` (sampling ${sampling})`);

const DID = { "fan-in": "contacted by", "fan-out": "contacts", any: "in contact with" };

// Returns the counts of one window as a line.
function windowLine(notification, count) {
  const least = count.is_lower_bound ? "at least " : "";
  const now = count.cardinality ? `${DID[notification.direction]} ${least}${round(count.cardinality)} ± ${round(count.std_error)} ${unit(notification)}${sampledText(notification)}` : "count too low to be reported";
  return `${windowName(count.window_ms)}: ${now}, peak ${round(count.peak)} at ${timeOf(count.peak_ms)}, threshold ${round(count.threshold)}${count.usual ? `, usual at this hour of the week: up to ${round(count.usual.most)}` : ""}`;
}

// Returns the path of the page of a host, or of the incidents of a network.
function hostPath(name, view) {
  const address = name.split(" ")[0];
  return address.includes("/") ? `?network=${encodeURIComponent(address)}` : `host/${encodeURIComponent(address)}?view=${encodeURIComponent(view)}`;
}

function hostLink({ host, view }) {
  return link(host.includes("/") ? "Incidents of this network" : "Host", hostPath(host, view));
}

// Returns a short description of an alert, with its rates and without its counts.
function about(notification) {
  const parts = [notification.kind === "unknown" ? "" : notification.kind.replaceAll("-", " "), notification.view];
  const [to, from] = [notification.top_ports, notification.top_source_ports].map((ports) => ports?.[0]);
  if (to && to[1] >= 0.5) parts.push(`mostly ${portName(to[0])}`);
  else if (from && from[1] >= 0.5) parts.push(`mostly from ${portName(from[0])}`);
  // Active alerts have no rates while the input is lost.
  parts.push(traffic(notification) || (notification.peak_rates && notification.status !== "end" ? "rate: no data" : ""));
  if ((notification.silent || []).length) parts.push("cannot confirm the end");
  if (notification.acknowledged) parts.push(`acknowledged by ${notification.acknowledged.by}`);
  if (notification.silence) parts.push("silenced");
  return parts.filter(Boolean).join(" · ");
}

// Returns the details of the last notification, which do not change with each slice.
function facts(notification) {
  return [
    ...remarks(notification),
    ["rule", notification.rule],
    ["since", moment(notification.start_ms)],
    ["other direction", notification.opposite === undefined ? "not counted" : `${round(notification.opposite)} hosts`],
    ["sampling", withoutSampling(notification)],
    ["data age", lasting(notification.data_age_ms)],
    ["largest traffic", traffic(notification.peak_rates)],
    ["ingress interfaces", (notification.top_interfaces || []).map((it) => `${withName(it.exporter, notification.exporter_names?.[it.exporter])} interface ${withName(it.interface, it.name)} ${percent(it.share)}`).join(", "), "code"],
    ["destination ports", portShares(notification.top_ports), "code"],
    ["source ports", portShares(notification.top_source_ports), "code"],
    ["SYN only", notification.syn_only === undefined ? "" : `${percent(notification.syn_only)} of contacts`],
    ["networks of peers", prefixes(notification), "code"],
    ["ASes of peers", originShares(notification, notification.top_as, originText)],
    ["countries of peers", originShares(notification, notification.top_countries, (part) => part.country)],
    ["sampled peers", notification.peers.join("  "), "code"],
    ["sites", (notification.sites || []).map((site) => `${site.site} ${percent(site.share)} (${round(site.cardinality)} ${unit(notification)})`).join(", ")],
    ["no details from", (notification.sites_without_details || []).join(", ")],
    ["silent", (notification.silent || []).map((it) => `${withName(it.source, it.name)} since ${moment(it.since_ms)}`).join("; ")],
    ["sites without data for the slice", (notification.missing_sites || []).join(", ")],
    ["seen by", (notification.exporters || []).map((it) => withName(it, notification.exporter_names?.[it])).join(", "), "code"],
    ["last notification", `${moment(notification.notified_ms ?? notification.now_ms)}: ${notification.text}`],
    ["id", notification.id, "code"],
  ].filter(([, value]) => value);
}

function writeFacts(node, notification) {
  node.replaceChildren(...facts(notification).flatMap(([name, value, kind]) => [element("dt", name), element("dd", value, kind)]));
}

// Active alerts, each with a line per window

// Returns the number of active alerts from the severity number `first` on.
function alertCount({ views }, first = 0) {
  return views.reduce((sum, view) => view.alerts.slice(first).reduce((all, it) => all + it, sum), 0);
}

function makeAlert() {
  const made = element("details");
  const summary = element("summary");
  summary.append(element("span", "", "severity"), element("span", "", "host"), element("b", "", "count"), element("span", "", "about"), makeLine(), element("span", "", "since"), element("span", "", "windows"));
  summary.children[1].append(element("b", "", "code"), element("em"));
  const links = element("p", undefined, "links");
  made.append(summary, links, element("dl"));
  return made;
}

function updateAlert(node, alert) {
  if (node.className !== alert.severity) node.className = alert.severity;
  const [summary, links, all] = node.children;
  const [severity, name, count, says, line, since, windows] = summary.children;
  write(severity, alert.severity);
  write(name.children[0], alert.host);
  write(name.children[1], alert.label ?? "");
  write(count, alert.cardinality ? round(alert.cardinality) : "–");
  write(says, about(alert));
  says.title = says.textContent;
  updateLine(line, alert.line ?? []);
  write(since, `for ${lasting(alert.duration_ms)}`);
  list(windows, alert.windows, (count) => count.window_ms, () => element("span"), (line, count) => write(line, windowLine(alert, count), count.is_active ? "" : "past"));
  const shown = `${alert.notified_ms} ${alert.text} ${isUtc} ${canAct}`;
  if (node.shown === shown) return;
  node.shown = shown;
  links.replaceChildren(link("Incident", `incident/${alert.id}`), hostLink(alert), ...actButtons(alert));
  writeFacts(all, alert);
}

// Table of incidents

function makeIncidentTable() {
  const table = element("table");
  const head = element("tr");
  for (const [text, className] of [["started"], ["lasted", "n"], ["severity"], ["host or network", "wide"], ["kind"], ["view"], ["peak", "n"], ["ports"]]) {
    const cell = element("th", text, className);
    cell.scope = "col";
    head.append(cell);
  }
  const top = element("thead");
  top.append(head);
  table.append(top, element("tbody"));
  return table;
}

function makeIncident(incident) {
  const made = row(8);
  const [started, , , name] = made.children;
  started.append(link("", `incident/${incident.id}`));
  name.append(link("", hostPath(incident.host, incident.view), "code"), element("em"));
  return made;
}

function updateIncident(node, incident) {
  const [started, lasted, severity, name, kind, view, peak, ports] = node.children;
  write(started.firstChild, moment(incident.start_ms));
  write(lasted, incident.is_over ? lasting(incident.end_ms - incident.start_ms) : "active", incident.is_over ? "n" : "n bad");
  write(severity, incident.severity, incident.severity);
  write(name.children[0], incident.host);
  write(name.children[1], incident.label ?? "");
  write(kind, incident.kind);
  write(view, incident.view);
  write(peak, `${round(incident.peak)} ${unit(incident)} in ${windowName(incident.window_ms)}`, "n");
  write(ports, incident.ports.slice(0, 3).map(portName).join(", "), "code");
}

function showIncidents(table, incidents) {
  list(table.tBodies[0], incidents, (incident) => incident.id, makeIncident, updateIncident);
  table.hidden = !incidents.length;
}
