#!/usr/bin/python3
"""Checks the web page of srlg in a headless Chromium.

usage: [AXE=FILE] [TOKEN=TOKEN] [AS_NAME=NAME] [AFTER_MINUTES=1] monitor_page.py URL FOLDER [PROCESS]

The check fails in any of these cases:
  - The console shows a warning or an error.
  - The page sends a request to another server.
  - The page has no alerts, super points or history.
  - The page shows a state that differs from its data.
  - A chart is empty after a reload, or has another range.
  - Forty active alerts do not fit on a screen of 1920 by 1080 together with a chart, or the largest is not the first.
  - The page is wider than the screen.
  - The first paint of a page takes a second or longer each of five times.
The pages of an incident and of a host are checked, too. A screenshot of each page on a dark desktop, a light desktop and
a phone is written to FOLDER.

PROCESS is the ID of the process that serves the page. It is stopped at the end, and the page must show this.
AXE is the path of axe.min.js. With it, every finding of axe-core is a failure.
TOKEN is the token of the user ann. With it, the first alert is acknowledged, silenced and commented on.
AS_NAME is the name of an AS. With it, a peer of each incident must be in this AS.
AFTER_MINUTES means that the database has values per minute. With it, a chart must show stored values.
"""

import asyncio
import base64
import contextlib
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import websockets

AXE = os.environ.get("AXE")
TOKEN = os.environ.get("TOKEN")
AS_NAME = os.environ.get("AS_NAME")
AFTER_MINUTES = os.environ.get("AFTER_MINUTES")

SCREENS = [("dark", 1280, 900, "dark", False), ("light", 1280, 900, "light", False), ("phone", 375, 812, "dark", True)]

# Holds back the first list of incidents until there is an alert, so that the first alert of srlg is not in this list.
SLOW_HISTORY = """
    const fetchNow = window.fetch;
    let asked = 0;
    window.fetch = async (url, options) => {
        const answer = await fetchNow(url, options);
        if (!String(url).includes("incidents?") || asked++ > 0) return answer;
        for (let waits = 0; typeof last !== "undefined" && !last?.alerts?.length && waits < 200; waits++)
            await new Promise((done) => setTimeout(done, 100));
        return answer;
    };
"""


