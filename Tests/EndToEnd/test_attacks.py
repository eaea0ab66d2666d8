# SPDX-License-Identifier: Apache-2.0
"""Attacks on the decision, each on a request that the gateway forwards and on one that a proxy asks about.

Both have to be admitted, or both rejected. Two things differ: a proxy passes on what the client
sent, so the gateway rejects fields that only a gateway may set (`forward_auth.header`) and paths in another than the
canonical spelling (`forward_auth.url`), where as a proxy it leaves the field out and forwards the canonical path. What an
attack does before there is a decision (`CONNECT` and frames of HTTP/2) is sent to the connection of the proxy that asks.
"""

import dataclasses
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
import pytest
import requests

from support import http2
from support.attacks import IRREGULAR_NAMES
from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import certificate, eventually, free_port
from support.raw import Wire, request

IDENTITY = [
    "x-forwarded-user", "x-forwarded-email", "x-forwarded-name", "x-forwarded-preferred-username", "x-forwarded-groups",
    "x-forwarded-provider", "x-gatehouse-assertion", "x-webauth-user",
]
#: A name of each family that the gateway removes.
MANAGED = [
    *IDENTITY, "X-WEBAUTH-ROLE", "X-Auth-Request-User", "X-Remote-User", "Remote-User", "X-User", "X-Authentik-Username",
    "X-Goog-Authenticated-User-Email", "Cf-Access-Jwt-Assertion", "X-Pomerium-Claim-Email", "X-Original-Uri",
    "X-Rewrite-Url", "X-Envoy-Original-Path", "X-Gatehouse-Else", "X-Client-Cert", "X-Real-Ip", "Proxy",
]
PUBLIC_LIES = [
    ("X-Forwarded-Uri", "/public/x"), ("X-Original-Uri", "/public/x"), ("X-Rewrite-Url", "/public/x"),
    ("X-Envoy-Original-Path", "/public/x"), ("X-Forwarded-Prefix", "/public"), ("X-Forwarded-Method", "OPTIONS"),
    ("X-Forwarded-Host", "open.localhost"), ("X-Http-Method-Override", "OPTIONS"), ("X-Forwarded-For", "10.1.2.3"),
    ("Forwarded", "for=10.1.2.3;host=open.localhost"), ("X-Real-Ip", "10.1.2.3"), ("X-Forwarded-Proto", "https"),
]


@dataclasses.dataclass
class Decision:
    """Whether a request reaches the app, with which identity and as which target."""
    admitted: bool
    status: int
    identity: dict
    target: str = ""


def described(fields):
    """The identity in field lines, without empty values."""
    return {name: value for name in IDENTITY if (value := fields.get(name))}


