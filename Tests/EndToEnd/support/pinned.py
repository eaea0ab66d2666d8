# SPDX-License-Identifier: Apache-2.0
"""Providers with pins, and what a test asks about them."""

import yaml

from .browser import Browser
from .gateway import Gateway, oidc, run
from .processes import eventually

APPS = {"app": {"upstream": "http://127.0.0.1:1", "allow": "signed_in"}}


def pinned(issuer, ca_file, *pins, mode="enforce", match="public_key", **more):
    """A provider with these pins; one alone is allowed."""
    written = {"match": match, "mode": mode, **more}
    if pins:
        written["sha256"] = list(pins)
    if len(pins) == 1:
        written["allow_single_pin"] = True
    return oidc(issuer, tls={"ca_file": str(ca_file), "pins": written})


def check(folder, provider, env=None):
    """`gatehouse check --online` for one provider: what it printed, and its exit code."""
    gateway = Gateway(folder, {"staff": provider}, APPS)
    gateway.write()
    return run("check", "--online", "--config", gateway.path, env=env)


def paired(server, plain, name):
    """A realm of a TLS server whose page for the user is on a plain one, so that only the gateway shakes hands."""
    realm = server.realm(name)
    realm.reset()
    plain.realms[name] = realm
    realm.metadata = {"authorization_endpoint": f"{plain.origin}/{name}/authorize"}
    return realm


def asked_by_gateway(realm):
    """The paths that the gateway requested from the realm, without the user's page."""
    return [request["path"] for request in realm.requests if request["path"] != "authorize"]


def events(gateway, name=None):
    """The security events of `/status`, the newest first."""
    found = gateway.operation("/status").json()["security_events"]
    return [event for event in found if name in (None, event["event"])]


def hosts(gateway, provider):
    """The hosts of a provider in `/status`."""
    return [host for host in gateway.operation("/status").json()["provider_hosts"] if host["provider"] == provider]


def surveyed(gateway, provider):
    """Waits until the chains of a provider have been looked at; gives its hosts."""
    def ready():
        found = hosts(gateway, provider)
        return found and all(host["surveyed_at"] for host in found) and found

    return eventually(ready, f"the chains of {provider} are known")


def reload(gateway):
    """Rewrites the file and waits until it is in force."""
    count = gateway.metric('gatehouse_reloads_total{result="ok"}')
    gateway.write()
    gateway.reload()
    eventually(lambda: gateway.metric('gatehouse_reloads_total{result="ok"}') > count, "the file is in force")


def sign_in(gateway, provider="staff"):
    """A sign-in in a new browser: the last page and whether there is a session."""
    browser = Browser(gateway)
    page = browser.sign_in(provider, "/")
    return page, browser


def pasted(output):
    """The `tls` that `gatehouse pins` prints to paste, as a value."""
    return yaml.safe_load(output[output.index("    tls:"):])["tls"]["pins"]
