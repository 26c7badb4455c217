// Actions of users on an incident: a dialog for each action, and the user's token.
"use strict";

const LENGTHS = [["1h", "1 hour"], ["4h", "4 hours"], ["1d", "1 day"], ["7d", "7 days"], ["30d", "30 days"]];
const ACTS = {
  acknowledge: { button: "Acknowledge", says: "Comment (optional)" },
  comment: { button: "Comment", says: "Comment", isNeeded: true },
  silence: { button: "Silence", says: "Reason", isNeeded: true },
  unsilence: { button: "End silence", says: "Comment (optional)" },
  close: { button: "Close", says: "Comment (optional)" },
};
let canAct = false;

// The token is kept as long as the tab is open.
function token(next) {
  try {
    if (next === undefined) return sessionStorage.getItem("token") ?? "";
    sessionStorage.setItem("token", next);
  } catch {
    // If storage is forbidden, the user enters the token for each action.
  }
  return next ?? "";
}

async function send(id, act) {
  const answer = await fetch(`${BASE}api/v1/incidents/${encodeURIComponent(id)}/acts`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token()}` },
    body: JSON.stringify(act),
  });
  const body = await answer.json();
  if (answer.status === 401) token("");
  if (!answer.ok) throw new Error(body.error);
  return body;
}

function field(text, input) {
  const made = element("label", text);
  made.append(input);
  return made;
}

function control(name, properties) {
  return Object.assign(element(name), properties);
}

// Opens a dialog for an action, sends the action, and calls `done`.
function openAct(name, id, of, done) {
  const { button, says, isNeeded } = ACTS[name];
  const dialog = element("dialog");
  const form = element("form");
  const title = element("h2", `${button}: ${of}`);
  title.id = "act-title";
  dialog.setAttribute("aria-labelledby", title.id);
  const text = control("textarea", { rows: 3, maxLength: 1000, required: Boolean(isNeeded) });
  const length = control("select", {});
  LENGTHS.forEach(([value, shown]) => length.append(new Option(shown, value)));
  const secret = control("input", { type: "password", value: token(), required: true, autocomplete: "off" });
  const error = element("p", "", "bad");
  error.setAttribute("role", "alert");
  const [go, cancel] = [element("button", button), control("button", { type: "button", textContent: "Cancel" })];
  const buttons = element("p", undefined, "buttons");
  buttons.append(go, cancel);
  form.append(title, field(says, text));
  if (name === "silence") form.append(field("For", length));
  form.append(field("Your token", secret), error, buttons);
  dialog.append(form);
  cancel.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    token(secret.value.trim());
    try {
      await send(id, { act: name, text: text.value, ...(name === "silence" && { for: length.value }) });
      dialog.close();
      done();
    } catch (failure) {
      write(error, failure.message);
      go.disabled = false;
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

// Returns the buttons for actions on the incident of a notification, or no buttons if actions are disabled.
function actButtons(notification, done = () => {}) {
  if (!canAct) return [];
  const isOver = notification.status === "end";
  const acts = ["comment", notification.silence ? "unsilence" : "silence"];
  if (!isOver && !notification.acknowledged) acts.unshift("acknowledge");
  if (!isOver) acts.push("close");
  return acts.map((name) => {
    const made = control("button", { type: "button", textContent: ACTS[name].button });
    made.addEventListener("click", () => openAct(name, notification.id, notification.host, done));
    return made;
  });
}

// Returns the remarks of users on an incident.
function remarks({ acknowledged, silence }) {
  const said = ({ by, at_ms: at, text }) => [`${by}, ${moment(at)}`, text].filter(Boolean).join(": ");
  return [
    ["acknowledged by", acknowledged ? said(acknowledged) : ""],
    ["silenced by", silence ? `${said(silence)}; until ${moment(silence.until_ms)}` : ""],
  ];
}

// Table of silences

function makeSilence() {
  const made = row(6);
  made.children[0].className = "code";
  made.children[5].append(control("button", { type: "button", textContent: ACTS.unsilence.button }));
  return made;
}

function updateSilence(node, silence) {
  const cells = [silence.host, silence.view, moment(silence.until_ms), silence.by, silence.text];
  cells.forEach((text, index) => write(node.children[index], text));
  const [button] = node.children[5].children;
  button.hidden = !canAct;
  button.onclick = () => openAct("unsilence", silence.id, silence.host, () => {});
}

function showSilences(silences) {
  byId("silences-section").hidden = !silences.length;
  list(byId("silences").tBodies[0], silences, (silence) => `${silence.view} ${silence.host}`, makeSilence, updateSilence);
}
