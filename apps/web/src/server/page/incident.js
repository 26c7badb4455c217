// Texts about an alert.
"use strict";

const unit = (of) => of.unit.replaceAll("-", " ");

const percent = (share) => `${Math.round(share * 100)} %`;

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
function originShares(notice, parts, name) {
  if (!parts) return "";
  const peers = notice.origin_sample === 1 ? "1 sampled peer" : `${notice.origin_sample} sampled peers`;
  return `${shares(parts.map((part) => [name(part), part.share]))} of ${peers}`;
}

function withoutSampling(notice) {
  if (notice.sampling === "none") return "none";
  if (!notice.cardinality) return notice.sampling;
  if (notice.unsampled_most === undefined) return `${notice.sampling}: there may be any number of further ${unit(notice)}`;
  return `${notice.sampling}: up to ${number.format(notice.unsampled_most / notice.cardinality)} times as many ${unit(notice)} without sampling`;
}

const DID = { "fan-in": "contacted by", "fan-out": "contacts", any: "in contact with" };

// Returns the counts of one window as a line.
function windowLine(notice, count) {
  const least = count.is_lower_bound ? "at least " : "";
  const now = count.cardinality ? `${DID[notice.direction]} ${least}${round(count.cardinality)} ± ${round(count.std_error)} ${unit(notice)}` : "count too low to be reported";
  return `${windowName(count.window_ms)}: ${now}, peak ${round(count.peak)} at ${timeOf(count.peak_ms)}, threshold ${round(count.threshold)}`;
}

const subject = (notice) => notice.network ?? notice.host;

// Returns the path of the page of a host, or of the incidents of a network.
function subjectPath(name, view) {
  const address = name.split(" ")[0];
  return address.includes("/") ? `?network=${encodeURIComponent(address)}` : `host/${encodeURIComponent(address)}?view=${encodeURIComponent(view)}`;
}

// Returns a short description of an alert, with its rates and without its counts.
function about(notice) {
  const parts = [notice.kind === "unknown" ? "" : notice.kind.replaceAll("-", " "), notice.view];
  if (notice.network) parts.unshift(`${round(notice.hosts)} ${notice.hosts === 1 ? "host" : "hosts"}`);
  const [port] = notice.top_ports || [];
  if (port && port[1] >= 0.5) parts.push(`mostly ${port[0]}`);
  parts.push(traffic(notice));
  if ((notice.silent || []).length) parts.push("cannot confirm the end");
  if (notice.acknowledged) parts.push(`acknowledged by ${notice.acknowledged.by}`);
  if (notice.silence) parts.push("silenced");
  return parts.filter(Boolean).join(" · ");
}

// Returns the details of the last notification, which do not change with each slice.
function facts(notice) {
  return [
    ...remarks(notice),
    ["rule", notice.rule],
    ["since", moment(notice.start_ms)],
    ["other direction", notice.opposite === undefined ? "not counted" : `${round(notice.opposite)} hosts`],
    ["sampling", withoutSampling(notice)],
    ["data age", lasting(notice.data_age_ms)],
    ["largest traffic", traffic(notice.peak_rates)],
    ["ingress interfaces", (notice.top_interfaces || []).map((it) => `${withName(it.exporter, notice.exporter_names?.[it.exporter])} interface ${withName(it.interface, it.name)} ${percent(it.share)}`).join(", "), "code"],
    ["ports", shares(notice.top_ports), "code"],
    ["SYN only", notice.syn_only === undefined ? "" : `${percent(notice.syn_only)} of contacts`],
    ["networks of peers", prefixes(notice), "code"],
    ["ASes of peers", originShares(notice, notice.top_as, originText)],
    ["countries of peers", originShares(notice, notice.top_countries, (part) => part.country)],
    ["sampled peers", notice.peers.join("  "), "code"],
    ["largest hosts", (notice.largest || []).map(([host, hosts]) => `${host} ${round(hosts)}`).join(", "), "code"],
    ["sites", (notice.sites || []).map((site) => `${site.site} ${percent(site.share)} (${round(site.cardinality)} ${unit(notice)})`).join(", ")],
    ["no details from", (notice.sites_without_details || []).join(", ")],
    ["silent", (notice.silent || []).map((it) => `${withName(it.source, it.name)} since ${moment(it.since_ms)}`).join("; ")],
    ["sites without data for the slice", (notice.missing_sites || []).join(", ")],
    ["seen by", (notice.exporters || []).map((it) => withName(it, notice.exporter_names?.[it])).join(", "), "code"],
    ["last notification", `${moment(notice.told_ms ?? notice.now_ms)}: ${notice.text}`],
    ["id", notice.id, "code"],
  ].filter(([, value]) => value);
}

function writeFacts(node, notice) {
  node.replaceChildren(...facts(notice).flatMap(([name, value, kind]) => [element("dt", name), element("dd", value, kind)]));
}

// Active alerts, each with a line per window

function makeAlert() {
  const made = element("details");
  const summary = element("summary");
  summary.append(element("span", "", "severity"), element("span", "", "subject"), element("span", "", "about"), makeLine(), element("span", "", "since"), element("span", "", "windows"));
  summary.children[1].append(element("b", "", "code"), element("em"));
  const links = element("p", undefined, "links");
  made.append(summary, links, element("dl"));
  return made;
}

function updateAlert(node, notice) {
  if (node.className !== notice.severity) node.className = notice.severity;
  const [summary, links, all] = node.children;
  const [severity, name, says, line, since, windows] = summary.children;
  write(severity, notice.severity);
  write(name.children[0], subject(notice));
  write(name.children[1], notice.label ?? "");
  write(says, about(notice));
  updateLine(line, notice.line ?? []);
  write(since, `for ${lasting(notice.duration_ms)}`);
  list(windows, notice.windows, (count) => count.window_ms, () => element("span"), (line, count) => write(line, windowLine(notice, count), count.is_active ? "" : "past"));
  const shown = `${notice.told_ms} ${notice.text} ${isUtc} ${canAct}`;
  if (node.shown === shown) return;
  node.shown = shown;
  links.replaceChildren(link("Incident", `incident/${notice.id}`), link(notice.network ? "Incidents of this network" : "Host", subjectPath(subject(notice), notice.view)), ...actButtons(notice));
  writeFacts(all, notice);
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
  name.append(link("", subjectPath(incident.subject, incident.view), "code"), element("em"));
  return made;
}

function updateIncident(node, incident) {
  const [started, lasted, severity, name, kind, view, peak, ports] = node.children;
  write(started.firstChild, moment(incident.start_ms));
  write(lasted, incident.is_over ? lasting(incident.end_ms - incident.start_ms) : "active", incident.is_over ? "n" : "n bad");
  write(severity, incident.severity, incident.severity);
  write(name.children[0], incident.subject);
  write(name.children[1], incident.label ?? "");
  write(kind, incident.kind);
  write(view, incident.view);
  write(peak, `${round(incident.peak)} ${unit(incident)} in ${windowName(incident.window_ms)}`, "n");
  write(ports, incident.ports.slice(0, 3).join(", "), "code");
}

function showIncidents(table, incidents) {
  list(table.tBodies[0], incidents, (incident) => incident.id, makeIncident, updateIncident);
  table.hidden = !incidents.length;
}
