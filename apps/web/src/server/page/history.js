// Stored incidents of one day, as a timeline with a table below it.
"use strict";

const LANES = 14;
const LANE = 8;
const REFRESH_MS = 60000;
// Choices in the list of active alerts.
const CHOICES = ["alerts-filter", "alerts-sort"];
const FILTERS = ["host", "network", "label", "view", "port", "kind", "severity"];

const past = { day: undefined, isToday: true, incidents: [], next: null, asked: 0, ids: "" };

// Returns the date of today in the format of the form's date field.
function today() {
  const now = new Date();
  const date = isUtc ? now : new Date(now.getTime() - now.getTimezoneOffset() * MINUTE_MS);
  return date.toISOString().slice(0, 10);
}

// Returns the first and the last millisecond of a day.
function dayBounds(day) {
  const [year, month, date] = day.split("-").map(Number);
  const start = (plus) => (isUtc ? Date.UTC(year, month - 1, date + plus) : new Date(year, month - 1, date + plus).getTime());
  return [start(0), start(1) - 1];
}

function dayAfter(day, plus) {
  const date = new Date(`${day}T12:00:00Z`);
  date.setUTCDate(date.getUTCDate() + plus);
  return date.toISOString().slice(0, 10);
}

const filters = () => Object.fromEntries(FILTERS.map((name) => [name, byId(`filter-${name}`).value.trim()]));

// The URL of the page contains the filters, the order of alerts and the range of the charts, so that they can be shared and survive a reload.
function remember() {
  const kept = new URLSearchParams(Object.entries(filters()).filter(([, value]) => value));
  if (past.day !== today()) kept.set("day", past.day);
  for (const name of CHOICES) if (byId(name).value) kept.set(name, byId(name).value);
  const span = byId("span");
  if (!span.selectedOptions[0].defaultSelected) kept.set("span", span.value);
  history.replaceState(null, "", kept.size ? `?${kept}` : location.pathname);
}

function recall() {
  const given = new URLSearchParams(location.search);
  for (const name of FILTERS) {
    const field = byId(`filter-${name}`);
    const value = given.get(name) ?? "";
    if (name === "view" && value) field.append(new Option(value, value));
    field.value = value;
  }
  for (const name of CHOICES) byId(name).value = given.get(name) ?? "";
  const span = given.get("span");
  if ([...byId("span").options].some((option) => option.value === span)) byId("span").value = span;
  const day = given.get("day") ?? "";
  past.day = /^\d{4}-\d\d-\d\d$/.test(day) ? day : today();
  past.isToday = past.day === today();
}

async function showDay(before) {
  const asked = ++past.asked;
  const [from, to] = dayBounds(past.day);
  byId("day").value = past.day;
  byId("day-next").disabled = past.day >= today();
  try {
    const page = await ask("incidents", { from, to, before, ...filters() });
    // A newer request is running.
    if (asked !== past.asked) return;
    past.incidents = before ? past.incidents.concat(page.incidents) : page.incidents;
    past.next = page.next;
    write(byId("history-none"), past.incidents.length ? "" : "No incidents on this day.", "none");
  } catch (error) {
    if (asked !== past.asked) return;
    [past.incidents, past.next] = [[], null];
    write(byId("history-none"), error.message, "none bad");
  }
  past.shown = Date.now();
  drawDay();
}

function drawDay() {
  const count = past.incidents.length;
  write(byId("history-count"), `${round(count)}${past.next === null ? "" : " and more"}`);
  byId("history-more").hidden = past.next === null;
  showIncidents(byId("history-table").firstChild, past.incidents);
  drawTimeline();
}

// Draws a bar for each incident, with one lane per overlapping bar.
function drawTimeline() {
  const [from, to] = dayBounds(past.day);
  const place = (ms) => Math.min(1440, Math.max(0, ((ms - from) * 1440) / (to + 1 - from)));
  const ends = [];
  const bars = past.incidents.toReversed().map((incident) => {
    const start = place(incident.start_ms);
    const end = Math.max(start + 4, place(incident.end_ms ?? Date.now()));
    let lane = ends.findIndex((end) => end <= start);
    if (lane < 0) lane = Math.min(ends.length, LANES - 1);
    ends[lane] = Math.max(end, ends[lane] ?? 0);
    const bar = svg("rect", { x: start.toFixed(1), y: lane * LANE + 1, width: (end - start).toFixed(1), height: LANE - 2, class: incident.severity });
    const title = svg("title", {});
    title.textContent = `${incident.host}, ${incident.severity} ${incident.kind}, ${timeOf(incident.start_ms)}`;
    bar.append(title);
    bar.addEventListener("click", () => location.assign(`${BASE}incident/${incident.id}`));
    return bar;
  });
  const height = Math.max(3, ends.length) * LANE;
  const hours = [0, 3, 6, 9, 12, 15, 18, 21, 24].map((hour) => svg("line", { x1: hour * 60, x2: hour * 60, y1: 0, y2: height }));
  const timeline = byId("timeline");
  timeline.setAttribute("viewBox", `0 0 1440 ${height}`);
  timeline.setAttribute("height", height);
  timeline.setAttribute("aria-label", `Timeline of ${past.day} with ${past.incidents.length} incidents, which the table below lists`);
  timeline.replaceChildren(...hours, ...bars);
}

function turnTo(day) {
  past.day = day;
  past.isToday = day === today();
  remember();
  showDay();
}

function startHistory() {
  byId("history-table").append(makeIncidentTable());
  recall();
  byId("day-before").addEventListener("click", () => turnTo(dayAfter(past.day, -1)));
  byId("day-next").addEventListener("click", () => turnTo(dayAfter(past.day, 1)));
  byId("day-today").addEventListener("click", () => turnTo(today()));
  byId("day").addEventListener("change", (event) => event.target.value && turnTo(event.target.value));
  byId("history-more").addEventListener("click", () => showDay(past.next));
  byId("filters").addEventListener("submit", (event) => {
    event.preventDefault();
    turnTo(past.day);
  });
  for (const name of ["view", "kind", "severity"]) byId(`filter-${name}`).addEventListener("change", () => turnTo(past.day));
  byId("filters-clear").addEventListener("click", () => {
    for (const name of FILTERS) byId(`filter-${name}`).value = "";
    turnTo(past.day);
  });
  showDay();
}

// Reads the history again when an alert starts or ends, and every minute.
function followHistory(overview) {
  const views = byId("filter-view");
  const known = new Set([...views.options].map((option) => option.value));
  for (const { name } of overview.views) if (!known.has(name)) views.append(new Option(name, name));
  // The date changes at midnight.
  if (past.isToday && past.day !== today()) return turnTo(today());
  // Further incidents that the user has loaded stay. While the first incidents are being read, a change is not noted,
  // because the answer may be older.
  if (past.day !== today() || past.incidents.length > 200 || !past.shown) return;
  const ids = overview.alerts.map((alert) => alert.id).sort().join();
  if (ids === past.ids && Date.now() - past.shown <= REFRESH_MS) return;
  past.ids = ids;
  past.shown = Date.now();
  showDay();
}
