// The stream of overviews, which a page follows as long as it is open.
"use strict";

const RETRY_MS = 3000;
const SILENT_MS = 10000;

// Shows the state with the level "good", "warn" or "bad". `isStale` marks the page as outdated.
function state(text, level, isStale = false) {
  write(byId("state"), text, level);
  document.body.classList.toggle("stale", isStale);
}

// Says that the connection is lost. The charts forget their slices, because the page misses some.
function lose(text) {
  charts.forEach((chart) => chart.forget());
  state(text, "bad", true);
}

// Passes each overview to `show`, and says whether it is the first one of a connection.
function follow(show) {
  let [events, overview, isNew, isLost, begun, received] = [undefined, undefined, true, false, 0, 0];
  const connect = () => {
    events?.close();
    events = new EventSource(`${BASE}events`);
    [isNew, begun] = [true, Date.now()];
    events.onmessage = (event) => {
      [isLost, received] = [false, Date.now()];
      overview = JSON.parse(event.data);
      show(overview, isNew);
      isNew = false;
    };
    events.onerror = () => {
      [isNew, isLost] = [true, true];
      lose("connection lost, reconnecting");
      // A browser does not reconnect after an error status.
      if (events.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
    };
  };
  setInterval(() => {
    const most = Math.max(SILENT_MS, 10 * (overview?.slice_ms ?? 0));
    if (!overview?.is_live || isLost || Date.now() - received < most) return;
    lose(`no slice closed for ${lasting(Date.now() - received)}`);
    // A connection may have ended without a word, for example if the machine of the server failed.
    if (Date.now() - begun >= most) connect();
  }, 1000);
  connect();
}