class Proxied:
    """Requests that the gateway forwards."""
    name = "proxied"
    #: Of a page of the app that is asked for at the gateway itself.
    page_status = 200

    def __init__(self, gateway, app):
        self.gateway, self.app, self.host = gateway, app, f"{self.name}.localhost"

    @property
    def authority(self):
        return f"{self.host}:{self.gateway.port}"

    def action(self):
        return {"upstream": self.app.address}

    def sign_in(self):
        """A `Cookie` field of a new session."""
        return ("Cookie", f"gatehouse={self.browser().ticket(self.host)}")

    def browser(self):
        """A browser that has signed in on the way to a page of the app."""
        browser = Browser()
        page = browser.visit(f"http://{self.authority}/oauth2/start/mock?rd=/page")
        assert page.status == self.page_status and browser.ticket(self.host), page
        return browser

    def ask(self, target, *fields, method="GET", host=None, source=None):
        before = len(self.app.requests)
        response = self.send(target, self.authority if host is None else host, method, fields, source)
        seen = self.app.requests[before:]
        assert len(seen) <= 1
        assert bool(seen) == (response.status == 200 and response.get("content-type") == "application/json"), response
        return Decision(bool(seen), response.status, described(seen[0]) if seen else {}, seen[0].target if seen else "")

    def send(self, target, host, method, fields, source=None):
        with Wire(self.gateway.port, source=source) as wire:
            lines = "".join(f"{name}: {value}\r\n" for name, value in [("Host", host), *fields])
            wire.send(f"{method} {target} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode("latin-1"))
            return wire.response(method)

    def fields(self, target):
        """The same question as fields of HTTP/2."""
        return http2.get(target, authority=self.host)

    def rejects(self, name):
        """Whether a field of the client is a reason to reject the request rather than left out."""
        return False


class Asked(Proxied):
    """Requests about which a proxy asks in the dialect of nginx."""
    name = "asked"
    page_status = 403

    def action(self):
        return {"forward_auth": "enforce"}

    def ask(self, target, *fields, method="GET", host=None, source=None):
        response = self.send(target, self.authority if host is None else host, method, fields, source)
        admitted = response.status == 200
        assert admitted or not described(response), response
        return Decision(admitted, response.status, described(response), target if admitted else "")

    def send(self, target, host, method, fields, source=None):
        original = [("X-Original-Method", method), ("X-Original-URL", f"http://{host}{target}")]
        return super().send("/oauth2/auth", "internal", "GET", [*original, *fields], source)

    def fields(self, target):
        original = [("x-original-method", "GET"), ("x-original-url", f"https://{self.host}{target}")]
        return http2.get("/oauth2/auth", *original, authority=self.host)

    def rejects(self, name):
        # nginx sets these itself, and what a client wrote does not reach the gateway.
        passed = ("x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded", "x-real-ip", "x-http-method-override")
        return name.lower() not in passed


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, recorder):
    """One gateway with the same apps twice: on a host whose requests it forwards, and on one about which it is asked."""
    folder, tls_port = tmp_path_factory.mktemp("attacks"), free_port()
    made = Gateway(folder, {}, {}, gateway={"forward_auth": {"dialect": "nginx", "from": ["127.0.0.1/32"]}})
    providers = {name: oidc(provider_server.realm(name).issuer) for name in ("mock", "other")}
    providers["mock"]["profile"] = {"groups": ["id_token:/groups"]}
    ways = [kind(made, recorder) for kind in (Proxied, Asked)]
    apps = {}
    for way in ways:
        common = {"host": way.host, **way.action()}
        apps |= {
            way.name: {
                **common, "allow": "signed_in", "providers": ["mock"], "headers": {"X-WEBAUTH-USER": "email", "Grafana-Login": "user"},
                "deny": [{"path": "/denied/**"}, {"method": "DELETE"}],
                "public": ["/public/", {"path": "/net/", "network": "10.0.0.0/8"}],
            },
            f"{way.name}-admins": {
                **common, "path": "/admins", "allow": [{"group": "admins"}], "public": ["/admins/assets/"],
            },
            f"{way.name}-staff": {**common, "path": "/staff", "allow": [{"email_domain": "example.com"}]},
            f"{way.name}-idna": {**common, "path": "/idna", "allow": [{"email_domain": "xn--bcher-kva.example"}]},
            f"{way.name}-other": {**common, "path": "/other", "providers": ["other"], "allow": "signed_in"},
        }
    made.configuration |= {"providers": providers, "apps": apps}
    pem, key = certificate(folder, "both", *[way.host for way in ways])
    listener = {"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": pem, "private_key": key}]}
    made.configuration["gateway"]["listeners"].append(listener)
    made.tls_port, made.ways = tls_port, {way.name: way for way in ways}
    with made:
        yield made


@pytest.fixture(params=["proxied", "asked"])
def way(request, gateway, realm):
    way = gateway.ways[request.param]
    yield way
    assert gateway.process.child.poll() is None
    assert way.ask("/public/x").admitted and not way.ask("/secret").admitted


@pytest.fixture
def ada(way):
    """A session without groups."""
    return way.sign_in()


def rejected(way, *targets, fields=(), **more):
    for target in targets:
        decision = way.ask(target, *fields, **more)
        assert not decision.admitted and decision.status in (303, 400, 401, 403, 404, 405, 414, 501), (target, fields, decision)


# oauth2-proxy


