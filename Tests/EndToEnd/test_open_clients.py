# SPDX-License-Identifier: Apache-2.0
"""Clients without an entry in the file: metadata documents at their URLs, and dynamic registration; for MCP servers only."""

import json
from urllib.parse import urlencode, urlsplit

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.mcp_client import REDIRECT, Assistant
from support.oauth_client import Client, claims
from support.processes import certificate
from support.raw import request
from support.tls_servers import RecordingServer
from support.upstream import Upstream

URI = "http://127.0.0.1:3030/callback"


class Documents:
    """A server of metadata documents, by their paths."""
    def __init__(self, folder):
        self.authority, key = certificate(folder, "documents", "localhost")
        self.found, self.asked = {}, []
        self.server = RecordingServer(self.authority, key, self.respond)
        self.origin = self.server.origin

    def respond(self, method, path, headers, body):
        self.asked.append((method, path, headers))
        found = self.found.get(path)
        if found is None:
            return 404, {}, b""
        return found if isinstance(found, tuple) else (200, {"Content-Type": "application/json"}, json.dumps(found).encode())

    def add(self, name, more=None, **members):
        """A valid document with changes; None leaves a member out."""
        url = f"{self.origin}/{name}"
        document = {
            "client_id": url, "client_name": "Helper", "redirect_uris": [URI], "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], **members, **(more or {}),
        }
        self.found[f"/{name}"] = {key: value for key, value in document.items() if value is not None}
        return url


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    documents = Documents(tmp_path_factory.mktemp("documents"))
    yield documents
    documents.server.close()


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


def apps_of(app):
    common = {"upstream": app.address, "allow": "signed_in"}
    return {
        "notes": {**common, "path": "/notes", "mcp": True},
        "files": {**common, "path": "/files", "mcp": True, "allow": [{"user": "mock:root"}]},
        "wiki": {**common, "path": "/", "accept": ["session", "token"]},
    }


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app, documents):
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    open_clients = {"by_url": True, "dynamic": True, "ca_file": documents.authority}
    settings = {"client_registration": open_clients}
    gateway = Gateway(tmp_path_factory.mktemp("open"), providers, apps_of(app), host="localhost", gateway=settings)
    with gateway:
        yield gateway


