# SPDX-License-Identifier: Apache-2.0
"""A gateway in front of one app, with records of what clients sent and of what arrived at the app."""

import difflib
import pprint
import re

from support.browser import Browser
from support.differences import differences
from support.gateway import Gateway, oidc
from support.processes import free_port
from support.wirelog import Tap

HOST = "localhost"
#: Warnings that do not concern the traffic: a debug build on a busy machine.
QUIET = "event loop was blocked"


class Unusable(Exception):
    """The app or its client failed without the gateway, so the test shows nothing."""


class Front:
    """One app behind the gateway: `direct` is the app's own origin, `origin` the gateway's, `cookie` a session.

    With `http2` false the gateway is reached over plain HTTP/1.1 and what clients send is recorded; otherwise over TLS,
    where clients choose HTTP/2 by ALPN. `entry` is the app's entry in `providers.yaml` without `upstream`.
    """
    def __init__(self, folder, server, name, port, entry=None, http2=False, path="", scheme="http", host=HOST):
        self.name, self.host, self.recording = name, host, server.recording
        #: Whether warnings in the gateway's log are expected.
        self.is_noisy = False
        self.app_tap, self.direct_tap = Tap(port), Tap(port)
        self.direct = f"http://{HOST}:{self.direct_tap.port}"
        listener, self.client_tap = free_port(), None
        if http2:
            certificate, key = server.certificate
            public_url, listeners = f"https://{host}:{listener}", [{
                "address":
                f"127.0.0.1:{listener}", "tls": [{"certificate": certificate, "private_key": key}]
            }]
        else:
            self.client_tap = Tap(listener)
            public_url, listeners = f"http://{host}:{self.client_tap.port}", [{"address": f"127.0.0.1:{listener}"}]
        upstream = f"{scheme}://127.0.0.1:{self.app_tap.port}"
        self.entry = {"path": path or "/", "upstream": upstream, "allow": "signed_in", **(entry or {})}
        self.gateway = Gateway(
            folder,
            {"mock": oidc(server.realm("mock").issuer)},
            {"app": self.entry},
            host=host,
            name=f"{name}-gateway",
            port=listener,
            public_url=public_url,
            gateway={"listeners": listeners},
        )
        self.origin = public_url
        self.url = public_url + path

    def __enter__(self):
        self.gateway.start()
        self.browser = Browser(self.gateway)
        page = self.browser.sign_in("mock", "/oauth2/userinfo")
        assert page.status == 200, page
        self.cookie = "; ".join(f"{name}={value}" for name, value in self.browser.cookies[self.host].items())
        self.fields = {"Cookie": self.cookie}
        self.take()
        return self

    def __exit__(self, *error):
        lines = self.gateway.log.splitlines()
        self.gateway.stop()
        for tap in (self.app_tap, self.direct_tap, self.client_tap):
            if tap:
                tap.close()
        noise = [line for line in lines if re.search(" (warning|error) ", line) and not re.search(QUIET, line)]
        assert not noise or self.is_noisy, "\n".join(noise[:20])

    def take(self):
        """What was recorded at the client, at the app, and without the gateway."""
        client = self.client_tap.take() if self.client_tap else None
        return client, self.app_tap.take(), self.direct_tap.take()

    def both(self, run, ignore=()):
        """Runs a client at the app itself, then through the gateway; both must end with the same value.

        `run(url, fields)` gets the URL to use and the header fields to send, and returns what the client saw. What the
        client sent must have arrived unchanged, and so must the responses, but for lines that fit a pattern of `ignore`.
        Gives the value.
        """
        self.take()
        try:
            direct = self.neutral(run(self.direct, {}))
        except Exception as error:
            raise Unusable(f"the client fails at the app itself: {error}") from error
        self.recording.add(self.name, self.direct, self.take()[2])
        try:
            through = self.neutral(run(self.url, self.fields))
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"the client fails through the gateway only: {error}") from error
        assert through == direct, changes(direct, through)
        self.check(ignore)
        return through

    def check(self, ignore=()):
        """The recorded exchanges are the same on both sides of the gateway; `ignore` are patterns of allowed lines."""
        client, app, _ = self.take()
        if client is None:
            return app
        found = [line for line in differences(client, app) if not any(re.search(pattern, line) for pattern in ignore)]
        assert not found, "\n".join(found[:40])
        return app

    def neutral(self, value):
        """A value without the origins, so that it can be compared."""
        if isinstance(value, dict):
            return {self.neutral(key): self.neutral(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.neutral(one) for one in value]
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if isinstance(value, str):
            for origin in (self.url, self.origin, self.direct):
                value = value.replace(origin, "ORIGIN").replace(origin.partition("://")[2], "AUTHORITY")
        return value


def changes(direct, through):
    """Where two values differ, for the message of a failed test."""
    text = lambda value: pprint.pformat(value, width=160).splitlines()
    return "\n".join(line[:500] for line in difflib.unified_diff(text(direct), text(through), "direct", "through", n=0))