def test_a_06_the_groups_of_a_rule_are_not_the_users(way, ada, realm):
    rejected(way, "/admins", "/admins/x", fields=[ada])
    assert "x-forwarded-groups" not in way.ask("/page", ada).identity
    realm.user = {**realm.user, "groups": ["admins"]}
    assert way.ask("/admins/x", way.sign_in()).identity["x-forwarded-groups"] == "admins"


def test_a_07_the_query_satisfies_no_rule_for_paths(way):
    rejected(way, "/secret?/public/", "/secret?x=/public/x", "/admins/x?/admins/assets/", "/net/?network=10.0.0.1")


def spellings(name):
    yield from (name, name.lower(), name.upper(), name.replace("-", "_"), name.replace("-", "."), name.replace("-", "_", 1))
    yield from (f"{name} ", f" {name}", name.replace("-", "~"), f"{name}\u00a0")


@pytest.mark.parametrize("name", MANAGED)
def test_a_08_a_managed_name_in_any_spelling_adds_nothing(way, name, request):
    """A-08 A-39 A-95 K-01: for a session, for a user without the field and on public paths."""
    cookie = request.getfixturevalue("ada")
    for target, mine in (("/page", [cookie]), ("/public/x", [])):
        expected = way.ask(target, *mine).identity
        for spelled in spellings(name):
            decision = way.ask(target, *mine, (spelled, "evil"), (spelled, "evil@example.com"))
            if spelled.lower() == name.lower():
                assert decision.admitted != way.rejects(name), spelled
            if decision.admitted:
                found = {**decision.identity, "x-gatehouse-assertion": expected.get("x-gatehouse-assertion")}
                assert found == {**expected, "x-gatehouse-assertion": expected.get("x-gatehouse-assertion")}, spelled
                assert bool(decision.identity) == bool(mine)
            else:
                assert decision.status in (400, 403), spelled


@pytest.mark.parametrize("name", [name for name, _ in IRREGULAR_NAMES])
def test_a_08_a_name_that_an_app_may_read_as_ours_is_rejected(way, name, request):
    """A-08 K-01: with a session and on public paths, whatever the proxy that asks would make of it."""
    cookie = request.getfixturevalue("ada")
    for target, mine in (("/page", [cookie]), ("/public/x", [])):
        decision = way.ask(target, *mine, (name, "evil"))
        assert (decision.admitted, decision.status) == (False, 400), decision


def test_a_09_no_field_makes_a_request_a_health_check(way):
    for agent in ("GoogleHC/1.0", "kube-probe/1.30", "ELB-HealthChecker/2.0"):
        rejected(way, "/secret", "/oauth2/auth", "/healthz", fields=[("User-Agent", agent)])


@pytest.mark.parametrize("lie", PUBLIC_LIES, ids=lambda lie: lie[0])
def test_a_10_no_field_of_a_client_is_the_path_host_or_method(way, lie):
    """A-10 A-39 K-04."""
    rejected(way, "/secret", "/net/x", fields=[lie])


def test_a_11_a_fragment_is_rejected_and_an_escaped_one_is_part_of_the_path(way, ada):
    rejected(way, "/public/x#y", "/secret#/public/", "/#/public/", fields=[ada])
    rejected(way, "/secret%23/public/", "/admins/x%23/admins/assets/y")
    assert way.ask("/public/a%23b").target == "/public/a%23b"


@pytest.mark.parametrize(
    ("email", "verified", "admitted"),
    [
        ("ada@example.com", True, True), ("ada@example.com", False, False), ("a@evil@example.com", True, False),
        ("ada@example.com.evil.org", True, False), ("ada@badexample.com", True, False), ("ada@example.com ", True, False),
        ('"a@evil.org"@example.com', True, False), ("ada@example.com\u200b", True, False),
    ],
)
def test_a_12_an_email_rule_needs_one_verified_address_of_the_domain(way, realm, email, verified, admitted):
    realm.user = {"sub": "eve", "email": email, "email_verified": verified}
    cookie = way.sign_in()
    assert way.ask("/staff/x", cookie).admitted == admitted
    assert ("x-forwarded-email" in way.ask("/page", cookie).identity) <= verified