@pytest.fixture
def browser(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def resource(gateway, name="notes"):
    return f"{gateway.origin}/{name}"


def register(gateway, type="application/json", **metadata):
    body = json.dumps({"redirect_uris": [URI], "client_name": "Helper", **metadata}).encode()
    return request(
        gateway.port, "/oauth2/register", host=gateway.host, method="POST", fields=[("Content-Type", type)], body=body
    )


def test_the_metadata_of_the_gateway_has_what_is_on(gateway):
    metadata = Client(gateway, "x", URI).metadata
    assert metadata["registration_endpoint"] == f"{gateway.origin}/oauth2/register"
    assert metadata["client_id_metadata_document_supported"] is True
    assert {"authorization_code", "refresh_token"} <= set(metadata["grant_types_supported"])


def test_rfc7591_3_2_1_a_registration_returns_what_was_registered(gateway):
    response = register(gateway, token_endpoint_auth_method="client_secret_post", scope="x", logo_uri="https://x/y")
    assert response.status == 201 and response.get("cache-control") == "no-store"
    found = response.json
    assert found["client_id"].startswith("reg_") and found["redirect_uris"] == [URI] and found["client_name"] == "Helper"
    assert found["token_endpoint_auth_method"] == "none" and "client_secret" not in found
    assert found["grant_types"] == ["authorization_code", "refresh_token"] and found["client_id_issued_at"] > 0


@pytest.mark.parametrize("changes, error", [
    ({"redirect_uris": []}, "invalid_redirect_uri"), ({"redirect_uris": URI}, "invalid_redirect_uri"),
    ({"redirect_uris": [7]}, "invalid_redirect_uri"), ({"redirect_uris": ["http://evil.example/x"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["https://good.example@evil.example/"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"), ({"redirect_uris": ["app:/x"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["https://x.example/*"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["https://x.example/#a"]}, "invalid_redirect_uri"),
    ({"redirect_uris": [f"https://x.example/{n}" for n in range(21)]}, "invalid_redirect_uri"),
    ({"redirect_uris": [f"https://x.example/{n * 'x'}" for n in range(200, 206)]}, "invalid_client_metadata"),
    ({"grant_types": ["client_credentials"]}, "invalid_client_metadata"),
    ({"response_types": ["token"]}, "invalid_client_metadata"), ({"type": "text/plain"}, "invalid_client_metadata"),
])
def test_rfc7591_3_2_2_what_cannot_be_registered_is_an_error(gateway, changes, error):
    response = register(gateway, **changes)
    assert response.status == 400 and response.json["error"] == error and response.json["error_description"], changes


def test_a_registered_client_gets_tokens_after_consent_each_time(gateway, browser, app):
    client = Client(gateway, register(gateway, client_name="A <i>b</i>").json["client_id"], URI)
    for _ in range(2):
        page = browser.visit(client.url(resource=resource(gateway)), stop=client.arrives)
        assert page.status == 200 and "A &lt;i&gt;b&lt;/i&gt; (not verified)" in page.text and "127.0.0.1" in page.text
    token = client.sign_in(browser, resource=resource(gateway))
    assert claims(token["access_token"])["aud"] == resource(gateway)
    assert client.call(token["access_token"], "/notes/x").status == 200
    assert client.call(token["access_token"], "/x").status == 401
    again = client.refresh(token["refresh_token"])
    assert again.status == 200 and client.call(again.json["access_token"], "/notes/x").status == 200


@pytest.mark.parametrize("name", [None, "wiki", "", "files"])
def test_such_a_client_gets_tokens_for_mcp_servers_only_by_their_rules(gateway, browser, name):
    """An app without `mcp`, none at all, and one that does not admit the user."""
    client = Client(gateway, register(gateway).json["client_id"], URI)
    asked = {} if name is None else {"resource": gateway.origin if name in ("", "wiki") else resource(gateway, name)}
    page = browser.visit(client.url(**asked), stop=client.arrives)
    assert page.status == 400 and "client.request" in page.text


@pytest.mark.parametrize("changes", [{"response_type": "x"}, {"prompt": "none"}, {"code_challenge": None}])
def test_rfc_9700_4_11_2_a_client_that_chose_its_redirect_uri_gets_no_error(gateway, browser, changes):
    """Any link to the gateway would lead to a site of the client's choice."""
    id = register(gateway).json["client_id"]
    for who in (Browser(gateway), browser):
        page = who.send("GET", Client(gateway, id, URI).url(resource=resource(gateway), **changes))
        assert page.status == 400 and not page.all("location")


def test_such_a_client_has_to_name_its_redirect_uri(gateway, browser):
    """Its list may be another one when the user has consented."""
    page = browser.visit(Client(gateway, register(gateway).json["client_id"], URI).url(resource=resource(gateway), redirect_uri=None))
    assert page.status == 400


def test_a_registration_is_of_its_redirect_uris_and_of_this_gateway(gateway, browser):
    id = register(gateway).json["client_id"]
    for changes in ({"redirect_uri": "http://127.0.0.1:3030/callback2"}, {"redirect_uri": "https://127.0.0.1:3030/callback"},
                    {"client_id": id[:-2] + ("AA" if id[-2:] != "AA" else "BB")}, {"client_id": "reg_AAAA"}):
        page = browser.visit(Client(gateway, id, URI).url(resource=resource(gateway), **changes))
        assert page.status == 400 and "client.request" in page.text, changes
    # The port on loopback is the system's choice, RFC 8252 §7.3.
    page = browser.visit(Client(gateway, id, "http://127.0.0.1:9999/callback").url(resource=resource(gateway)))
    assert page.status == 200


@pytest.mark.one_gateway("each fetches the document of a client itself")
def test_a_client_named_by_its_url_signs_users_in(gateway, browser, documents):
    url = documents.add("helper.json", client_name="Helper \u202e<x>")
    client = Client(gateway, url, URI)
    page = browser.visit(client.url(resource=resource(gateway)), stop=client.arrives)
    assert page.status == 200 and "Helper &lt;x&gt; (localhost)" in page.text and "\u202e" not in page.text
    token = client.sign_in(browser, resource=resource(gateway))
    assert claims(token["access_token"])["client_id"] == url
    assert client.call(token["access_token"], "/notes/x").status == 200
    # Fetched once, with nothing of the user.
    asked = [headers for method, path, headers in documents.asked if path == "/helper.json"]
    assert len(asked) == 1 and not {"Cookie", "Authorization", "Referer"} & set(asked[0])


def html(status=200, type="application/json", body=b"{}", **fields):
    return status, {"Content-Type": type, **fields}, body


BROKEN = {
    "other_id": {"client_id": "https://localhost/other"}, "no_id": {"client_id": None}, "secret": {"client_secret": "x"},
    "basic": {"token_endpoint_auth_method": "client_secret_basic"}, "key": {"token_endpoint_auth_method": "private_key_jwt"},
    "no_uris": {"redirect_uris": None}, "wrong_uri": {"redirect_uris": ["http://evil.example/"]},
    "implicit": {"response_types": ["token"]}, "grants": {"grant_types": ["implicit"]},
    "moved": html(302, Location="https://localhost/elsewhere"), "gone": html(404), "text": html(type="text/html"),
    "broken": html(body=b"{"), "large": html(body=b'{"x":"' + b"x" * 17_000 + b'"}'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_document_that_is_not_valid_is_refused_on_our_page(gateway, browser, documents, name):
    wrong = BROKEN[name]
    url = documents.add(f"{name}.json", wrong if isinstance(wrong, dict) else None)
    if isinstance(wrong, tuple):
        documents.found[f"/{name}.json"] = wrong
    page = browser.visit(Client(gateway, url, URI).url(resource=resource(gateway)))
    assert page.status == 400 and "client.request" in page.text
    assert [path for _, path, _ in documents.asked if path == "/elsewhere"] == []
    assert f"the metadata document of the client at {url}" in gateway.log


@pytest.mark.parametrize("id", [
    "http://{host}/a.json", "https://{host}", "https://{host}/", "https://{host}/a.json?x=1", "https://{host}/a.json#x",
    "https://user@{host}/a.json", "https://{host}/x/../a.json", "https://{host}/%2e%2e/a.json", "HTTPS://{host}/a.json",
    "https://{host}/" + "a" * 600,
])
def test_a_url_of_another_form_is_not_a_client_and_not_fetched(gateway, browser, documents, id):
    before = len(documents.asked)
    page = browser.visit(Client(gateway, id.format(host=urlsplit(documents.origin).netloc), URI).url(resource=resource(gateway)))
    assert page.status == 400 and len(documents.asked) == before


def test_the_sdk_prefers_its_metadata_url(gateway, browser, documents):
    """The client of the SDK, unchanged: it registers nowhere."""
    url = documents.add("sdk.json")

    def consents(page):
        return browser.submit(page, stop=lambda next: next.startswith(REDIRECT)).next

    assistant = Assistant(f"{gateway.origin}/notes/mcp", browser, consents, metadata_url=url)

    async def work(client):
        return None

    # The app behind does not speak MCP: the sign-in is over when it responds.
    with pytest.raises(Exception):
        assistant.run(work)
    assert assistant.storage.client.client_id == url and assistant.storage.tokens.access_token
    assert not any("/register" in asked for _, asked, _ in assistant.exchanges)
    assert assistant.exchanges[-1][2] == 200


@pytest.fixture(scope="module")
def strict(tmp_path_factory, provider_server, app, documents):
    """A gateway on the internet, which asks documents of some hosts only, and registers no client."""
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    settings = {"client_registration": {"by_url": True, "hosts": ["localhost", "127.0.0.1"], "ca_file": documents.authority}}
    gateway = Gateway(
        tmp_path_factory.mktemp("strict"), providers, apps_of(app), public_url="https://gate.example.com", gateway=settings
    )
    with gateway:
        yield gateway


def test_no_private_address_is_asked_for_a_document(strict, documents):
    """The name resolves to loopback; so would one that its owner changes between a check and the connection."""
    before = len(documents.asked)
    port = urlsplit(documents.origin).port
    for host in ("localhost", "127.0.0.1"):
        id = f"https://{host}:{port}/helper.json"
        query = urlencode({"client_id": id, "redirect_uri": URI, "response_type": "code"})
        response = request(strict.port, f"/oauth2/authorize?{query}", host="gate.example.com", fields=[("Accept", "text/html")])
        assert response.status == 400
        assert f"at {id}: it could not be fetched" in strict.log
    assert len(documents.asked) == before


def test_only_listed_hosts_are_asked_and_what_is_off_is_absent(strict):
    query = urlencode({"client_id": "https://other.example/a.json", "redirect_uri": URI, "response_type": "code"})
    response = request(strict.port, f"/oauth2/authorize?{query}", host="gate.example.com")
    assert response.status == 400 and "no client 'https://other.example/a.json' is configured" in strict.log
    found = request(strict.port, "/.well-known/oauth-authorization-server", host="gate.example.com").json
    assert "registration_endpoint" not in found and found["client_id_metadata_document_supported"] is True
    response = request(
        strict.port, "/oauth2/register", host="gate.example.com", method="POST", fields=[("Content-Type", "application/json")],
        body=json.dumps({"redirect_uris": [URI]}).encode()
    )
    assert response.status == 404


def test_registrations_and_fetches_are_limited_by_client(tmp_path, provider_server, app):
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    settings = {"client_registration": {"dynamic": True}, "limits": {"sign_ins_per_minute": 30}}
    with Gateway(tmp_path, providers, apps_of(app), gateway=settings) as gateway:
        statuses = [register(gateway).status for _ in range(32)]
    assert statuses[:30] == [201] * 30 and statuses[-1] == 429
