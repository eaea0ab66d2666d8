# SPDX-License-Identifier: Apache-2.0
"""No secret is in any output: logs in both formats at the level debug, commands, operations API, metrics, pages."""

import base64
import json
import re
from urllib.parse import urlencode

import pytest
import requests

from support.browser import Browser
from support.gateway import ENVIRONMENT, SECRET, Gateway, oidc, run
from support.machines import API, Issuer, made
from support.marks import Marks
from support.processes import eventually
from support.raw import request
from support.redis import Redis
from support.tokens import logout_token
from support.upstream import Upstream

STREAMS = ("access", "audit", "security", "process")


class Secrets:
    """A gateway with every feature that has a secret, all its secrets, and all that it prints."""
    def __init__(self, folder, realm, format_):
        self.folder, self.realm = folder, realm
        self.marks = Marks([SECRET, ENVIRONMENT["TEST_CLIENT_SECRET"], "client+secret%2B%2F%25"])
        self.outputs = {}
        self.app, self.issuer, self.legacy = Upstream(), Issuer(), Issuer()
        new = self.marks.new
        self.password = new("redis")
        self.redis = Redis(folder / "redis", "--requirepass", self.password).start()
        self.token, self.entry = made("bot")
        self.marks.append(self.token)
        self.operations_token = new("operations-token-of-an-operator")
        settings = {
            "operations_token": self.operations_token, "trusted_proxies": ["127.0.0.1"], "forward_auth":
                {"dialect": "nginx", "from": ["127.0.0.1"]}
        }
        machines = {"issuers": ["ci", "legacy"], "service_tokens": ["bot"], "basic": True}
        basic = {"username": "gateway", "password": new("app")}
        entry = {"upstream": self.app.address, "allow": "signed_in"}
        apps = {
            "echo": {"path": "/", "machines": machines, "identity": {"basic": basic}, **entry},
            "closed": {"path": "/closed", "machines": machines, **entry, "allow": [{"user": "mock:eve"}]},
            "dead": {"path": "/dead", **entry, "upstream": "http://127.0.0.1:9"},
            "asked": {"host": "asked.localhost", "forward_auth": "enforce", "allow": "signed_in"},
        }
        self.gateway = Gateway(
            folder, {"mock": oidc(realm.issuer)}, apps, gateway=settings,
            sessions={"store": f"redis://:{self.password}@127.0.0.1:{self.redis.port}", "recheck": "1s", "max_stale": "1h"}
        )
        self.gateway.configuration["issuers"] = {
            "ci": {"type": "jwt", "issuer": self.issuer.url, "audience": [API]},
            "legacy":
                {
                    "type": "introspection", "issuer": self.legacy.url, "audience": API, "cache": "1s",
                    "introspection_endpoint": f"{self.legacy.url}/introspect", "client_id": "gateway", "client_secret":
                        new("introspection")
                },
        }
        self.gateway.configuration["service_tokens"] = {"bot": self.entry}
        self.gateway.configuration["logs"] = {
            "format": format_, "query": "mask", **{stream: str(folder / f"{stream}.log") for stream in STREAMS}
        }
        self.marks.watch(realm)
        self.gateway.start(more=["--log-level", "debug"])

    def end(self):
        self.gateway.leave()
        self.app.close()
        for issuer in (self.issuer, self.legacy):
            issuer.server.shutdown()
        self.redis.end()

    def call(self, path, authorization=None, host=None, fields=()):
        """A request with an `Authorization` of a machine, whose value is a secret."""
        if authorization:
            self.marks.append(authorization.partition(" ")[2])
        more = [("Authorization", authorization)] if authorization else []
        host = host or f"{self.gateway.host}:{self.gateway.port}"
        response = request(self.gateway.port, path, host, fields=[*fields, *more])
        # What an app echoes is not an output of the gateway, and a redirect to the sign-in leads back.
        if response.status != 200:
            self.outputs[f"response {len(self.outputs)}"] = re.sub(r"\brd=[\w%.~-]+", "", f"{response.fields} {response.text}")
        return response

    def command(self, *arguments, code=0):
        """A command with its configuration; its output."""
        result = run(*arguments, cwd=self.folder)
        assert result.returncode == code, result
        self.outputs[" ".join(map(str, arguments))] = result.stdout + result.stderr
        return result.stdout

    def api(self, path, token=None):
        response = requests.get(
            f"http://127.0.0.1:{self.gateway.operations}{path}", timeout=5,
            headers={"Authorization": f"Bearer {token or self.operations_token}"}
        )
        self.outputs[f"API {path} {response.status_code}"] = f"{response.headers} {response.text}"
        return response

    def check(self):
        self.outputs |= {stream: (self.folder / f"{stream}.log").read_text() for stream in STREAMS}
        for name, text in self.outputs.items():
            for secret in self.marks:
                assert secret not in text, f"{secret} is in {name}"


@pytest.fixture(params=["json", "text"])
def secrets(request, tmp_path, realm):
    one = Secrets(tmp_path, realm, request.param)
    yield one
    one.end()


