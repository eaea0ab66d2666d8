# SPDX-License-Identifier: Apache-2.0
"""Providers × fields × ways: what each provider type reports about a user, and how apps and clients get it (M-01, M-02, M-05).

The expected values are what the simulated providers report in the forms of the real ones, normalized as docs/profile.md
describes. Ways: headers and assertion at an app, the signature over them (RFC 9421), forward-auth in each dialect, and
the ID token and userinfo of a client.
"""

import time
from urllib.parse import quote

import jwt
import pytest
import yaml

from support.browser import Browser
from support.gateway import Gateway
from support.oauth_client import Client
from support.processes import free_port
from support.raw import request
from support.redis import Redis
from support.simulator import Simulator
from support.upstream import Upstream
from support.verifiers import PublishedKeys, SignedMessage, signature_verifier

HOST = "gate.localhost"
#: Every field that an app can get, with its standard header.
FIELDS = {
    "user": "X-Forwarded-User", "email": "X-Forwarded-Email", "name": "X-Forwarded-Name",
    "preferred_username": "X-Forwarded-Preferred-Username", "groups": "X-Forwarded-Groups",
    "provider": "X-Forwarded-Provider", "roles": "X-Forwarded-Roles", "email_verified": "X-Forwarded-Email-Verified",
    "auth_time": "X-Forwarded-Auth-Time", "acr": "X-Forwarded-Acr", "amr": "X-Forwarded-Amr",
    "given_name": "X-Forwarded-Given-Name", "family_name": "X-Forwarded-Family-Name", "picture": "X-Forwarded-Picture",
    "locale": "X-Forwarded-Locale", "tenant": "X-Forwarded-Tenant",
    "email_authoritative": "X-Forwarded-Email-Authoritative", "groups_complete": "X-Forwarded-Groups-Complete",
    "issuer": "X-Forwarded-Issuer", "subject": "X-Forwarded-Subject",
}
#: The same under names that an app chooses.
OWN = {field: "X-Own-" + field.replace("_", "-").title() for field in FIELDS}
CLAIMS = {"detail": "X-Claim-Detail", "origin": "X-Claim-Origin"}

ADA = {"name": "Ada Example", "given_name": "Ada", "family_name": "Example"}
MAIL = {"email": "ada@example.org", "email_verified": True}
#: An address that the provider does not verify is in no header; assertion and tokens have the flag beside it.
UNVERIFIED = {**MAIL, "email_verified": False}