@pytest.mark.parametrize(
    ("email", "path", "admitted"),
    [
        # The rule names a domain as DNS has it; nothing else is that domain, whatever IDNA makes of it.
        ("ada@xn--bcher-kva.example", "/idna", True), ("ada@XN--Bcher-KVA.Example", "/idna", True),
        ("ada@bücher.example", "/idna", False), ("ada@bu\u0308cher.example", "/idna", False), ("ada@BÜCHER.example", "/idna", False),
        ("ada@xn--bcher-kva\u3002example", "/idna", False), ("ada@xn--bcher-kva.example.evil.org", "/idna", False),
        ("ada@xn--bcher-kvaa.example", "/idna", False), ("ada@bcher-kva.example", "/idna", False),
        # What maps to the domain of the rule, or looks like it: wide letters, other full stops, a soft hyphen, Cyrillic.
        ("ada@\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45.com", "/staff", False), ("ada@example\u3002com", "/staff", False),
        ("ada@example\uff0ecom", "/staff", False), ("ada@exam\u00adple.com", "/staff", False),
        ("ada@ex\u0430mple.com", "/staff", False), ("ada@xn--exmple-4nf.com", "/staff", False),
        ("ada@example.c\u2134m", "/staff", False), ("ada@xn--example.com", "/staff", False),
        ("ada\uff20example.com", "/staff", False), ("ada@evil.org\uff20example.com", "/staff", False),
    ],
    ids=ascii,
)
def test_a_12_a_domain_has_one_spelling(way, realm, email, path, admitted):
    """A-12 K-12: internationalized domains count as their A-labels only."""
    realm.user = {"sub": "eve", "email": email, "email_verified": True}
    decision = way.ask(f"{path}/x", way.sign_in())
    assert decision.admitted == admitted
    assert decision.status == (200 if admitted else 403)


# Pomerium


def test_a_20_no_redirect_carries_a_token(way, realm):
    issued = []
    realm.token_response = lambda response: issued.append(response) or response
    browser = way.browser()
    secrets = [browser.ticket(way.host), issued[0]["access_token"], issued[0]["id_token"]]
    assert len(browser.history) > 4
    assert not any(secret in url for secret in secrets for _, url, _ in browser.history)


def test_a_21_the_parameters_of_internal_urls_are_authenticated(way):
    """A-21: a changed session transfer or state leads to no session."""
    for place in ("/oauth2/handover?", "/oauth2/callback/"):
        browser = Browser()
        start = f"http://{way.authority}/oauth2/start/mock?rd=/page"
        url = browser.visit(start, stop=lambda url, place=place: place in url).next
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query)
        assert pairs
        for index, (name, value) in enumerate(pairs):
            other = value[:-2] + ("A" if value[-2] != "A" else "B") + value[-1:]
            changed = [*pairs[:index], (name, other), *pairs[index + 1:]]
            response = browser.send("GET", parts._replace(query=urlencode(changed)).geturl())
            assert response.status >= 300 and not browser.ticket(way.host), (name, response)
    rejected(way, "/page")


def test_a_22_frames_before_a_request_change_no_decision(way, gateway):
    """A-22: a shutdown with new settings, and streams that are reset at once."""
    with http2.Client(gateway.tls_port, server_name=way.host) as client:
        for number in range(1, 61, 2):
            client.request(number, way.fields("/public/x"))
            client.send(http2.frame(http2.RST_STREAM, 0, number, b"\0\0\0\x08"))
        client.send(http2.settings() + http2.frame(http2.GOAWAY, payload=b"\0" * 8) + http2.settings())
    with http2.Client(gateway.tls_port, server_name=way.host) as client:
        for number, target in ((1, "/public/x"), (3, "/secret"), (5, "/secret#/public/")):
            response = client.exchange(number, way.fields(target))
            assert (response.status == 200) == (target == "/public/x"), response


