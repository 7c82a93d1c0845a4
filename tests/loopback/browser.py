"""Drives a headless Chromium through its debugging pipe (Chrome DevTools Protocol), with the standard library only.
As a program: browser.py live URL COMMAND... | report FILE | shot URL OUT.png [WIDTH [light|dark]]. Exit code 77: no
browser."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# For hangs only: a busy machine starts a browser slowly.
START_WITHIN = 120
ANSWER_WITHIN = 120


class NoBrowser(Exception):
    pass


def find_browser():
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"):
        path = shutil.which(name)
        if path:
            return path
    raise NoBrowser("no chromium here")


class Browser:
    """One page in a browser process of its own."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="udtx-browser.")
        from_us, self.out = os.pipe()
        self.back, to_us = os.pipe()
        program = find_browser()

        def place_pipes():
            # The protocol uses descriptors 3 and 4. The pipe ends may already have these numbers.
            reading, writing = os.dup(from_us), os.dup(to_us)
            high = [os.dup2(reading, 63), os.dup2(writing, 64)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        # No sandbox: in many containers it cannot start, and the page is trusted.
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
             "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=" + self.profile, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=place_pipes, start_new_session=True,
            env={**os.environ, "HOME": self.profile, "XDG_CONFIG_HOME": self.profile})
        os.close(from_us)
        os.close(to_us)
        self.number = 0
        self.pending = b""
        self.events = []
        self.session = None
        try:
            target = self.call("Target.createTarget", {"url": "about:blank"}, START_WITHIN)["targetId"]
            attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, START_WITHIN)
        except (OSError, EOFError, TimeoutError) as error:
            self.close()
            raise NoBrowser(f"{program} does not start ({error})") from error
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.out)
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self, deadline):
        while b"\0" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.back, 65536)
            if not more:
                raise EOFError("the browser has ended")
            self.pending += more
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, parameters=None, within=ANSWER_WITHIN):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters or {}}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + within
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, url):
        self.call("Page.navigate", {"url": url})

    def until(self, expression, within=ANSWER_WITHIN):
        deadline = time.monotonic() + within
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never became true: {expression}; the page says: {self.evaluate('document.body.innerText')}")
            time.sleep(0.1)

    def resize(self, width, height, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def screenshot(self, path):
        shot = self.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def complaints(self):
        """Errors of scripts, and everything that the content security policy blocked."""
        self.evaluate("0")  # pending events have arrived after this answer
        found = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                entry = event["params"]["entry"]
                # The end of the tool is not a fault of the page.
                if entry["source"] != "network":
                    found.append(entry["text"])
        return found

    def foreign_requests(self, own):
        urls = [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith((own, "data:", "about:"))]


def check(condition, text):
    if not condition:
        raise AssertionError(text)


VALUE = "document.querySelector('#tile-{} .value').textContent"
# One JSON object of the figures that should change.
FIGURES = """JSON.stringify({
    done: document.querySelector('#tile-done .value').textContent,
    percent: document.getElementById('percent').textContent,
    points: Number(document.getElementById('chart-rate').dataset.points) })"""
OVERFLOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def looks_right(browser):
    for width in (360, 1600):
        for scheme in ("light", "dark"):
            browser.resize(width, 900, scheme)
            browser.until(f"!({OVERFLOW})")  # charts are redrawn a frame later
            back = browser.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
            check((sum(back) < 3 * 128) == (scheme == "dark"), f"background {back} when {scheme} is wanted")


def live(browser, url, *faster):
    """Checks the page during a transfer. Runs `faster` after all checks that need a running transfer, so that it may
    end."""
    browser.open(url)
    browser.until("document.getElementById('chart-rate') !== null")
    first = json.loads(browser.evaluate(FIGURES))
    browser.until(f"Number(document.getElementById('chart-rate').dataset.points) >= {first['points'] + 3} && "
                  f"{VALUE.format('done')} !== {json.dumps(first['done'])} && "
                  f"document.getElementById('percent').textContent !== {json.dumps(first['percent'])}")
    looks_right(browser)
    check(browser.evaluate("document.getElementById('state').className").strip() == "pill running", "not running any more")
    print("moved from", first, "to", browser.evaluate(FIGURES))
    subprocess.run(faster, check=True, stdout=subprocess.DEVNULL)
    browser.until("['good', 'bad'].some((end) => document.getElementById('state').classList.contains(end))", 300)
    check(browser.evaluate("document.getElementById('state').textContent") == "done", "not told that it is done")
    check(browser.evaluate("document.getElementById('percent').textContent") == "100.0 %", "not at 100 %")
    check(not browser.foreign_requests(url), f"asked elsewhere: {browser.foreign_requests(url)}")


def report(browser, path):
    url = "file://" + os.path.abspath(path)
    browser.open(url)
    browser.until("document.getElementById('chart-rate') !== null")
    check(browser.evaluate("document.getElementById('state').textContent") == "done", "the report is not of a success")
    check(browser.evaluate("window.taken") is None, "a file name was run as a script")
    check(browser.evaluate("document.querySelectorAll('img, iframe').length") == 0, "a file name became markup")
    looks_right(browser)
    check(not browser.foreign_requests(url), f"asked elsewhere: {browser.foreign_requests(url)}")


def shot(browser, url, out, width="1600", scheme="light"):
    browser.resize(int(width), 900, scheme)
    browser.open(url)
    browser.until("document.getElementById('chart-rate') !== null")
    height = browser.evaluate("document.documentElement.scrollHeight")
    browser.resize(int(width), max(int(height), 400), scheme)
    time.sleep(0.5)
    browser.screenshot(out)


def main():
    try:
        browser = Browser()
    except NoBrowser as why:
        print(why)
        return 77
    try:
        command, *arguments = sys.argv[1:]
        {"live": live, "report": report, "shot": shot}[command](browser, *arguments)
        check(not browser.complaints(), f"the browser complains: {browser.complaints()}")
    finally:
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