#: Type of the provider; what it reports about Ada; and one claim with its source and value.
#: `issuer` is the URL below the provider's, and `auth_time` how many seconds ago she signed in there.
PROVIDERS = {
    "google": (
        {
            **ADA, **MAIL, "subject": "104729384756102938475", "tenant": "example.org", "preferred_username": "ada",
            "picture": "https://lh3.googleusercontent.com/a/ada=s96-c", "email_authoritative": True, "issuer": "",
        }, "id_token:/hd", "example.org"
    ),
    "github": (
        {
            **MAIL, "subject": "73205511", "name": "Ada Example", "preferred_username": "ada-example",
            "picture": "https://avatars.githubusercontent.com/u/73205511?v=4", "issuer": "/login/oauth",
        }, "api:/user#/followers", 20
    ),
    "microsoft": (
        {
            **ADA, "subject": "8eae0000-2b34-4da1-9baa-8bc8c9d6a490:00000000-1111-2222-3333-444455556666",
            "tenant": "8eae0000-2b34-4da1-9baa-8bc8c9d6a490", "preferred_username": "ada@contoso.example",
            "email": "ada@contoso.example", "email_verified": True, "email_authoritative": True,
            "groups": ["1b2c3d4e-0000-4000-8000-001122334455", "1b2c3d4e-0000-4000-8000-aabbccddeeff"],
            "groups_complete": True, "roles": ["Gateway.Admin"],
            "issuer": "/8eae0000-2b34-4da1-9baa-8bc8c9d6a490/v2.0",
        }, "id_token:/roles", ["Gateway.Admin"]
    ),
    "apple": (
        {
            **ADA, "subject": "001234.0123456789abcdef0123456789abcdef.0905", "email_verified": True,
            "email": "x7q9k2@privaterelay.appleid.com", "issuer": "", "auth_time": 2,
        }, "id_token:/nonce_supported", True
    ),
    "gitlab": (
        {
            **MAIL, "subject": "4711", "name": "Ada Example", "preferred_username": "ada", "groups_complete": True,
            "groups": ["example", "example/platform", "example/platform/edge"], "auth_time": 60, "issuer": "",
            "picture": "https://gitlab.com/uploads/-/system/user/avatar/4711/avatar.png",
        }, "userinfo:/https:~1~1gitlab.org~1claims~1groups~1owner", ["example/platform"]
    ),
    "okta": (
        {
            **ADA, **MAIL, "subject": "00u1demoADAexample02", "preferred_username": "ada@example.org", "locale": "en-US",
            "groups": ["Everyone", "Payroll Administrators"], "groups_complete": True, "auth_time": 5, "amr": ["pwd"],
            "issuer": "/oauth2/default",
        }, "userinfo:/updated_at", 1_790_000_000
    ),
    "auth0": (
        {
            **ADA, **MAIL, "subject": "google-oauth2|104729384756102938475", "preferred_username": "ada",
            "roles": ["editor", "viewer"], "picture": "https://s.gravatar.com/avatar/ada?s=480", "issuer": "/",
        }, "id_token:/updated_at", "2026-11-20T08:15:30.123Z"
    ),
    "keycloak": (
        {
            **ADA, **MAIL, "subject": "2f6d1f0a-8f3b-4a53-9d1c-5a1e7c0b9a10", "preferred_username": "ada",
            "groups": ["/staff", "/staff/platform"], "groups_complete": True, "auth_time": 3, "acr": "1",
            "roles": ["auditor", "default-roles-demo", "offline_access"], "issuer": "/realms/demo",
        }, "id_token:/realm_access/roles", ["default-roles-demo", "auditor", "offline_access"]
    ),
    "facebook": (
        {
            **ADA, **UNVERIFIED, "subject": "10229876543210987", "issuer": "", "picture":
                "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=10229876543210987&height=200",
        }, "api:/me#/picture/data/is_silhouette", False
    ),
    "linkedin": (
        {
            **ADA, **MAIL, "subject": "782bbtaQ_x", "locale": "en-US", "issuer": "/oauth",
            "picture": "https://media.licdn.com/dms/image/demo/ada",
        }, "userinfo:/locale/country", "US"
    ),
    "discord": (
        {
            **MAIL, "subject": "80351110224678912", "name": "Ada", "preferred_username": "ada", "locale": "en-US",
            "issuer": "", "picture":
                "https://cdn.discordapp.com/avatars/80351110224678912/8342729096ea3675442027381ff50dfe.png",
        }, "api:/users/@me#/discriminator", "0"
    ),
    "slack": (
        {
            **ADA, **MAIL, "subject": "T0DEM0WORK1:U0ADA000001", "tenant": "T0DEM0WORK1", "locale": "en-US",
            "picture": "https://avatars.slack-edge.com/demo/U0ADA000001_512.png", "auth_time": 0, "issuer": "",
        }, "id_token:/https:~1~1slack.com~1team_name", "Example"
    ),
    "oidc": (
        {
            **ADA, **MAIL, "subject": "248289761001", "preferred_username": "ada", "locale": "en-GB", "auth_time": 1,
            "picture": "https://provider.example/pictures/ada.png", "groups": ["platform", "staff"],
            "groups_complete": True, "amr": ["pwd"], "issuer": "",
        }, "userinfo:/groups", ["staff", "platform"]
    ),
    "oauth2": (
        {
            **MAIL, "subject": "9007199254740993", "name": "Ada Example", "preferred_username": "aexample",
            "locale": "en", "groups": ["analytics", "engine"], "issuer": "",
        }, "api:/api/me#/employee/number", 9_007_199_254_740_993
    ),
}
DIALECTS = ["nginx", "traefik", "caddy", "envoy"]
#: Where a client's tokens have a field: by scope, and what the entry of the client adds.
IN_SCOPES = [
    "name", "preferred_username", "given_name", "family_name", "picture", "locale", "provider", "email", "email_verified",
    "groups", "auth_time",
]