def test_a_23_a_decision_is_about_the_latest_claims(tmp_path, realm, recorder):
    """A-23."""
    made = Gateway(
        tmp_path, {"mock": {**oidc(realm.issuer), "profile": {"groups": ["id_token:/groups"]}}}, {},
        gateway={"forward_auth": {"dialect": "nginx", "from": ["127.0.0.1/32"]}},
        sessions={"store": "memory:", "recheck": "1s", "max_stale": "1h"},
    )
    ways = [kind(made, recorder) for kind in (Proxied, Asked)]
    made.configuration["apps"] = {
        way.name: {"host": way.host, **way.action(), "allow": [{"group": "admins"}]} for way in ways
    }
    realm.issues_refresh = True
    realm.user = {**realm.user, "groups": ["admins"]}
    with made:
        cookies = [way.sign_in() for way in ways]
        assert all(way.ask("/x", cookie).admitted for way, cookie in zip(ways, cookies))
        realm.user = {**realm.user, "groups": []}
        for way, cookie in zip(ways, cookies):
            eventually(lambda way=way, cookie=cookie: way.ask("/x", cookie).status == 403, f"{way.name} denies", 15)


OPERATIONS = [
    "/metrics", "/healthz", "/readyz", "/livez", "/status", "/v1/users", "/v1/sessions", "/v1/policy/users", "/v1/keys",
    "/debug/pprof/",
]


def test_a_24_clients_reach_no_metrics_health_or_debugging(way, ada):
    """Without a session nothing responds; with one these are paths of the app, on the host of the gateway too."""
    rejected(way, *OPERATIONS, "/oauth2/metrics", "/oauth2/healthz", "/oauth2/v1/users")
    # A proxy that asks about the gateway's own host.
    rejected(way, *OPERATIONS, host=way.gateway.authority)
    rejected(way, *OPERATIONS, fields=[ada], host=way.gateway.authority)
    for path in OPERATIONS:
        decision = way.ask(path, ada)
        assert (decision.admitted, decision.target) == (True, path)
        # A client at the listener itself: the app that is forwarded to, or nothing.
        response = request(way.gateway.port, path, way.authority, fields=[ada])
        assert response.status == (200 if way.name == "proxied" else 403), path
        assert (way.name == "proxied") == ("line" in response.json) and "gatehouse_" not in response.text
        for below in ("/oauth2", "/oauth2/auth", "/oauth2/auth/response"):
            response = request(way.gateway.port, below + path, way.authority, fields=[ada])
            # N-03: on the host of an app, what is not an endpoint there is a path of the app.
            if below == "/oauth2" and way.name == "proxied":
                assert response.status == 200 and "line" in response.json, below + path
                continue
            assert response.status in (400, 403, 404) and "gatehouse_" not in response.text, below + path


def test_a_24_the_operations_listener_decides_nothing(way, ada):
    original = {"X-Original-Method": "GET", "X-Original-URL": f"http://{way.authority}/page"}
    for path in ("/oauth2/auth", "/oauth2/auth/response", "/oauth2/auth/page", "/envoy.service.auth.v3.Authorization/Check"):
        url = f"http://127.0.0.1:{way.gateway.operations}{path}"
        response = requests.get(url, headers={**original, ada[0]: ada[1]}, timeout=5)
        assert response.status_code == 404 and not described(response.headers), path


def test_a_25_the_app_that_gets_a_request_is_the_one_that_was_decided_about(way, ada):
    """A-25 K-03: without the group, in no spelling of the path."""
    rejected(
        way, "/admins", "/admins/", "/admins/x", "/page/../admins/x", "/./admins/x", "//admins/x", "/%61dmins/x",
        "/x%2F..%2Fadmins/x", "/admins%2Fx", "/ADMINS/x", "/admins;a=b/x", "/%2561dmins/x", "/admins/assets/../x",
        "/admins/assets/%2e%2e/x", "/admins/assets/..%2fx", "/denied/x", "/x/../denied/x", "/DENIED/x", "/%64enied/x",
        fields=[ada],
    )
    for lie in (("X-Original-Uri", "/page"), ("X-Rewrite-Url", "/page"), ("X-Forwarded-Uri", "/page")):
        rejected(way, "/admins/x", fields=[ada, lie])