def use_sessions(secrets):
    """Sign-in, re-checks with refresh tokens, forward-auth, sign-outs by the provider; returns a browser."""
    gateway, realm = secrets.gateway, secrets.realm
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/page").status == 200
    confirmed = 'gatehouse_session_rechecks_total{provider="mock",result="confirmed"}'

    def is_confirmed():
        browser.send("GET", "/page")
        return gateway.metrics().get(confirmed, 0) >= 1

    eventually(is_confirmed, "the refresh token is redeemed", 15)
    secrets.marks.extend(value for jar in browser.cookies.values() for value in jar.values())
    asked = [("X-Original-Method", "GET"), ("X-Forwarded-Proto", "http")]
    url = ("X-Original-URL", f"http://asked.localhost/page?{secrets.marks.new('query')}")
    for more in ((), (("Cookie", f"gatehouse={browser.ticket()}"),), (("Cookie", f"gatehouse={secrets.marks.new('cookie')}"),)):
        secrets.call("/oauth2/auth", host="asked.localhost", fields=[*asked, url, *more])
        secrets.call("/oauth2/auth/response", host="asked.localhost", fields=[*asked, url, *more])
    denied = browser.send("GET", "/closed/x")
    assert denied.status == 403
    secrets.outputs["denial"] = denied.text
    assert browser.send("GET", "/dead/x").status == 502
    for text in (logout_token(realm, sub="unknown"), secrets.marks.new("forged"), logout_token(realm, iss="https://evil.example")):
        secrets.marks.append(text)
        body = urlencode({"logout_token": text}).encode()
        fields = [("Content-Type", "application/x-www-form-urlencoded")]
        request(gateway.port, "/oauth2/backchannel-logout/mock", method="POST", fields=fields, body=body)
    # The refresh token is rejected, and ends the session.
    other = Browser(gateway)
    realm.user = {**realm.user, "sub": "bob"}
    assert other.sign_in("mock", "/page").status == 200
    realm.disabled.add("bob")
    eventually(lambda: other.send("GET", "/page", navigates=False).status == 401, "the provider ends the session", 15)
    return browser, re.search(r'"incident":\s*"([^"]+)"', secrets.call("/closed/x", f"Bearer {secrets.token}").text).group(1)


def use_tokens(secrets):
    """Tokens of each kind, valid and not, with issuers that respond and that do not."""
    issuer, new = secrets.issuer, secrets.marks.new
    opaque = new("opaque")
    secrets.legacy.active[opaque] = {"active": True, "iss": secrets.legacy.url, "aud": API, "sub": "old", "exp": 4_000_000_000}
    assert secrets.call("/x", f"Bearer {issuer.token()}").status == 200
    assert secrets.call("/x", f"Bearer {secrets.token}").status == 200
    basic = base64.b64encode(f"git:{secrets.token}".encode()).decode()
    assert secrets.call("/x", f"Basic {basic}").status == 200
    assert secrets.call("/x", f"Bearer {opaque}").status == 200
    for wrong in (issuer.token(aud="https://other.example"), issuer.token(exp=1), f"{secrets.token}x", issuer.token()[:-6] + "AAAAAA"):
        assert secrets.call("/x", f"Bearer {wrong}").status == 401
    issuer.down = secrets.legacy.down = True
    assert secrets.call("/x", f"Bearer {new('inactive')}").status == 502


def test_no_secret_of_any_feature_is_in_any_output(secrets):
    """Logs, commands, the operations API, metrics, status and error responses, while flows succeed and fail."""
    use_tokens(secrets)
    browser, incident = use_sessions(secrets)
    config = ["--config", secrets.gateway.path]
    session = json.loads(secrets.command("sessions", "list", "--json", *config))["sessions"][0]["id"]
    for arguments in (
        ["sessions", "list"], ["sessions", "show", "--", session], ["users", "list"], ["users", "list", "--json"],
        ["keys", "list"], ["keys", "list", "--json"], ["keys", "rotate"], ["tokens", "list"], ["check"],
        ["check", "--json"], ["explain", incident], ["explain", incident, "--json"], ["health", "--json"],
        ["sessions", "revoke", "--user", "mock:ada", "--dry-run", "--json"],
        ["policy", "explain", "closed", "--as", "mock:ada", "--path", "/closed/x"],
    ):
        separator = arguments.index("--") if "--" in arguments else len(arguments)
        secrets.command(*arguments[:separator], *config, *arguments[separator:])
    for path in (
        "/v1/sessions", "/v1/users", "/v1/policy", "/v1/policy/users", "/v1/keys", f"/v1/incidents?id={incident}",
        "/metrics", "/status", "/readyz?verbose",
    ):
        assert secrets.api(path).status_code == 200, path
    assert secrets.api("/v1/sessions", secrets.marks.new("wrong-token-of-an-operator")).status_code == 401
    # A file that is wrong shows neither its secrets nor those of Redis.
    text = secrets.gateway.path.read_text()
    for wrong in (text.replace('"allow": "signed_in"', '"allow": "signed-in"'), text.replace("redis://", "redis:/")):
        secrets.gateway.path.write_text(wrong)
        secrets.command("check", *config, code=1)
        secrets.command("check", "--json", *config, code=1)
        before = secrets.gateway.metric('gatehouse_reloads_total{result="failed"}')
        secrets.gateway.reload()
        eventually(lambda: secrets.gateway.metric('gatehouse_reloads_total{result="failed"}') > before, "the reload fails")
    secrets.gateway.path.write_text(text)
    secrets.redis.kill()
    # From the cache of a loop or not at all: what counts is what is written about it.
    browser.send("GET", "/page", navigates=False)
    assert Browser(secrets.gateway).send("GET", "/page", fields={"Cookie": f"gatehouse={secrets.marks.new('ticket')}"}).status >= 300
    secrets.outputs["standard error"] = secrets.gateway.log
    secrets.check()
    assert "signed in" in secrets.outputs["audit"] and "session ended by provider" in secrets.outputs["audit"]
    assert secrets.outputs["access"].count("\n") > 20 and "serving" in secrets.outputs["process"]
