# SPDX-License-Identifier: Apache-2.0
"""A request with an access token of the gateway, beside the same request with a session."""

import base64
import hashlib
import json
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode, urlsplit

from client import Browser, Wire
from measure import ratio, rounds
from processes import Trouble
from report import Row, microseconds

from .protocols import NAMES, requests

REDIRECT, SECRET, VERIFIER = "https://client.example.com/cb", "a secret of the benchmark's client", "v" * 43
#: What a request with a token may cost, of one with a session.
MOST = 1.05
#: Go's client sends a token once for a connection. That of libnghttp2 never puts one into the table of fields, so that it is decoded for
#: each request.
PROTOCOLS = ("h1", "h2-go", "h2-tls")


def client():
    """A client of the file, which needs no consent."""
    return {
        "bench": {
            "type": "confidential", "secret": SECRET, "redirect_uris": [REDIRECT], "allow": "signed_in", "audiences": ["pages"]
        }
    }


def token(gateway):
    """An access token of the user for the pages."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
    query = urlencode({
        "response_type": "code", "client_id": "bench", "redirect_uri": REDIRECT, "scope": "openid profile email",
        "code_challenge": challenge, "code_challenge_method": "S256"
    })
    with Browser(gateway.port) as browser:
        browser.sign_in()
        response = browser.send("GET", f"http://127.0.0.1:{gateway.port}/oauth2/authorize?{query}")
    code = dict(parse_qsl(urlsplit(response.first("location") or "").query)).get("code")
    if not code:
        raise Trouble(f"the client got no code: {response.status} {response.first('location')}")
    form = urlencode({
        "grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "client_id": "bench", "client_secret": SECRET
    })
    with Wire(gateway.port) as wire:
        fields = {"Content-Type": "application/x-www-form-urlencoded"}
        response = wire.ask("POST", "/oauth2/token", fields, form.encode())
    if response.status != 200:
        raise Trouble(f"the client got no token: {response.body[:300]}")
    return json.loads(response.body)["access_token"]


def beside_sessions(environment):
    """a request with an access token beside one with a session"""
    accepting = {"pages": {"accept": ["session", "token"]}}
    with environment.gateway(apps=accepting, clients=client()) as gateway:
        bearer = token(gateway)
        for protocol in PROTOCOLS:
            place = gateway.place("h2-tls" if protocol == "h2-go" else protocol)
            subjects = {
                "session": requests(environment, gateway.pid, place, protocol),
                "token": requests(environment, gateway.pid, replace(place, token=bearer), protocol),
            }
            found = rounds(subjects, environment.options.rounds)
            ours, beside = found["token"], found["session"]
            yield Row(
                "tokens", f"{NAMES[protocol]}, CPU for each request with an access token of {len(bearer)} bytes",
                microseconds(ours.cost), f"with a session {microseconds(beside.cost)}", ratio(ours.costs, beside.costs), "of a session",
                most=MOST
            )
