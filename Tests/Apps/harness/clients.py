# SPDX-License-Identifier: Apache-2.0
"""Clients of apps: `requests` with a session cookie, and Chromium as a signed-in user."""

from urllib.parse import quote, urlsplit

import requests

from support.chromium import Chromium
from support.processes import eventually


def session(fields):
    """A `requests` session with the cookies of a gateway session in its jar, where those of the app join them."""
    made = requests.Session()
    for pair in filter(None, fields.get("Cookie", "").split("; ")):
        name, _, value = pair.partition("=")
        made.cookies.set(name, value, domain="localhost.local", path="/")
    return made


class AppBrowser(Chromium):
    """A browser on the pages of an app; `failed` lists the requests of pages that failed."""
    def __init__(self, folder, url, *options):
        folder.mkdir(parents=True, exist_ok=True)
        self.url, self.failed = url, []
        super().__init__(folder, "--ignore-certificate-errors", *options)

    def note(self, message):
        parameters = message.get("params", {})
        match message.get("method"):
            case "Network.responseReceived" if parameters["response"]["status"] >= 400:
                response = parameters["response"]
                self.failed.append((response["status"], response["url"].replace(self.url, "")))
            case "Network.loadingFailed" if not parameters.get("canceled") and parameters["type"] != "Ping":
                self.failed.append((parameters["type"], parameters.get("errorText", "")))
        super().note(message)

    def until(self, expression, what):
        """Waits longer than a page of a test should need: some apps load megabytes of scripts."""
        return eventually(lambda: self.evaluate(expression), what, 60)

    def open(self, url):
        """Goes to any URL."""
        super().go(url)

    def go(self, path):
        """Goes to a path of the app."""
        self.open(self.url + path)

    def sign_in(self, path):
        """Signs in at the gateway, and goes to a path of the app on the way back."""
        parts, (path, mark, fragment) = urlsplit(self.url), path.partition("#")
        # Browsers keep a fragment over redirects.
        start = f"{parts.scheme}://{parts.netloc}/oauth2/start/mock?rd={quote(parts.path + path, safe='')}"
        self.open(start + mark + fragment)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def browses(folder, path, act, *options):
    """A client for `Front.both`: Chromium goes to a path and does `act(browser)`; returns that and the requests that failed."""
    def client(url, fields):
        with AppBrowser(folder / ("through" if fields else "direct"), url, *options) as browser:
            (browser.sign_in if fields else browser.go)(path)
            value = act(browser)
            return {"value": value, "failed": sorted(set(map(str, browser.failed)))}

    return client
