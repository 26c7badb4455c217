// Lines for the configuration that end the alerts of an incident: a rule with a higher threshold, or an allow entry.
"use strict";

const quoted = (text) => JSON.stringify(text);
const windowKey = (ms) => (ms % 1000 ? `${ms}ms` : `${ms / 1000}s`);

// Returns a threshold a quarter above the peak, rounded up to two digits.
function above(peak) {
  const least = peak * 1.25;
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(least)) - 1);
  return Math.max(8, Math.ceil(least / unit) * unit);
}

function ruleLines({ host, view, windows }) {
  const [address] = host.split(" ");
  return [
    "[[rule]]", `name = ${quoted(`${address} in ${view}`)}`, `views = [${quoted(view)}]`, `networks = [${quoted(address)}]`,
    `thresholds = { ${windows.map(({ window_ms: ms, peak }) => `${windowKey(ms)} = ${above(peak)}`).join(", ")} }`,
  ].join("\n");
}

// Returns the numbers of the TCP and UDP ports that most contacts of a service have.
function servicePorts({ kind, top_ports: to = [], top_source_ports: from = [] }) {
  if (!["server", "resolver"].includes(kind)) return [];
  const most = [...to, ...from].filter(([name, share]) => share >= 0.5 && /^(tcp|udp)\/\d+$/.test(name));
  return [...new Set(most.map(([name]) => Number(name.split("/")[1])))];
}

function allowLines(notification) {
  const ports = servicePorts(notification);
  const lines = ["[[allow]]", `why = ${quoted(notification.kind === "unknown" ? "known host" : `known ${notification.kind}`)}`, `hosts = [${quoted(notification.host.split(" ")[0])}]`, ...(ports.length ? [`ports = [${ports.join(", ")}]`] : []), `views = [${quoted(notification.view)}]`];
  return lines.join("\n");
}

function block(says, lines) {
  const made = element("pre", lines, "code");
  made.tabIndex = 0;
  return [element("p", says), made];
}

// Opens a dialog with the lines for an incident.
function openRules(notification) {
  const dialog = element("dialog");
  const title = element("h2", `Rule or allow entry: ${notification.host}`);
  title.id = "rules-title";
  dialog.setAttribute("aria-labelledby", title.id);
  const done = control("button", { type: "button", textContent: "Done" });
  done.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  const buttons = element("p", undefined, "buttons");
  buttons.append(done);
  const ports = servicePorts(notification).length;
  dialog.append(
    title,
    ...block("To raise the threshold of this host, add this rule to the configuration and reload it:", ruleLines(notification)),
    ...block(ports ? "To ignore requests to this service and its replies, add this entry:" : "To ignore all that this host does or suffers in this view, add this entry:", allowLines(notification)),
    buttons,
  );
  document.body.append(dialog);
  dialog.showModal();
}

// Returns a button that opens the dialog for the notification that `find` returns.
function rulesButton(find) {
  const made = control("button", { type: "button", textContent: "Rule or allow entry" });
  made.addEventListener("click", () => openRules(find()));
  return made;
}