def test_a_26_an_app_and_our_pages_get_no_token_of_the_provider(way, realm):
    issued = []
    realm.issues_refresh = True
    realm.token_response = lambda response: issued.append(response) or response
    cookie = way.sign_in()
    tokens = [issued[0][name] for name in ("access_token", "id_token", "refresh_token")]
    response = way.send("/page", way.authority, "GET", [cookie])
    page = request(way.gateway.port, "/oauth2/userinfo", way.authority, fields=[cookie])
    assert response.status == page.status == 200
    head = str(way.app.requests[-1].fields)
    for token in tokens:
        assert not any(token in text for text in (head, str(response), response.text, page.text))
    claims = jwt.decode(way.ask("/page", cookie).identity["x-gatehouse-assertion"], options={"verify_signature": False})
    assert set(claims) <= {
        "iss", "aud", "sub", "iat", "nbf", "exp", "jti", "sid", "provider", "email", "email_verified", "name",
        "preferred_username", "groups", "roles", "auth_time", "acr", "amr",
    }


def test_a_27_the_gateway_takes_no_assertion_for_a_credential(way, ada):
    assertion = way.ask("/page", ada).identity["x-gatehouse-assertion"]
    for fields in (
        [("Authorization", f"Bearer {assertion}")], [("Cookie", f"gatehouse={assertion}")],
        [("X-Gatehouse-Assertion", assertion)], [("Cookie", f"gatehouse-attempt-01234567={assertion}")],
    ):
        rejected(way, "/page", fields=fields)
    body = {"logout_token": assertion}
    url = f"http://127.0.0.1:{way.gateway.port}/oauth2/backchannel-logout/mock"
    assert requests.post(url, data=body, headers={"Host": way.gateway.authority}).status_code == 400
    assert way.ask("/page", ada).admitted


# Envoy


def test_a_38_two_authorization_fields_are_rejected(way, ada):
    twice = [("Authorization", "Bearer a"), ("authorization", "Basic YTpi")]
    rejected(way, "/page", "/public/x", fields=[ada, *twice])
    assert way.ask("/page", ada, twice[0]).admitted


def test_a_39_an_internal_field_of_a_client_admits_no_request(way):
    """A-39: fields of the gateway, of Envoy and of the dialects."""
    for name in ("X-Gatehouse-Assertion", "X-Gatehouse-User", "X-Envoy-Original-Path", "X-Envoy-Internal", "X-Accel-Redirect"):
        rejected(way, "/secret", fields=[(name, "/public/x")])


def test_a_40_connect_is_rejected_before_routing(way, ada):
    """A-40: of a client, and as the method that a proxy reports."""
    for target in ("a:443", f"{way.authority}", "/page"):
        assert Proxied.send(way, target, way.authority, "CONNECT", [ada]).status in (400, 405, 501)
    rejected(way, "/page", "/public/x", fields=[ada], method="CONNECT")
    rejected(way, "/page", fields=[ada], method="TRACE")


def test_a_41_of_a_repeated_field_every_value_counts(way, ada):
    original = ("X-Original-URL", "X-Original-Method")
    for field in ("Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Authorization", "Host", *original):
        for values in (("same-origin", "cross-site"), ("cross-site", "same-origin")):
            decision = way.ask("/page", ada, *[(field, value) for value in values], method="POST")
            # The gateway leaves these two out of what it forwards.
            assert decision.admitted == (way.name == "proxied" and field in original), (field, decision)
    # The session may be in any of several lines.
    assert way.ask("/page", ("Cookie", "a=b"), ada, ("Cookie", "c=d")).admitted


def test_a_42_no_spelling_of_a_path_widens_a_public_one(way):
    """A-42 K-03."""
    rejected(
        way, "/public/../secret", "/public/%2e%2e/secret", "/public/..%2fsecret", "/public/%2e%2e%2fsecret", "/secret*",
        "/public/..%5csecret", "/public/x/..;/../../secret", "/secret;/public/", "/secret%2F..%2Fpublic/", "/PUBLIC/secret",
        "/public", "/publicx", "/public%00/x", "/public/%00", "//public/../secret", "*", "public/x", "/%zz/public/",
    )