class Browser:
    """A page that is controlled with the DevTools protocol."""

    def __init__(self, socket):
        self.socket, self.number, self.problems, self.requests = socket, 0, [], []

    async def call(self, method, **params):
        self.number += 1
        await self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            # A page that is replaced does not answer.
            message = json.loads(await asyncio.wait_for(self.socket.recv(), 120))
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.take(message)

    def take(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(f"console: {params['args']}")
        elif method == "Runtime.exceptionThrown":
            self.problems.append(f"exception: {params['exceptionDetails']}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"log: {params['entry']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    async def value(self, expression):
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return result["result"].get("value")

    async def until(self, expression):
        """Waits up to a minute until `expression` is true. Returns whether it is."""
        for _ in range(300):
            with contextlib.suppress(RuntimeError):  # an evaluation fails when another page replaces its page
                if await self.value(f"Boolean({expression})"):
                    return True
            await asyncio.sleep(0.2)
        return False

    async def open(self, url):
        """Opens a page. Only a page that is painted late each time is a failure, because a busy machine delays some."""
        paint = "performance.getEntriesByType('paint').find((it) => it.name === 'first-contentful-paint')"
        for _ in range(5):
            await self.value("window.isFormer = true")
            await self.call("Page.navigate", url=url)
            is_loaded = await self.until(f"!window.isFormer && document.readyState === 'complete' && {paint}")
            after = await self.value(f"{paint}?.startTime") if is_loaded else None
            print(f"{url}: first paint after {after} ms")
            if after is not None and after < 1000:
                break
        else:
            self.problems.append(f"{url}: first paint after {after} ms")
        await asyncio.sleep(2)  # The page updates itself, which must cause no error.

    async def check(self, name, folder):
        """Checks what every page must satisfy, and takes a screenshot."""
        wide = await self.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wide > 0:
            self.problems.append(f"{name}: the page is {wide} px too wide")
        if await self.value("document.querySelectorAll('main img, main script').length"):
            self.problems.append(f"{name}: data is interpreted as HTML")
        if AXE:
            await self.value(pathlib.Path(AXE).read_text() + "; 0")
            found = json.loads(await self.value(
                "axe.run({ runOnly: ['wcag2a', 'wcag2aa'] }).then((it) => JSON.stringify("
                "it.violations.map((of) => `${of.impact} ${of.id}: ${of.nodes[0].html.slice(0, 120)}`)))"))
            self.problems += [f"{name}: axe: {it}" for it in found]
        shot = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        (folder / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    async def count(self, name, selectors):
        """Waits until each selector finds something, and fails if one finds nothing for a minute.

        On a busy machine, the attacks of one round of the demonstration may be late. All selectors are evaluated
        together, because alerts and hosts come and go."""
        counts = ", ".join(f"{json.dumps(what)}: document.querySelectorAll({json.dumps(of)}).length"
                           for what, of in selectors.items())
        for _ in range(120):
            found = await self.value(f"({{ {counts} }})")
            if all(found.values()):
                break
            if not found.get("opened", 1):
                await self.value("document.querySelector('#alerts summary')?.click()")
            await asyncio.sleep(0.5)
        print(f"{name}: {found}")
        self.problems += [f"{name}: no {what}" for what, count in found.items() if not count]

    async def origins(self, name):
        """Fails if no peer of an incident is in the expected AS, or if the peers cannot be downloaded."""
        if not AS_NAME:
            return
        names = "[...document.querySelectorAll('#peers td:nth-child(3)')].map((it) => it.textContent)"
        is_there = await self.until(f"{names}.includes({json.dumps(AS_NAME)})")
        names = await self.value(names)
        if not is_there:
            self.problems.append(f"{name}: no peer is in {AS_NAME}: {names}")
        rows = await self.value("fetch(document.querySelector('#peers-links a').href)"
                                ".then((answer) => answer.text()).then((text) => text.trim().split('\\n').length - 1)")
        if rows != len(names):
            self.problems.append(f"{name}: {len(names)} peers on the page, but {rows} in the CSV file")


async def act(page, folder):
    """Acknowledges, silences and comments on the first alert, like a user."""
    async def until(what, expression):
        if not await page.until(expression):
            page.problems.append(f"acting: {what}")

    async def press(button, within):
        found = f"[...document.querySelectorAll('{within} button')].find((it) => it.textContent === '{button}')"
        await until(f"no button {button}", found)
        await page.value(f"{found}.click()")

    async def fill(token, text):
        await page.value(f"document.querySelector('dialog textarea').value = {json.dumps(text)}")
        await page.value(f"document.querySelector('dialog input').value = {json.dumps(token)}")

    await until("no alert", "document.querySelector('#alerts summary')")
    await page.value("document.querySelector('#alerts summary').click()")
    await press("Acknowledge", "#alerts")
    await fill("0" * 32, "on it")
    await press("Acknowledge", "dialog")
    await until("no error", "document.querySelector('dialog [role=alert]').textContent === 'unknown token'")
    # The browser also logs the rejected request, which is expected.
    page.problems = [it for it in page.problems if "401" not in it]
    await page.check("dialog", folder)
    await fill(TOKEN, "on it")
    await press("Acknowledge", "dialog")
    await until("not acknowledged", "document.querySelector('#alerts .about').textContent.includes('acknowledged by ann')")
    await press("Silence", "#alerts")
    await fill(TOKEN, "our own scanner")
    await press("Silence", "dialog")
    await until("not silenced", "document.querySelectorAll('#silences tbody tr').length === 1")
    await page.check("silenced", folder)
    await press("End silence", "#silences")
    await press("End silence", "dialog")
    await until("still silenced", "!document.querySelector('#silences tbody tr')")
    await page.open(await page.value("document.querySelector('#alerts .links a').href"))
    await press("Comment", "#alerts")
    await fill(TOKEN, "team red")
    await press("Comment", "dialog")
    await until("no comment", "[...document.querySelectorAll('#notifications td')].some((it) => it.textContent.endsWith('comment by ann: team red'))")
    await page.check("commented", folder)
    await press("Rule or allow entry", "main")
    await until("no lines", "document.querySelectorAll('dialog pre').length === 2")
    await page.check("rules", folder)
    lines = await page.value("[...document.querySelectorAll('dialog pre')].map((it) => it.textContent).join('\\n\\n')")
    (folder / "rules.toml").write_text(lines)


async def many(page, url, folder):
    """Checks the list of many alerts on a wide screen, if there are many."""
    await page.call("Emulation.setDeviceMetricsOverride", width=1920, height=1080, deviceScaleFactor=1, mobile=False)
    await page.open(url)
    if not await page.value("byId('alerts').classList.contains('many')"):
        return
    ends = await page.value("[byId('alerts').getBoundingClientRect().bottom,"
                            " document.querySelector('.view canvas').getBoundingClientRect().top + 100]")
    print(f"many alerts: the list ends at {ends[0]:.0f} px, and a chart is visible at {ends[1]:.0f} px")
    if max(ends) > 1080:
        page.problems.append(f"the list of many alerts and a chart do not fit: {ends}")
    await page.value("byId('alerts-sort').value = 'peers'; byId('alerts-sort').dispatchEvent(new Event('change'))")
    await page.open(await page.value("location.href"))
    order = await page.value("[byId('alerts-sort').value, ...[...document.querySelectorAll('#alerts .count')]"
                             ".map((it) => Number(it.textContent.replaceAll(',', '')))]")
    if order[0] != "peers" or order[1:] != sorted(order[1:], reverse=True):
        page.problems.append(f"many alerts are not sorted as asked: {order}")
    await page.check("many", folder)


async def wall(page, url, folder):
    """Checks the page for a screen on a wall. Its largest text must be readable from four metres."""
    sizes = [("wall", 1920, 1080), ("wall-4k", 3840, 2160)]
    for name, width, height in sizes[:None if folder.name == "large" else 1]:
        await page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        await page.open(f"{url}wall")
        await page.count(name, {"alerts": "#alerts li", "charts": ".view canvas", "ended": "#ended tr, #ended-none:not(:empty)"})
        seen = await page.value("""({
            bottoms: ['#alerts li:last-child', '#ended-section', '.view:last-child .u-legend']
                .map((of) => document.querySelector(of).getBoundingClientRect().bottom),
            list: byId('alerts-section').getBoundingClientRect().bottom,
            scroll: document.documentElement.scrollHeight,
            text: parseFloat(getComputedStyle(document.querySelector('#alerts b')).fontSize),
        })""")
        print(f"{name}: {seen}")
        # At 4 m, a capital letter, which is 0.72 of the font size, must cover 16 minutes of arc. A screen of 55 inches is
        # 685 mm high.
        least = 4000 * math.tan(math.radians(16 / 60)) / 0.72 / 685 * height
        if seen["scroll"] > height or max(seen["bottoms"]) > height or seen["bottoms"][0] > seen["list"] or seen["text"] < least:
            page.problems.append(f"{name}: not all is visible and large: {seen}")
        await page.check(name, folder)


async def restart(page, url, process):
    """Stops the program and starts it again at the same address. The wall must say so, and follow the new program."""
    command = pathlib.Path(f"/proc/{process}/cmdline").read_text().split("\0")[:-1]
    os.kill(process, signal.SIGTERM)
    if not await page.until("byId('state').textContent === 'connection lost, reconnecting'"):
        return ["the wall does not show that the connection is lost"]
    with subprocess.Popen([command[0], url.removeprefix("http://").rstrip("/"), *command[2:]], stdout=subprocess.DEVNULL) as again:
        try:
            for _ in range(600):
                with contextlib.suppress(OSError):  # it has not opened its address yet
                    await asyncio.to_thread(urllib.request.urlopen, f"{url}api/v1/status")
                    break
                await asyncio.sleep(0.1)
            since = time.monotonic()
            is_back = await page.until("last && !document.body.classList.contains('stale')")
            after = time.monotonic() - since
            print(f"the wall is connected again after {after:.1f} s")
            return [] if is_back and after < 10 else [f"the wall is connected again after {after:.1f} s"]
        finally:
            again.terminate()


async def look(socket_url, url, folder, process):
    async with websockets.connect(socket_url, max_size=None) as socket:
        page = Browser(socket)
        for domain in ("Runtime", "Log", "Network", "Page"):
            await page.call(f"{domain}.enable")
        await page.call("Page.addScriptToEvaluateOnNewDocument", source=SLOW_HISTORY)
        for name, width, height, scheme, is_phone in SCREENS:
            await page.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                            deviceScaleFactor=2 if is_phone else 1, mobile=is_phone)
            await page.call("Emulation.setEmulatedMedia",
                            features=[{"name": "prefers-color-scheme", "value": scheme}])
            await page.call("Emulation.setScrollbarsHidden", hidden=True)
            await page.open(url)
            await page.count(name, {
                "alerts": "#alerts details", "opened": "#alerts details[open] dd", "windows": "#alerts .windows span",
                "hosts": ".view .scroll tbody tr", "charts": ".view canvas", "history": "#history-table tbody tr",
                "bars": "#timeline rect",
            })
            if not await page.value("document.querySelector('#history-table td a')?.href"):
                return page.problems  # without an incident, there are no further pages
            # One expression reads everything, because each slice brings a new state.
            state = await page.value("""({
                shown: `${byId('state').className}: ${byId('state').textContent}`,
                stated: `${last.health.level}: ${last.health.text}`,
                listed: document.querySelectorAll('#problems li').length,
                problems: last.problems.length,
            })""")
            print(f"{name}: {state['shown']}")
            if state["shown"] != state["stated"] or state["listed"] != state["problems"]:
                page.problems.append(f"{name}: the page and its data differ: {state}")
            await page.check(name, folder)
            incident = await page.value("document.querySelector('#history-table td a').href")
            host = await page.value("document.querySelector('#history-table a[href*=host]').href")
            await page.open(incident)
            await page.count(f"{name} incident", {"facts": "#facts dd", "notifications": "#notifications tbody tr"})
            await page.origins(f"{name} incident")
            await page.check(f"{name}-incident", folder)
            await page.open(host)
            await page.count(f"{name} host", {"incidents": "#incidents tbody tr"})
            await page.check(f"{name}-host", folder)
        if TOKEN:
            await page.open(url)
            await act(page, folder)
        await many(page, url, folder)
        # After a reload, the page must keep the time zone, and load the charts from the database again.
        await page.open(url)
        await page.value("byId('zone').click()")
        if await page.value("byId('zone').textContent") != "Times: UTC":
            page.problems.append("the time zone cannot be switched")
        await page.open(url)
        if await page.value("byId('zone').textContent") != "Times: UTC":
            page.problems.append("the time zone is not kept after a reload")
        if AFTER_MINUTES and not await page.until("[...charts].some((chart) => chart.stored[0].length > 0)"):
            page.problems.append("no chart shows values from the database")
        # A chart shows the last minutes by slice as soon as it is opened, and its range is in the URL.
        await page.value("byId('span').value = '600'; byId('span').dispatchEvent(new Event('change'))")
        await page.open(await page.value("location.href"))
        if await page.value("byId('span').value") != "600":
            page.problems.append("the range of the charts is not kept after a reload")
        if AFTER_MINUTES and not await page.until("[...charts].every((chart) => chart.live[0].length > 60)"):
            page.problems.append("a chart does not show the last minutes by slice")
        problems = page.problems
        await wall(page, url, folder)
        if process:
            # The browser also logs the lost connection, which is expected.
            page.problems = []
            problems += await restart(page, url, process)
        page.problems = problems
        page.problems += [f"request to another server: {it}" for it in page.requests
                          if not it.startswith((url, "data:"))]
        return page.problems


def main():
    url, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    process = int(sys.argv[3]) if len(sys.argv) > 3 else None
    folder.mkdir(parents=True, exist_ok=True)
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    # A child process of the browser may still write to the profile shortly after the browser has stopped.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--remote-debugging-port=0",
                   f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as browser:
            try:
                line = next(line for line in browser.stderr if "DevTools listening on" in line)
                port = line.split("ws://")[1].split("/")[0].rsplit(":", 1)[1]
                pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list"))
                page = next(page for page in pages if page["type"] == "page")
                problems = asyncio.run(look(page["webSocketDebuggerUrl"], url, folder, process))
            finally:
                os.killpg(browser.pid, signal.SIGKILL)
    for problem in problems:
        print(f"failed: {problem}", file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
