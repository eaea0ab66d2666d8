# SPDX-License-Identifier: Apache-2.0
"""Chromium, controlled as a user would."""

import json
import shutil
import urllib.request

import websocket

from .processes import Process, eventually

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

#: The contrast of each text in `main` to what is below it, the worst first.
CONTRAST = """
(() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgba = color => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
    };
    const over = (top, under) => top.slice(0, 3).map((value, i) => value * top[3] + under[i] * (1 - top[3]));
    const light = color => {
        const [r, g, b] = color.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const background = node => {
        if (!node) return rgba('Canvas').slice(0, 3);
        return over(rgba(getComputedStyle(node).backgroundColor), background(node.parentElement));
    };
    const texts = [...document.querySelectorAll('main *')].filter(node =>
        [...node.childNodes].some(child => child.nodeType == 3 && child.data.trim()));
    return texts.map(node => {
        const under = background(node);
        let opacity = 1;
        for (let at = node; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
        const color = rgba(getComputedStyle(node).color);
        const [a, b] = [light(over([...color.slice(0, 3), color[3] * opacity], under)), light(under)].sort((x, y) => y - x);
        return [(a + 0.05) / (b + 0.05), node.textContent.trim().slice(0, 40)];
    }).sort((x, y) => x[0] - y[0]);
})()
"""


class Chromium:
    """A headless browser, driven by the DevTools protocol; `home` has the NSS database of its user."""
    def __init__(self, folder, *options, home=None):
        self.process = Process(
            [
                CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-background-networking", "--remote-debugging-port=0",
                f"--user-data-dir={folder}/profile", *options, "about:blank",
            ], folder, "chromium", env={"HOME": str(home)} if home else None,
        )
        ready = folder / "profile" / "DevToolsActivePort"
        eventually(lambda: ready.exists() and ready.read_text().count("\n"), "chromium is up", 30)
        port = ready.read_text().splitlines()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as response:
            page = next(page for page in json.load(response) if page["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], suppress_origin=True, timeout=30)
        self.number, self.errors, self.loads = 0, [], 0
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                if "navigated" in message.get("error", {}).get("message", ""):
                    return {"result": {}}  # The page of this message has been left, so the message is dropped.
                assert "error" not in message, message
                return message["result"]
            self.note(message)

    def note(self, message):
        parameters = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self.loads += 1
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.errors.append(parameters["entry"])
            case "Runtime.exceptionThrown":
                self.errors.append(parameters)
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning"):
                self.errors.append(parameters)

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, expression, what):
        return eventually(lambda: self.evaluate(expression), what, 20)

    def until_loaded(self, loads):
        """Waits for a page after so many."""
        def loaded():
            self.evaluate("1")  # Receives the events up to now.
            return self.loads > loads

        eventually(loaded, "the page is loaded", 20)

    def go(self, url):
        self.call("Page.navigate", url=url)

    def click(self, selector):
        self.until(f"!!document.querySelector({json.dumps(selector)})", selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def close(self):
        self.socket.close()
        self.process.stop()
