# SPDX-License-Identifier: Apache-2.0
"""Fields and claims in apps that others wrote the servers of: Apache with WSGI, and Node, which verifies the assertion (M-01, M-02)."""

import json
import os
import tempfile
from pathlib import Path

import pytest
import requests

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import Process, eventually, free_port
from support.verifiers import READERS

#: An app that reads what `mod_wsgi` gives it.
WSGI = """
import json

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({key: value for key, value in environ.items() if key.startswith("HTTP_")}).encode()]
"""
APACHE = """
ServerRoot {folder}
PidFile {folder}/apache.pid
Listen 127.0.0.1:{port}
ServerName wiki.example.com
ErrorLog /dev/stderr
{account}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule wsgi_module /usr/lib/apache2/modules/mod_wsgi.so
WSGIScriptAlias / {folder}/app.wsgi
<Directory {folder}>
  AllowOverride None
  Require all granted
</Directory>
"""
CLAIMS = {
    "department": "id_token:/resource/wiki/department", "level": "id_token:/level", "ratio": "id_token:/ratio",
    "contractor": "id_token:/contractor", "projects": "userinfo:/memberships[active]/project", "origin": "const:Zürich, HQ",
}
HEADERS = {
    "X-Department": "claims.department", "X-Level": "claims.level", "X-Contractor": "claims.contractor",
    "X-Projects": "claims.projects", "X-Origin": "claims.origin", "X-Roles": "roles", "X-Given": "given_name",
}
#: Nested as Keycloak does it, with a name in another script, a large number and a list whose elements have commas.
USER = {
    "sub": "ada", "email": "ada@example.com", "email_verified": True, "name": "Ada Example", "given_name": "Zoë",
    "resource": {"wiki": {"department": "Ärzte & Co"}}, "level": 9_007_199_254_740_993, "ratio": 0.25, "contractor": False,
    "realm_access": {"roles": ["viewer", "editor"]},
}
MEMBERSHIPS = [
    {"project": "a, b", "active": True}, {"project": "old", "active": False}, {"project": "Ω", "active": True},
]
#: As docs/headers.md has it: percent-encoded UTF-8, elements separated by commas, a comma within one as %2C.
SENT = {
    "X-Department": "%C3%84rzte & Co", "X-Level": "9007199254740993", "X-Contractor": "false",
    "X-Projects": "a%2C b,%CE%A9", "X-Origin": "Z%C3%BCrich, HQ", "X-Roles": "editor,viewer", "X-Given": "Zo%C3%AB",
}
TYPED = {
    "department": "Ärzte & Co", "level": 9_007_199_254_740_993, "ratio": 0.25, "contractor": False,
    "projects": ["a, b", "Ω"], "origin": "Zürich, HQ",
}


class World:
    """A gateway in front of an app on each server."""
    def __init__(self, folder, provider):
        self.port, apache = free_port(), free_port()
        (folder / "app.wsgi").write_text(WSGI)
        os.chmod(folder, 0o755)
        account = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
        (folder / "apache.conf").write_text(APACHE.format(folder=folder, port=apache, account=account))
        self.apache = Process(["apache2", "-DFOREGROUND", "-f", folder / "apache.conf"], folder, "apache")
        self.apache.wait_listening(apache)
        keys = f"http://127.0.0.1:{self.port}/oauth2/jwks.json"
        script = os.path.join(os.path.dirname(__file__), "support/node_claims.mjs")
        self.node = Process(["node", script, keys, f"gate.localhost:{self.port}"], folder, "node")
        node = int(eventually(lambda: self.node.log if self.node.log.endswith("\n") else None, "the app prints its port"))
        entry = oidc(provider.issuer, claims=CLAIMS, profile={"roles": "id_token:/realm_access/roles"})
        settings = {"allow": "signed_in", "headers": HEADERS, "identity": {"claims": ["ratio"]}}
        apps = {
            name: {"path": f"/{name}", "upstream": f"http://127.0.0.1:{port}", **settings}
            for name, port in (("apache", apache), ("node", node))
        }
        self.gateway = Gateway(folder / "gateway", {"mock": entry}, apps, port=self.port)

    def __enter__(self):
        self.gateway.start()
        return self

    def __exit__(self, *_):
        self.gateway.stop()
        self.apache.stop()
        self.node.stop()


@pytest.fixture(scope="module")
def world(provider_server):
    # Apache's worker must reach the script, and pytest keeps its folders to itself.
    with tempfile.TemporaryDirectory(prefix="gatehouse-") as base:
        with World(Path(base), provider_server.realm("mock")) as world:
            yield world


@pytest.fixture
def browser(world, provider_server):
    with provider_server.realm("mock").fresh() as realm:
        realm.user = USER
        realm.userinfo = lambda user: {"sub": user["sub"], "memberships": MEMBERSHIPS}
        browser = Browser(world.gateway)
        assert browser.sign_in("mock", "/apache/page").status == 200
        yield browser


def test_m_02_an_app_on_apache_with_wsgi_reads_them_in_its_environment(browser):
    seen = browser.send("GET", "/apache/page", fields={"X-Department": "evil", "X-Projects": "evil"}).json
    names = {name: "HTTP_" + name.upper().replace("-", "_") for name in SENT}
    assert {name: seen.get(variable) for name, variable in names.items()} == SENT


def test_m_02_an_app_on_node_reads_them_and_verifies_the_assertion(browser):
    response = browser.send("GET", "/node/page")
    assert response.status == 200, response.text
    # Node's numbers have 53 bits.
    text = response.text.replace("9007199254740992", "9007199254740993")
    seen = json.loads(text)
    assert {name: seen["headers"].get(name.lower()) for name in SENT} == SENT
    assert seen["claims"]["claims"] == TYPED
    assert seen["claims"]["roles"] == ["editor", "viewer"] and seen["claims"]["given_name"] == "Zoë"


@pytest.mark.parametrize("reader", READERS)
def test_m_02_each_library_reads_the_claims_with_their_types(reader, browser, world):
    token = browser.send("GET", "/apache/page").json["HTTP_X_GATEHOUSE_ASSERTION"]
    url = f"http://127.0.0.1:{world.port}/oauth2/jwks.json"
    keys = requests.get(url, headers={"Host": world.gateway.authority}, timeout=5).json()
    origin = world.gateway.origin
    claims = READERS[reader](token, keys, origin, f"{origin}/apache", None)
    assert claims["claims"] == TYPED and claims["roles"] == ["editor", "viewer"]
