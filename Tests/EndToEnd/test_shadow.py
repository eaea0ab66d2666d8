# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: beside an old authentication in nginx, the gateway logs each request about which the two differ."""

import json

import pytest

from support.browser import Browser, trusting_context
from support.fronts import delivered
from support.gateway import Gateway, oidc
from support.processes import certificate, eventually, free_port, nginx
from support.raw import request
from support.upstream import Upstream, responds

WIKI = "wiki.localhost"
DIFFERENCES = 'gatehouse_forward_auth_shadow_differences_total{app="wiki",decision="%s",other="%s"}'
#: The cookie with which the old authentication admits, denies, or does not know a client.
OLD = {200: "old=admit", 403: "old=deny", 401: "theme=dark"}


class OldAuth(Upstream):
    """What nginx asked before: 200, 401 or 403 by a cookie, and a page."""
    def __init__(self):
        super().__init__()

        def auth(connection, seen):
            status = next((code for code, cookie in OLD.items() if cookie in seen.get("cookie", "")), 401)
            connection.send(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode())
            return True

        self.script("/auth", auth)
        self.script("/sign_in", responds(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nold page", close=False))


class Shadow:
    """nginx with the delivered file, the old authentication, the app, and the gateway beside them."""
    def __init__(self, folder, issuer):
        self.app, self.old = Upstream(), OldAuth()
        self.port = free_port()
        self.origin = f"https://{WIKI}:{self.port}"
        pem, key = certificate(folder, "shadow", WIKI, "gate.localhost")
        wiki = {
            "host": WIKI, "forward_auth": "shadow", "allow": "signed_in", "deny": [{"path": "/secret/**"}],
            "public": ["/open/"],
        }
        settings = {"trusted_proxies": ["127.0.0.1"], "forward_auth": {"dialect": "nginx", "from": ["127.0.0.1"], "shadow_status": True}}
        self.gateway = Gateway(
            folder, {"mock": oidc(issuer)}, {"wiki": wiki}, host=WIKI, public_url=self.origin, gateway=settings
        )
        self.gateway.configuration["logs"] = {"format": "json"}
        text = delivered(
            "nginx-shadow.conf", {
                "wiki.example.com": WIKI, "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
                "127.0.0.1:8080": f"127.0.0.1:{self.gateway.port}", "127.0.0.1:3000": f"127.0.0.1:{self.app.port}",
                "127.0.0.1:4180": f"127.0.0.1:{self.old.port}", "/etc/ssl/gatehouse/fullchain.pem": pem,
                "/etc/ssl/gatehouse/privkey.pem": key,
            }
        )
        self.gateway.start()
        self.process = nginx(folder, "nginx", text)
        self.process.wait_listening(self.port)
        self.browser = Browser(self.gateway)
        assert self.browser.sign_in("mock", "/open/").status == 200
        self.ticket = self.browser.ticket(WIKI)

    def stop(self):
        self.process.stop()
        self.gateway.leave()
        self.app.close()
        self.old.close()

    def get(self, target, old, is_signed_in, *fields):
        """A request of a client with a session at either; what it gets is up to the old authentication alone."""
        cookies = OLD[old] + (f"; __Host-gatehouse={self.ticket}" if is_signed_in else "")
        self.app.requests.clear()
        response = request(
            self.port, target, f"{WIKI}:{self.port}", fields=[("Cookie", cookies), *fields], tls=trusting_context(),
            server_name=WIKI
        )
        assert bool(self.app.requests) == (old == 200) and response.status == 200, (target, old, response)
        assert (response.text == "old page") == (old != 200)
        ours = [name for one in self.app.requests for name in one.names if name.startswith("x-gatehouse")]
        assert ours == [name.lower() for name, _ in fields], "the app gets what the client sent, as before"

    def lines(self):
        """The differences in the log, the oldest first."""
        found = [json.loads(line) for line in self.gateway.log.splitlines() if "forward-auth would" in line]
        return [(one["message"].split()[-1], one["decision"], one.get("other"), one["app"]) for one in found]

    def asked(self):
        """How many decisions the gateway has made."""
        return self.gateway.metric('gatehouse_requests_total{app="wiki",class="2xx"}')


@pytest.fixture(scope="module")
def shadow(tmp_path_factory, provider_server):
    realm = provider_server.realm("mock")
    with realm.fresh():
        one = Shadow(tmp_path_factory.mktemp("shadow"), realm.issuer)
        yield one
        one.stop()


@pytest.mark.parametrize(
    "target, old, is_signed_in, line", [
        ("/page", 200, False, ("reject", "sign_in", "200", "wiki")),
        ("/secret/a", 200, True, ("reject", "denied", "200", "wiki")),
        ("/secret/b", 401, True, ("reject", "denied", "401", "wiki")),
        ("/page", 403, True, ("admit", "allowed", "403", "wiki")),
        ("/page", 401, True, ("admit", "allowed", "401", "wiki")),
        ("/open/x", 403, False, ("admit", "public", "403", "wiki")),
        ("/page", 403, False, ("reject", "sign_in", "403", "wiki")),
        ("/page", 200, True, None),
        ("/open/x", 200, False, None),
        ("/secret/a", 403, True, None),
        ("/page", 401, False, None),
    ]
)
def test_each_difference_is_logged_with_both_verdicts_and_no_agreement_is(shadow, target, old, is_signed_in, line):
    before, asked = shadow.lines(), shadow.asked()
    shadow.get(target, old, is_signed_in)
    eventually(lambda: shadow.asked() == asked + 1, "the mirrored request is decided about")
    assert shadow.lines()[len(before):] == ([line] if line else [])


def test_a_client_cannot_report_a_verdict(shadow):
    """nginx sends its own; a client that knows the header changes nothing, for the app neither."""
    before, asked = shadow.lines(), shadow.asked()
    shadow.get("/page", 200, True, ("X-Gatehouse-Shadow-Status", "403"))
    eventually(lambda: shadow.asked() == asked + 1, "the mirrored request is decided about")
    assert shadow.lines() == before


def test_differences_are_counted_by_both_verdicts(shadow):
    count = shadow.gateway.metric
    reject, admit = DIFFERENCES % ("sign_in", "allowed"), DIFFERENCES % ("allowed", "denied")
    before = [count(reject), count(admit)]
    shadow.get("/page", 200, False)
    shadow.get("/page", 403, True)
    eventually(lambda: [count(reject), count(admit)] == [one + 1 for one in before], "both are counted")
