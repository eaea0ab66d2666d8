# SPDX-License-Identifier: Apache-2.0
"""Starts providers that other projects wrote, and uses their pages as a user would."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

from .browser import forms
from .processes import Process, Service, free_port

USERS = {
    "ada": {"email": "ada@example.com", "email_verified": True, "name": "Ada Example"},
    "zoe": {"email": "zoe@example.com", "email_verified": True, "name": "Zoë Müller"},
}
SECRET = "9hU4vN2kQ7sX1wB6tR3yL8mC5pJ0dF2a"


@contextmanager
def running(fixture):
    """Starts the two providers and the gateway of a fixture; its app stops with them."""
    try:
        with fixture.idpy, fixture.toolkit, fixture.gateway:
            yield fixture
    finally:
        fixture.app.close()


class RealProvider(Service):
    """One of the programs in this folder, on its own port."""
    program = ""

    def __init__(self, folder, **settings):
        self.folder = Path(folder) / self.program
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.settings = {"port": self.port, **settings}
        self.process = None

    def start(self):
        path = self.folder / "settings.json"
        path.write_text(json.dumps(self.settings))
        program = Path(__file__).with_name(f"{self.program}.py")
        self.process = Process([sys.executable, program, path], self.folder, self.program)
        self.process.wait_listening(self.port, 60)
        return self

    def stop(self):
        if self.process:
            self.process.stop()


class Idpy(RealProvider):
    """The provider made of idpyoidc: it asks for a name and a password with each first sign-in of a browser."""
    program = "idpy"

    def __init__(self, folder, clients, users=None):
        super().__init__(folder, clients=clients, users=users or USERS)
        self.issuer = self.settings["issuer"] = self.origin
        self.settings["journal"] = str(self.folder / "journal")

    def journal(self, path=None):
        """The requests that came, in order."""
        lines = (self.folder / "journal").read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        return [entry for entry in entries if path in (None, entry["path"])]

    @staticmethod
    def agree(browser, page, user="ada", choice="yes"):
        """Fills in the form and presses a button; returns the last page."""
        return press(browser, page, username=user, password=user, choice=choice)


class Toolkit(RealProvider):
    """The provider made of django-oauth-toolkit: a page to log in, then one to agree."""
    program = "toolkit"

    def __init__(self, folder, clients, **more):
        users = {name: account["email"] for name, account in USERS.items()}
        super().__init__(folder, clients=clients, users=users, **more)
        self.issuer = f"{self.origin}/o"

    @staticmethod
    def agree(browser, page, user="ada", choice="yes"):
        if 'name="password"' in page.text:
            page = press(browser, page, username=user, password=user)
        if 'name="allow"' not in page.text:
            return page
        return press(browser, page, allow="Authorize" if choice == "yes" else None)


class Canaille(RealProvider):
    """Canaille: a page for the name, one for the password, and one to agree."""
    program = "canaille_server"

    def __init__(self, folder, clients):
        super().__init__(folder, clients=clients, users=USERS)
        self.issuer = self.origin

    @staticmethod
    def agree(browser, page, user="ada"):
        for _ in range(4):
            if 'name="login"' in page.text:
                page = press(browser, page, login=user)
            elif 'name="password"' in page.text:
                page = press(browser, page, password=user)
            elif 'value="accept"' in page.text:
                page = press(browser, page, **{"answer": "accept"})
            else:
                break
        return page


def press(browser, page, stop=None, **values):
    """Sends the only form of a page with these values; None leaves a field out."""
    method, action, fields, _ = forms(page)[0]
    fields = {name: value for name, value in {**fields, **values}.items() if value is not None and name}
    return browser.visit(urljoin(page.url, action), method, fields, stop=stop)
