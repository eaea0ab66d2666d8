# SPDX-License-Identifier: Apache-2.0
"""Six files of other gateways keep their claims: imported, run, and what the app gets compared with each product's documents (M-02)."""

import json

import pytest
import yaml

from support.browser import Browser
from support.gateway import ENVIRONMENT, Gateway, run
from support.processes import free_port
from support.upstream import Upstream

USER = {
    "sub": "ada", "email": "ada@example.com", "email_verified": True, "name": "Ada Example", "groups": ["a", "b"],
    "department": "finance", "level": 7, "contractor": False, "teams": ["z", "a"], "org": {"unit": "berlin"},
    "https://example.com/tier": "gold", "preferred_username": "ada.e",
}
#: Claims that only userinfo has.
MORE = {"cost_center": "4711"}

ALPHA = """
providers:
  - id: main
    provider: oidc
    clientID: gatehouse
    clientSecret: "${TEST_CLIENT_SECRET}"
    scope: openid email profile
    additionalClaims: [department, level, contractor, teams, org.unit, cost_center, absent]
    oidcConfig: { issuerURL: "%(issuer)s", audienceClaims: [aud] }
upstreamConfig: { upstreams: [{ id: app, path: /, uri: "%(app)s" }] }
injectRequestHeaders:
"""
HEADERS = {
    "X-Department": "department", "X-Level": "level", "X-Contractor": "contractor", "X-Teams": "teams",
    "X-Unit": "org.unit", "X-Cost": "cost_center", "X-Absent": "absent", "X-Sub": "user",
}
#: https://oauth2-proxy.github.io/oauth2-proxy/configuration/alpha-config: one value for each element, joined by commas.
OF_OAUTH2_PROXY = {
    "X-Department": "finance", "X-Level": "7", "X-Contractor": "false", "X-Teams": "z,a", "X-Unit": "berlin",
    "X-Cost": "4711", "X-Absent": None, "X-Sub": "ada",
}


def alpha(source):
    """The alpha configuration, with the sources of headers as versions before or since 7.14 write them."""
    lines = [f"  - {{ name: {name}, values: [{source % claim}] }}\n" for name, claim in HEADERS.items()]
    return ALPHA + "".join(lines)


POMERIUM = """
authenticate_service_url: %(origin)s
idp_provider: oidc
idp_provider_url: %(issuer)s
idp_client_id: gatehouse
idp_client_secret: not-copied
idp_scopes: [openid, email, profile]
pass_identity_headers: true
jwt_claims_headers: %(headers)s
routes:
  - from: %(origin)s
    to: %(app)s
    policy: [{ allow: { and: [{ claim/department: finance }, { claim/org.unit: berlin }] } }]
"""
APACHE = """
OIDCProviderMetadataURL %(issuer)s/.well-known/openid-configuration
OIDCClientID gatehouse
OIDCClientSecret ${TEST_CLIENT_SECRET}
OIDCRedirectURI %(origin)s/redirect_uri
OIDCScope "openid email profile"
OIDCWhiteListedClaims sub email department level teams org cost_center https://example.com/tier
OIDCClaimDelimiter ;
<VirtualHost *:80>
ServerName gate.localhost
ProxyPass / %(app)s/
<Location />
AuthType openid-connect
<RequireAll>
Require claim department:finance
Require claim org.unit:berlin org.unit:paris
Require not claim level:8
</RequireAll>
</Location>
</VirtualHost>
"""
AUTHELIA = """
session: { cookies: [{ domain: localhost, authelia_url: "%(issuer)s" }] }
access_control: { default_policy: deny, rules: [{ domain: gate.localhost, policy: one_factor, subject: "group:a" }] }
identity_providers:
  oidc:
    claims_policies: { staff: { custom_claims: { department: {}, cost_center: { attribute: cc } } } }
    scopes: { company: { claims: [department, cost_center] } }
"""

