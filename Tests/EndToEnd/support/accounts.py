# SPDX-License-Identifier: Apache-2.0
"""Local accounts: the commands of the operator, and the forms that users fill in."""

import json
import re
import time
from base64 import b32decode
from html import unescape
from urllib.parse import urlencode, urljoin

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from .browser import Browser, forms
from .gateway import Gateway, run
from .operations import command
from .processes import eventually

PASSWORD = "correct horse battery staple"
OTHER = "another password of words"


def local_gateway(folder, app, *, provider=None, store=None, hosts=(), gateway=None, **more):
    """A gateway whose only provider has local accounts; apps on further hosts, by name."""
    apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
    for host in hosts:
        apps[host.partition(".")[0]] = {"host": host, "path": "/", "upstream": app.address, "allow": "signed_in"}
    sessions = {"store": store} if store else None
    providers = {"staff": {"type": "local", **(provider or {})}}
    return Gateway(folder, providers, apps, sessions=sessions, gateway=gateway, **more)


def users(gateway, *arguments):
    """A command about accounts; its JSON."""
    return json.loads(command(gateway, "users", *arguments, "--json"))


def failed(gateway, *arguments):
    """A command about accounts that must fail; what it prints."""
    result = run("users", *arguments, "--config", gateway.path, cwd=gateway.folder)
    assert result.returncode == 1, result
    return result.stderr


def fill(browser, page, values, form=0, button=0, fields=None):
    """Fills in a form and presses a button; redirects are not followed."""
    method, action, hidden, buttons = forms(page)[form]
    name, value = buttons[button]
    body = {**hidden, **values, **({name: value} if name else {})}
    return browser.send(method, urljoin(page.url, action), body, fields)


def follow(browser, response):
    """The page where a response leads."""
    return browser.visit(urljoin(response.url, response.get("location"))) if response.get("location") else response


def form(browser, rd="/"):
    """The form for name and password."""
    page = browser.visit("/oauth2/start/staff?" + urlencode({"rd": rd}))
    assert page.status == 200, page
    return page


def attempt(browser, name, password=PASSWORD, rd="/", fields=None):
    """Types a name and a password; redirects are not followed."""
    return fill(browser, form(browser, rd), {"username": name, "password": password}, fields=fields)


def choose(gateway, link, password=PASSWORD):
    """Opens a link and chooses a password."""
    browser = Browser(gateway)
    page = browser.visit(link)
    assert page.status == 200, page
    return fill(browser, page, {"new_password": password, "repeat_password": password})


def add(gateway, email="ada@example.com", *arguments, password=PASSWORD):
    """Adds an account and chooses its password; its user key."""
    added = users(gateway, "add", "--email", email, *arguments)
    page = choose(gateway, added["link"], password)
    assert page.status == 200, page.text
    return added["account"]["user"]


def signed_in(gateway, name="ada@example.com", password=PASSWORD, rd="/x"):
    """A browser in which the user is signed in."""
    browser = Browser(gateway)
    page = follow(browser, attempt(browser, name, password, rd))
    assert page.status == 200 and browser.ticket(), page
    return browser


def code(secret, step=0):
    """The code of a secret, so many steps from now; of another implementation than the gateway's."""
    key = b32decode(secret + "=" * (-len(secret) % 8))
    return TOTP(key, 6, SHA1(), 30, enforce_key_length=False).generate(int(time.time()) + 30 * step).decode()


def earlier_code(secret):
    """The code of the step before, with at least ten seconds in which it is accepted."""
    eventually(lambda: time.time() % 30 < 20, "another step has begun", 15)
    return code(secret, -1)


def secret_of(page):
    """The secret that the page about credentials offers."""
    return unescape(re.search(r"<code>([A-Z2-7]{32})</code>", page.text).group(1))


def remark(page):
    """The remark of a page about what was sent."""
    found = re.search(r'<p role="alert"><strong>(.*?)</strong></p>', page.text)
    return unescape(found.group(1)) if found else None