def line(value):
    """A value as a header has it (docs/headers.md)."""
    if isinstance(value, list):
        return ",".join(line(item).replace(",", "%2C") for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote(str(value), safe="".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%"))


class World:
    """A gateway with a provider of each type, and one for each dialect of forward-auth, with the same sessions."""
    def __init__(self, folder):
        self.app = Upstream()
        self.redis = Redis(folder / "redis").start()
        self.port = free_port()
        self.origin = f"http://{HOST}:{self.port}"
        self.simulators = {}
        providers = {}
        for type_, (_, source, _) in PROVIDERS.items():
            (folder / type_).mkdir()
            redirect = f"{self.origin}/oauth2/callback/{type_}"
            self.simulators[type_] = Simulator(folder / type_, type_, "--redirect-uri", redirect)
            entry = yaml.safe_load(self.simulators[type_].values["configuration"])["providers"][type_]
            providers[type_] = {**entry, "claims": {"detail": source, "origin": f"const:{type_}"}}
        headers = {
            **{OWN[field]: field for field in FIELDS}, **{header: f"claims.{name}" for name, header in CLAIMS.items()}
        }
        entry = {
            "upstream": self.app.address, "allow": "signed_in", "headers": headers,
            "identity": {"fields": list(FIELDS), "signature": "headers"},
        }
        client = {
            "type": "native", "redirect_uris": ["http://127.0.0.1/callback"], "allow": "signed_in", "claims": list(CLAIMS),
            "scopes": {"all": [field for field in FIELDS if field != "user"]},
        }
        self.gateway = self.gateway_of(folder, "main", providers, {"path": "/", **entry}, {}, self.port)
        self.gateway.configuration["clients"] = {"notes": client}
        self.dialects = {}
        for dialect in DIALECTS:
            checks = {"trusted_proxies": ["127.0.0.1"], "forward_auth": {"dialect": dialect, "from": ["127.0.0.1"]}}
            app = {
                "host": HOST, "forward_auth": "enforce", "allow": "signed_in", "headers": headers,
                "identity": {"fields": list(FIELDS)},
            }
            self.dialects[dialect] = self.gateway_of(folder, dialect, providers, app, checks)
        for gateway in [self.gateway, *self.dialects.values()]:
            gateway.start()
        self.browsers = {}

    def gateway_of(self, folder, name, providers, app, settings, port=None):
        return Gateway(
            folder / f"gateway-{name}", providers, {"wiki": app}, host=HOST, port=port, public_url=self.origin,
            gateway={**settings, "state": str(folder / "state")}, sessions={"store": f"redis://127.0.0.1:{self.redis.port}/0"},
            name=name
        )

    def browser(self, type_):
        """The browser of Ada, signed in with that provider once, and the times before and after."""
        if type_ not in self.browsers:
            begun, browser = int(time.time()), Browser(self.gateway)
            page = browser.submit(browser.visit(f"/oauth2/start/{type_}?rd=/landed"))
            for _ in range(2):
                if "/landed" not in page.url:
                    page = browser.submit(page)
            assert page.status == 200, (page, page.text[:800])
            self.browsers[type_] = browser, range(begun, int(time.time()) + 1)
        return self.browsers[type_]

    def expected(self, type_, value_of_time):
        """The fields of a user; of `auth_time` the value found, once it has been judged."""
        reported, _, claim = PROVIDERS[type_]
        times = self.browser(type_)[1]
        fields = {
            "groups": [], "roles": [], "groups_complete": False, "email_authoritative": False, **reported,
            "provider": type_, "user": f"{type_}:{reported['subject']}",
            "issuer": self.simulators[type_].values["base_url"] + reported["issuer"],
        }
        if "auth_time" in reported:
            assert int(value_of_time) + reported["auth_time"] in times
            fields["auth_time"] = int(value_of_time)
        return fields, {"detail": claim, "origin": type_}

    def close(self):
        for gateway in [self.gateway, *self.dialects.values()]:
            gateway.stop()
        for simulator in self.simulators.values():
            simulator.__exit__()
        self.redis.end()
        self.app.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("world"))
    yield world
    world.close()


@pytest.fixture(params=PROVIDERS)
def type_(request):
    return request.param


def identity(fields, claims):
    """The lines of a user: each value under its standard name and the app's own."""
    values = {field: line(value) for field, value in fields.items() if value not in (None, [])}
    if not fields["email_verified"]:
        del values["email"]
    lines = {names[field]: value for field, value in values.items() for names in (FIELDS, OWN)}
    return lines | {CLAIMS[name]: line(value) for name, value in claims.items()}


def sent(lines):
    """What came under any of those names."""
    names = {name.lower(): name for name in [*FIELDS.values(), *OWN.values(), *CLAIMS.values()]}
    found = {}
    for name, value in lines:
        if name.lower() in names:
            assert names[name.lower()] not in found, f"{name} came twice"
            found[names[name.lower()]] = value
    return found


def assertion(world, token, fields, claims):
    """Verifies an assertion and compares what it has about the user."""
    keys = jwt.PyJWKSet.from_dict(request(world.port, "/oauth2/jwks.json").json)
    key = keys[jwt.get_unverified_header(token)["kid"]]
    found = jwt.decode(token, key, algorithms=["ES256"], options={"verify_aud": False}, issuer=world.origin)
    assert found.pop("claims") == claims
    for name in ("iss", "aud", "iat", "nbf", "exp", "jti", "sid"):
        found.pop(name, None)
    wanted = {name: value for name, value in fields.items() if name not in ("user",)} | {"sub": fields["user"]}
    assert found == wanted
    assert {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in wanted.items()}


def test_m_01_an_app_gets_every_field_and_claim(type_, world):
    """In headers of both names, in the assertion with its types, and all of it covered by the signature."""
    browser, _ = world.browser(type_)
    assert browser.send("GET", f"/app/{type_}").status == 200
    seen = world.app.seen(f"/app/{type_}")[-1]
    fields, claims = world.expected(type_, seen.get("X-Forwarded-Auth-Time"))
    lines = identity(fields, claims)
    assert sent(seen.fields) == lines
    assertion(world, seen.get("X-Gatehouse-Assertion"), fields, claims)
    message = SignedMessage(seen, world.gateway.authority)
    signature_verifier(PublishedKeys(world.port)).verify(message)
    assert {name.lower() for name in lines} | {"x-gatehouse-assertion"} <= set(message.covered)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_m_01_forward_auth_gives_the_same(dialect, type_, world):
    browser, _ = world.browser(type_)
    url = f"http://{HOST}:{world.port}/asked"
    forwarded = [
        ("X-Forwarded-Method", "GET"), ("X-Forwarded-Proto", "http"), ("X-Forwarded-Host", f"{HOST}:{world.port}"),
        ("X-Forwarded-Uri", "/asked"),
    ]
    path, more = {
        "nginx": ("/oauth2/auth", [("X-Original-Method", "GET"), ("X-Original-URL", url)]),
        "traefik": ("/oauth2/auth", forwarded), "caddy": ("/oauth2/auth", forwarded), "envoy": ("/oauth2/auth/asked", []),
    }[dialect]
    cookie = ("Cookie", f"gatehouse={browser.ticket()}")
    response = request(
        world.dialects[dialect].port, path, host=f"{HOST}:{world.port}", fields=[cookie, ("X-Forwarded-For", "192.0.2.7"), *more]
    )
    assert response.status == 200, response
    fields, claims = world.expected(type_, response.get("X-Forwarded-Auth-Time"))
    # A proxy that copies fields has to get those without a value as well: it removes what the client sent.
    given = {name: value for name, value in sent(response.fields).items() if value}
    assert given == identity(fields, claims)
    assertion(world, response.get("X-Gatehouse-Assertion"), fields, claims)


def test_m_01_clients_get_fields_by_scope_and_claims_by_their_entry(type_, world):
    """In the ID token, and in userinfo the same."""
    browser, _ = world.browser(type_)
    client = Client(world.gateway, "notes", "http://127.0.0.1/callback")
    response = client.sign_in(browser)
    token = client.verified(response["id_token"], "notes")
    fields, claims = world.expected(type_, token.get("auth_time"))
    wanted = {name: fields[name] for name in IN_SCOPES if name in fields} | claims | {"sub": fields["user"]}
    userinfo = client.userinfo(response["access_token"]).json
    for found in (token, userinfo):
        assert {name: found.get(name) for name in wanted if found is token or name != "auth_time"} == {
            name: value for name, value in wanted.items() if found is token or name != "auth_time"
        }
        assert not {"roles", "tenant", "subject", "issuer"} & set(found)


def test_m_01_clients_get_every_field_by_a_scope_of_their_own(type_, world):
    """With the types of the assertion, in the ID token and in userinfo."""
    browser, _ = world.browser(type_)
    client = Client(world.gateway, "notes", "http://127.0.0.1/callback", scope="openid all")
    response = client.sign_in(browser)
    token = client.verified(response["id_token"], "notes")
    fields, claims = world.expected(type_, token.get("auth_time"))
    wanted = {name: value for name, value in fields.items() if name != "user"} | claims | {"sub": fields["user"]}
    for found in (token, client.userinfo(response["access_token"]).json):
        kept = {name: found[name] for name in wanted if name in found}
        assert kept == wanted
        assert {name: type(value) for name, value in kept.items()} == {name: type(value) for name, value in wanted.items()}


def test_m_05_the_account_page_may_load_the_picture_and_nothing_else(type_, world):
    """And it shows when the session ends: a week after the sign-in, by default."""
    browser, times = world.browser(type_)
    page = browser.send("GET", "/oauth2/account")
    assert page.status == 200
    picture = PROVIDERS[type_][0].get("picture")
    policy = page.get("Content-Security-Policy")
    origin = picture and "/".join(picture.split("/")[:3])
    assert f"; img-src 'self'{f' {origin}' if picture else ''};" in policy and policy.count("https://") == bool(picture)
    assert page.text.count("<img class=\"picture\"") == bool(picture)
    ends = {time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(begun + 7 * 86400)) for begun in times}
    assert any(end in page.text for end in ends)