#: The format, the text, the claims of one header form, the headers at the app by the documents of the product, and users who are denied.
FILES = {
    "oauth2-proxy, nested sources": ("oauth2-proxy", alpha("{ claimSource: { claim: %s } }"), OF_OAUTH2_PROXY, []),
    "oauth2-proxy, plain sources": ("oauth2-proxy", alpha("{ claim: %s }"), OF_OAUTH2_PROXY, []),
    # https://www.pomerium.com/docs/reference/jwt-claim-headers
    "Pomerium, a list":
        (
            "pomerium", POMERIUM % {
                "headers": "[department, level, contractor, teams, org.unit, cost_center, user, groups]", "issuer":
                    "%(issuer)s", "app": "%(app)s", "origin": "%(origin)s",
            }, {
                "X-Pomerium-Claim-Department": "finance", "X-Pomerium-Claim-Level": "7", "X-Pomerium-Claim-Contractor":
                    "false", "X-Pomerium-Claim-Teams": "z,a", "X-Pomerium-Claim-Org.unit": None,
                "X-Pomerium-Claim-Cost-Center": "4711", "X-Pomerium-Claim-User": "ada", "X-Pomerium-Claim-Groups":
                    "a,b",
            }, [{"department": "sales"}, {"department": None}, {"org": {"unit": "paris"}}]
        ),
    "Pomerium, a mapping":
        (
            "pomerium", POMERIUM % {
                "headers":
                    '{ X-Unit: org.unit, X-Roles: teams, X-Tier: "https://example.com/tier", X-Mail: email, X-Absent: absent }',
                "issuer": "%(issuer)s", "app": "%(app)s", "origin": "%(origin)s",
            }, {
                "X-Unit": "berlin", "X-Roles": "z,a", "X-Tier": "gold", "X-Mail": "ada@example.com", "X-Absent": None,
            }, [{"department": ["sales"]}, {"org": None}]
        ),
    # https://github.com/OpenIDC/mod_auth_openidc/blob/master/auth_openidc.conf; `_` and `-` are one character for CGI and WSGI.
    "mod_auth_openidc":
        (
            "mod_auth_openidc", APACHE, {
                "OIDC-CLAIM-sub": "ada", "OIDC-CLAIM-email": "ada@example.com", "OIDC-CLAIM-department": "finance",
                "OIDC-CLAIM-level": "7", "OIDC-CLAIM-teams": "z;a", "OIDC-CLAIM-cost-center": "4711",
                "OIDC-CLAIM-name": None, "OIDC-CLAIM-contractor": None,
            }, [{"department": "sales"}, {"org": {"unit": "rome"}}, {"level": 8}, {"level": None}]
        ),
    # https://www.authelia.com/integration/trusted-header-sso/introduction/
    "Authelia":
        (
            "authelia", AUTHELIA, {
                "Remote-User": "ada.e", "Remote-Groups": "a,b", "Remote-Name": "Ada Example", "Remote-Email":
                    "ada@example.com", "X-Department": "finance", "X-Cost": "4711",
            }, [{"groups": ["b"]}]
        ),
}


@pytest.fixture(scope="module")
def app():
    app = Upstream()
    yield app
    app.close()


@pytest.fixture
def realm(provider_server):
    with provider_server.realm("imported").fresh() as realm:
        realm.userinfo = lambda user: {"sub": user["sub"], **MORE}
        yield realm


def imported(folder, format_, text, port, realm, app):
    """What `gatehouse import` makes of a file, with the places of this test, and the notes."""
    origin = f"http://gate.localhost:{port}"
    file = folder / "source"
    file.write_text(text % {"issuer": realm.issuer, "app": app.address, "origin": origin})
    arguments = [file]
    if format_ == "oauth2-proxy":
        (folder / "proxy.cfg").write_text(f'email_domains = "example.com"\nredirect_url = "{origin}/oauth2/callback"\n')
        arguments = [folder / "proxy.cfg", "--alpha", file]
    output = folder / "imported.yaml"
    result = run("import", *arguments, "--from", format_, "--public-url", origin, "--output", output, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    return yaml.safe_load(output.read_text()), json.loads(result.stdout)["notes"]


def adjusted(file, format_, gateway, app):
    """What a user writes by hand after the notes: where the file listens, and for Authelia the server and the headers."""
    file["gateway"] |= gateway.configuration["gateway"]
    for provider in file["providers"].values():
        provider["client_secret"] = "${env:TEST_CLIENT_SECRET}"
    if format_ == "authelia":
        for entry in file["apps"].values():
            del entry["response"]
            entry["upstream"] = app.address
            entry["headers"] |= {"X-Department": "claims.department", "X-Cost": "claims.cost_center"}
    return file


@pytest.mark.parametrize("name", FILES)
def test_m_02_an_imported_file_keeps_its_claims(name, tmp_path, realm, app):
    format_, text, headers, denied = FILES[name]
    port = free_port()
    file, notes = imported(tmp_path, format_, text, port, realm, app)
    gateway = Gateway(tmp_path / "gateway", {}, {}, port=port)
    gateway.configuration = adjusted(file, format_, gateway, app)
    provider = next(iter(file["providers"]))
    with gateway:
        realm.user = dict(USER)
        path = f"/{len(name)}-{port}"
        page = Browser(gateway).sign_in(provider, path)
        assert page.status == 200, page.text
        seen = app.seen(path)[-1]
        assert {header: seen.get(header) for header in headers} == headers
        for change in denied:
            user = {**USER, **change}
            realm.user = {key: value for key, value in user.items() if value is not None}
            assert Browser(gateway).sign_in(provider, path).status == 403, change
    if format_ != "authelia":
        assert any("percent-encoded, and an object is not sent" in note["message"] for note in notes)
