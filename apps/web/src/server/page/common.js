// Functions that all pages use. Data is always inserted as text, never as HTML.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const BASE = document.documentElement.dataset.base;
const MINUTE_MS = 60000;
const LINE = 60;
const colors = getComputedStyle(document.documentElement);
const color = (name) => colors.getPropertyValue(name).trim();
const number = new Intl.NumberFormat("en");
const round = (value) => (value === null ? "∞" : number.format(Math.round(value)));
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const byId = (id) => document.getElementById(id);

// Elements

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Unchanged text is not touched, so that it stays selected and screen readers read it only once.
function write(node, text, className) {
  if (node.textContent !== text) node.textContent = text;
  if (className !== undefined && node.className !== className) node.className = className;
}

// Updates the children of a parent to match the items by key. Known children stay, so that they keep their focus and
// open details.
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

// Writes the cells of a row. Each cell has a text and an optional class.
function updateRow(node, cells) {
  cells.forEach(([text, className], index) => write(node.children[index], text, className ?? ""));
}

function svg(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function link(text, path, className) {
  const made = element("a", text, className);
  made.href = BASE + path;
  return made;
}

// Returns a `thing`, such as an exporter's address, with its name in the configuration, if it has one.
const withName = (thing, name) => (name ? `${name} (${thing})` : thing);

// Creates a small chart of the last slices, which is aligned to the right.
function makeLine() {
  const made = svg("svg", { viewBox: "0 0 90 18", class: "line", "aria-hidden": "true" });
  made.append(svg("polyline", {}));
  return made;
}

function updateLine(node, values) {
  const most = Math.max(1, ...values);
  const from = LINE - values.length;
  const points = values.map((value, index) => `${(1 + ((index + from) * 88) / (LINE - 1)).toFixed(1)},${(17 - (value * 16) / most).toFixed(1)}`);
  node.firstChild.setAttribute("points", points.join(" "));
}

// Packets and bits per second

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];

function quantity(value, unit) {
  let at = 0;
  // A value that would be rounded to 1000 gets the next prefix.
  for (; value >= 999.5 && at < PREFIXES.length - 1; at++) value /= 1000;
  return `${value.toFixed(at && value < 9.95 ? 1 : 0)} ${PREFIXES[at]}${unit}`;
}

function traffic(rates) {
  const parts = [];
  if (rates?.packets_per_second !== undefined) parts.push(quantity(rates.packets_per_second, "pps"));
  if (rates?.bits_per_second !== undefined) parts.push(quantity(rates.bits_per_second, "bit/s"));
  if (!parts.length) return "";
  const { is_rate_lower_bound: lower, is_rate_upper_bound: upper } = rates;
  const bound = lower && upper ? "roughly " : lower ? "at least " : upper ? "up to " : "";
  return `${bound}${parts.join(", ")}${rates.is_rate_scaled ? " (estimated from samples)" : ""}`;
}

// Times, in UTC or in the zone of the browser

let clock;
let moments;
let isUtc;

function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    // The browser may forbid storage.
    return null;
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // If storage is forbidden, the choice is lost when the page is closed.
  }
}

function setZone(utc) {
  isUtc = utc;
  const timeZone = utc ? "UTC" : undefined;
  clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone });
  moments = new Intl.DateTimeFormat("en", { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short", timeZone });
  const zone = utc ? "UTC" : moments.formatToParts(new Date()).find((part) => part.type === "timeZoneName").value;
  write(byId("zone"), `Times: ${utc ? "UTC" : `local, ${zone}`}`);
  byId("zone").title = utc ? "Show local times" : "Show times in UTC";
}

// Calls `changed` whenever the time zone is switched.
function startZone(changed) {
  setZone(stored("zone") === "utc");
  byId("zone").addEventListener("click", () => {
    setZone(!isUtc);
    store("zone", isUtc ? "utc" : "local");
    changed();
  });
}

function lasting(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const [small, length, large] = seconds < 3600 ? ["", 1, "min"] : seconds < 86400 ? ["min", 60, "h"] : ["h", 24, "d"];
  const units = Math.floor(seconds / { min: 60, h: 60, d: 3600 }[large]);
  const [whole, rest] = [Math.floor(units / length), units % length];
  return `${whole} ${large}${rest ? ` ${rest} ${small}` : ""}`;
}

// Returns the length of a window as text.
function windowName(ms) {
  if (ms >= 120000 && ms % 3600000 === 0) return `${ms / 3600000} h`;
  return ms >= 120000 && ms % 60000 === 0 ? `${ms / 60000} min` : `${ms / 1000} s`;
}

const moment = (ms) => moments.format(new Date(ms));
const timeOf = (ms) => clock.format(new Date(ms));

// The API

async function ask(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== ""));
  const answer = await fetch(`${BASE}api/v1/${path}?${query}`);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}
