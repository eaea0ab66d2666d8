# SPDX-License-Identifier: Apache-2.0
"""`gatehouse demo` as a program, and the records of its simulated providers."""

import json
import subprocess
import time
import urllib.request
from urllib.parse import urlsplit

from .browser import Browser, forms
from .gateway import PROGRAM
from .processes import Process, eventually, free_port


class Demo:
    """A running demo."""
    def __init__(self, folder, *options):
        self.port, self.operations, self.host = free_port(), free_port(), "localhost"
        self.origin = f"http://localhost:{self.port}"
        began = time.monotonic()
        command = [PROGRAM, "demo", "--port", self.port, "--operations-port", self.operations, *options]
        self.process = Process(command, folder, "demo")
        self.process.wait_listening(self.port)
        eventually(lambda: self.origin in self.process.log, "the address is printed", 30)
        self.seconds = time.monotonic() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        code = self.process.stop()
        assert code == 0, self.process.log[-3000:]

    def sign_in(self, provider, account):
        """A whole sign-in in a new browser; returns the browser, with the last page and the provider's URL."""
        browser = Browser(self)
        browser.page = browser.visit(f"/oauth2/start/{provider}?rd=/")
        for _ in range(4):
            if browser.page.url.startswith(self.origin) or not forms(browser.page):
                break
            buttons = [value for _, value in forms(browser.page)[0][3]]
            assert account in buttons or len(buttons) == 1, (account, buttons, browser.page.text)
            browser.page = browser.submit(browser.page, button=buttons.index(account) if len(buttons) > 1 else 0)
        elsewhere = [urlsplit(url) for _, url, _ in browser.history if not url.startswith(self.origin)]
        browser.pages = f"http://{elsewhere[0].netloc}" if elsewhere else None
        return browser


def requests_at(pages):
    """How often a simulated provider was asked for what."""
    with urllib.request.urlopen(pages + "/-/requests", timeout=10) as response:
        return json.load(response)


def demo(*options):
    """Runs the program to its end."""
    command = [PROGRAM, "demo", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
