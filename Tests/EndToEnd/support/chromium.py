# SPDX-License-Identifier: Apache-2.0
"""Chromium, controlled as a user would."""

import json
import shutil
import urllib.request

import websocket

from .processes import Process, eventually

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Chromium:
    """A headless browser, driven by the DevTools protocol."""
    def __init__(self, folder, *options):
        self.process = Process(
            [
                CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-background-networking", "--remote-debugging-port=0",
                f"--user-data-dir={folder}/profile", *options, "about:blank",
            ], folder, "chromium",
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

    def go(self, url):
        self.call("Page.navigate", url=url)

    def click(self, selector):
        self.until(f"!!document.querySelector({json.dumps(selector)})", selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def close(self):
        self.socket.close()
        self.process.stop()