def test_a_43_a_private_address_is_not_trusted(way):
    """A-43 K-04: neither as the client's, nor as that of a proxy that is not listed."""
    for name, value in (("X-Forwarded-For", "10.1.2.3"), ("Forwarded", "for=10.1.2.3"), ("X-Real-Ip", "10.1.2.3")):
        rejected(way, "/net/x", fields=[(name, value)])
        rejected(way, "/net/x", fields=[(name, value)], source="127.0.0.2")
    # A question from there does not come from the proxy; a request from there is one of a client.
    assert way.ask("/public/x", source="127.0.0.2").admitted == (way.name == "proxied")


# Classes


def test_k_01_without_a_value_of_the_user_there_is_no_field(way, realm):
    """K-01: the client's own field does not take its place."""
    realm.user = {"sub": "bare"}
    cookie = way.sign_in()
    expected = way.ask("/page", cookie).identity
    assert set(expected) == {"x-forwarded-user", "x-forwarded-provider", "x-gatehouse-assertion"}
    for name in IDENTITY:
        decision = way.ask("/page", cookie, (name, "evil"))
        assert set(decision.identity) == (set(expected) if decision.admitted else set()), name
        assert "evil" not in decision.identity.values()


def test_k_02_connection_removes_no_field_of_the_gateway(way, ada):
    expected = way.ask("/page", ada).identity
    for names in (IDENTITY, [name.upper() for name in IDENTITY], ["Cookie", "Host", "X-Original-URL", "X-Original-Method"]):
        decision = way.ask("/page", ada, ("Connection", ", ".join(names)))
        assert decision.admitted and set(decision.identity) == set(expected)


def test_k_05_a_changed_ticket_finds_no_session(way, ada):
    name, ticket = ada[1].split("=", 1)
    for index in range(0, len(ticket), 3):
        other = "A" if ticket[index] != "A" else "Q"
        rejected(way, "/page", fields=[("Cookie", f"{name}={ticket[:index]}{other}{ticket[index + 1:]}")])
    for other in (ticket[:-1], ticket + "A", ticket + "=", ticket.lower(), ticket[::-1]):
        rejected(way, "/page", fields=[("Cookie", f"{name}={other}")])


def test_k_06_what_was_decided_about_one_app_holds_for_no_other(way, ada):
    """K-06: whatever the order of the requests."""
    for target, admitted in (("/page", True), ("/other/x", False), ("/admins/x", False), ("/staff/x", True)) * 2:
        assert way.ask(target, ada).admitted == admitted, target
    audiences = {
        jwt.decode(way.ask(target, ada).identity["x-gatehouse-assertion"], options={"verify_signature": False})["aud"]
        for target in ("/page", "/staff/x")
    }
    assert len(audiences) == 2
    other = way.gateway.ways["asked" if way.name == "proxied" else "proxied"]
    rejected(other, "/page", fields=[ada])


def test_k_07_what_is_malformed_is_admitted_nowhere(way):
    """K-07: no error leads to a response that lets the request pass."""
    for value in (
        "gatehouse=", "gatehouse", "gatehouse=\u00ff", "gatehouse=" + "A" * 5000, "gatehouse=a; gatehouse=b", "=;=",
        "gatehouse_0=x",
    ):
        rejected(way, "/page", fields=[("Cookie", value)])
    rejected(way, "/%", "/%zz", "/\u00ff\u00fe", "/page?%zz", "/" + "a" * 9000, "/\\..\\public/")
    for host in ("", "[", "a b", "asked.localhost:99999", "a" * 300, "nowhere.localhost"):
        rejected(way, "/public/x", "/secret", host=host)


def test_k_12_case_and_dots_make_no_difference(way, ada):
    """K-12: of a host; of a method, since some apps take `delete` for `DELETE`."""
    for host in (way.authority.upper(), f"{way.host}.:{way.gateway.port}", way.host):
        assert way.ask("/public/x", host=host).admitted, host
        assert way.ask("/page", ada, host=host).admitted, host
        rejected(way, "/secret", host=host)
        rejected(way, "/denied/x", "/admins/x", fields=[ada], host=host)
    for method in ("DELETE", "delete", "Delete"):
        rejected(way, "/page", fields=[ada], method=method)
    rejected(way, "/secret", method="FOO")
