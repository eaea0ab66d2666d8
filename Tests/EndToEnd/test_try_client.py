# SPDX-License-Identifier: Apache-2.0
"""`gatehouse try --client`, as the developer of a client runs it."""

import os
import re
import subprocess
import threading
from urllib.parse import parse_qsl, urlsplit

import pytest

from support.browser import Browser
from support.gateway import ENVIRONMENT, PROGRAM, Gateway, oidc
from support.processes import free_port
from support.raw import request
from support.upstream import Upstream

SECRET = "a secret of the forum: 100% + more"
FORUM_URI = "https://forum.example.com/callback"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server):
    app = Upstream()
    gateway = Gateway(
        tmp_path_factory.mktemp("try"), {"mock": oidc(provider_server.realm("mock").issuer)},
        {"wiki": {"path": "/", "upstream": app.address, "allow": "signed_in", "accept": ["session", "token"]}},
        host="127.0.0.1"
    )
    gateway.configuration["clients"] = {
        "cli": {"type": "native", "redirect_uris": ["http://127.0.0.1/callback"], "audiences": ["wiki"],
                "allow": "signed_in"},
        "forum": {"type": "confidential", "secret": SECRET, "redirect_uris": [FORUM_URI], "allow": "signed_in"},
        "bound": {"type": "native", "redirect_uris": ["http://127.0.0.1/callback"], "audiences": ["wiki"],
                  "allow": "signed_in", "dpop": True, "require_par": True},
        "closed": {"type": "native", "redirect_uris": ["http://127.0.0.1/callback"], "allow": [{"user": "mock:absent"}]},
    }
    with gateway:
        yield gateway
    app.close()


class Try:
    """A running `gatehouse try --client`: `lines` has what it has printed."""
    def __init__(self, gateway, client, *options):
        self.port = free_port()
        command = [PROGRAM, "try", "--client", client, "--config", gateway.path, "--port", self.port, *options]
        self.child = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT})
        self.timer = threading.Timer(60, self.child.kill)
        self.timer.start()
        self.lines = []

    def until(self, text):
        while text not in (self.lines or [""])[-1]:
            line = self.child.stdout.readline()
            assert line, self.child.stderr.read()
            self.lines.append(line)
        return self.lines[-1]

    @property
    def url(self):
        self.until("3. ")
        return next(line.strip() for line in self.lines if "/oauth2/authorize?" in line)

    def end(self, text=None):
        out, err = self.child.communicate(text, timeout=30)
        self.timer.cancel()
        return self.child.returncode, "".join(self.lines) + out, err


def test_a_client_on_loopback_goes_through_all_steps(gateway):
    attempt = Try(gateway, "cli")
    browser = Browser(gateway)
    page = browser.visit(attempt.url)
    assert browser.submit(page).text == "The terminal has the rest; this page can be closed.\n"
    code, out, err = attempt.end()
    assert code == 0, (out, err)
    assert re.findall(r"^(\d)\. ", out, re.M) == list("123456789")
    for row in (r"iss +matches", r"state +matches", r"sub +mock:", rf'aud +\["{gateway.origin}","{gateway.origin}/oauth2/userinfo"\]$', r"email +ada@example.com",
                r"client_id +cli", r"userinfo +401"):
        assert re.search(rf"^   {row}", out, re.M), (row, out)
    assert browser.send("GET", "/oauth2/userinfo", navigates=False).status == 200


def test_rfc_9126_and_rfc_9449_a_client_that_has_to_push_its_requests_and_prove_its_key(gateway):
    attempt = Try(gateway, "bound")
    url = attempt.url
    assert set(dict(parse_qsl(urlsplit(url).query))) == {"client_id", "request_uri"}
    browser = Browser(gateway)
    browser.submit(browser.visit(url))
    code, out, err = attempt.end()
    assert code == 0, (out, err)
    assert re.search(r"^   token_type +DPoP$", out, re.M) and re.search(r'^   cnf +{"jkt":', out, re.M)
    assert re.search(r"^   userinfo +401$", out, re.M)


def test_no_secret_is_printed_and_the_tokens_are_revoked(gateway):
    """A client with a secret: the operator copies the URL from the browser."""
    attempt = Try(gateway, "forum")
    browser = Browser(gateway)
    page = browser.visit(attempt.url, stop=lambda url: url.startswith(FORUM_URI))
    code, out, err = attempt.end(f"{page.next}\n")
    assert code == 0, (out, err)
    received = dict(parse_qsl(urlsplit(page.next).query))
    assert received["code"] not in out and SECRET not in out and "eyJ" in out
    assert not re.search(r"[A-Za-z0-9_-]{90}", out), "every token and code has more bytes"
    assert re.search(r"^   Authorization +Basic …", out, re.M)


def test_a_callback_of_another_sign_in_does_not_end_the_wait(gateway):
    attempt = Try(gateway, "cli")
    url = attempt.url
    assert request(attempt.port, "/callback?code=x&state=y", host="127.0.0.1").status == 404
    browser = Browser(gateway)
    browser.submit(browser.visit(url))
    assert attempt.end()[0] == 0


def test_a_user_whom_the_client_denies(gateway):
    attempt = Try(gateway, "closed")
    Browser(gateway).visit(attempt.url)
    code, _, err = attempt.end()
    assert code == 1 and "access_denied" in err and "docs/clients.md#errors" in err


def test_a_code_that_was_spent_before_names_the_error(gateway):
    attempt = Try(gateway, "forum")
    browser = Browser(gateway)
    page = browser.visit(attempt.url, stop=lambda url: url.startswith(FORUM_URI))
    code, out, err = attempt.end(page.next.replace("code=", "code=x") + "\n")
    assert code == 1 and "responded 400: invalid_grant" in err and "gatehouse explain" in err


@pytest.mark.parametrize("options, text", [
    (["absent"], "has no client 'absent'; it has cli, forum, bound, closed"),
    (["cli", "--redirect-uri", "http://127.0.0.1/callback/"], "is not one of 'redirect_uris' of cli"),
    (["cli", "--wait", "1"], "did not come back within 1 s"),
])
def test_what_cannot_be_tried_exits_with_1(options, text, gateway):
    code, _, err = Try(gateway, *options).end()
    assert code == 1 and text in err


def test_a_gateway_that_does_not_run(gateway, tmp_path):
    other = Gateway(tmp_path, gateway.configuration["providers"], gateway.configuration["apps"], host="127.0.0.1")
    other.configuration["clients"] = gateway.configuration["clients"]
    other.write()
    code, _, err = Try(other, "cli").end()
    assert code == 1 and "check that the gateway runs" in err
