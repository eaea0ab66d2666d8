# SPDX-License-Identifier: Apache-2.0
"""Scopes of apps: what a client may do for a user only after it has asked for it (RFC 6749 §3.3, RFC 6750 §3.1)."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc, run
from support.machines import made
from support.oauth_client import Client, claims
from support.processes import eventually
from support.proofs import EC, proof
from support.raw import request
from support.upstream import Upstream

URI = "com.example.notes:/signed-in"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS = "urn:ietf:params:oauth:token-type:access_token"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
BOT, BOT_ENTRY = made("bot")


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app):
    common = {"upstream": app.address, "allow": "signed_in", "accept": ["session", "token"]}
    write = {"not": {"scope": "notes.write"}}
    apps = {
        "notes":
            {
                "path": "/notes", **common, "scopes": {"notes.write": "Change <all> notes", "notes.share": "Share notes"}, "machines":
                    {"service_tokens": ["bot"]}, "origins": ["https://spa.example.com"], "deny": [
                        {"method": ["POST", "DELETE"], **write}, {"path": "/notes/share/**", "not": {"scope": ["notes.share"]}},
                        {"path": "/notes/never/**"}
                    ]
            },
        "tools": {"path": "/tools", "upstream": app.address, "allow": "signed_in", "mcp": True, "scopes": {"run": "Run tools"},
                  "deny": [{"mcp_tool": "run", "not": {"scope": "run"}}, {"mcp_tool": "never"}]},
        "wiki": {"path": "/", **common},
    }
    grants = ["authorization_code", "refresh_token", "token_exchange", "device_code"]
    client = {"type": "native", "redirect_uris": [URI], "allow": "signed_in", "audiences": ["notes", "tools", "wiki"], "grants": grants}
    gateway = Gateway(tmp_path_factory.mktemp("scopes"), {"mock": oidc(provider_server.realm("mock").issuer)}, apps)
    gateway.configuration["clients"] = {"notes": client, "wiki": {**client, "audiences": ["wiki"]}}
    gateway.configuration["service_tokens"] = {"bot": BOT_ENTRY}
    gateway.configuration["logs"] = {"format": "json", "access": str(gateway.folder / "access.log")}
    with gateway:
        yield gateway


@pytest.fixture
def browser(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def tokens(gateway, browser, scope, name="notes", **more):
    return Client(gateway, name, URI, scope=scope).sign_in(browser, **more)


def send(gateway, token, method="POST", path="/notes/x", scheme="Bearer", fields=(), body=b""):
    lines = [("Authorization", f"{scheme} {token}"), *fields]
    return request(gateway.port, path, method=method, host=gateway.host, fields=lines, body=body)


def test_rfc_6750_3_1_a_token_without_the_scope_gets_403_with_what_to_ask_for(gateway, browser, app):
    token = tokens(gateway, browser, "openid")["access_token"]
    assert send(gateway, token, "GET").status == 200
    before = len(app.requests)
    response = send(gateway, token)
    assert response.status == 403 and response.json["error"] == "policy.scope" and len(app.requests) == before
    metadata = f'resource_metadata="{gateway.origin}/.well-known/oauth-protected-resource/notes"'
    challenge = 'error="insufficient_scope", scope="openid notes.write"'
    assert response.get("www-authenticate") == f'Bearer realm="gatehouse", {challenge}, {metadata}'
    incident = response.json["incident"]
    eventually(lambda: incident in gateway.log, "logged")
    line = next(line for line in gateway.log.splitlines() if incident in line)
    assert "notes.write" in line and "mock:" in line


def test_with_the_scope_it_is_admitted(gateway, browser, app):
    found = tokens(gateway, browser, "openid notes.write other")
    assert found["scope"] == "openid notes.write", "what no app has is left out"
    assert claims(found["access_token"])["scope"] == "openid notes.write"
    assert send(gateway, found["access_token"]).status == 200
    response = send(gateway, found["access_token"], "GET", "/notes/share/1")
    assert response.status == 403 and 'scope="openid notes.write notes.share"' in response.get("www-authenticate")


def test_the_user_reads_what_is_asked_for(gateway, browser):
    client = Client(gateway, "notes", URI, scope="notes.write")
    page = browser.visit(client.url(), stop=client.arrives)
    assert "<li>notes: Change &lt;all&gt; notes</li>" in page.text and "Share" not in page.text


def test_a_scope_of_an_app_that_the_token_is_not_for_means_nothing(gateway, browser):
    assert tokens(gateway, browser, "openid notes.write", "wiki")["scope"] == "openid"
    assert tokens(gateway, browser, "notes.write run", resource=f"{gateway.origin}/notes")["scope"] == "notes.write"


def test_the_session_of_the_user_is_not_limited(gateway, browser):
    fields = [("Cookie", f"gatehouse={browser.ticket()}"), ("Origin", gateway.origin)]
    assert request(gateway.port, "/notes/x", method="POST", host=gateway.host, fields=fields).status == 200


def test_a_token_of_a_machine_has_no_scope(gateway):
    assert send(gateway, BOT, "GET").status == 200
    response = send(gateway, BOT)
    # No user can grant it more.
    assert response.status == 403 and response.json["error"] == "policy.refused" and response.get("www-authenticate") is None


def test_only_what_helps_is_asked_for(gateway, browser):
    token = tokens(gateway, browser, "openid")["access_token"]
    response = send(gateway, token, "POST", "/notes/share/1")
    assert 'scope="openid notes.write notes.share"' in response.get("www-authenticate")
    moved = send(gateway, token, "MOVE", "/notes/x", fields=[("Destination", "/notes/share/x")])
    assert 'scope="openid notes.share"' in moved.get("www-authenticate")
    never = send(gateway, token, "MOVE", "/notes/share/x", fields=[("Destination", "/notes/never/x")])
    assert never.status == 403 and never.json["error"] == "policy.denied" and never.get("www-authenticate") is None


def test_an_exchange_for_another_app_or_a_cloud_leaves_the_scopes_of_this_one_out(gateway, browser):
    wide = tokens(gateway, browser, "openid notes.write run")["access_token"]
    client = Client(gateway, "notes", URI)

    def exchanged(audience):
        found = client.token(grant_type=EXCHANGE, subject_token=wide, subject_token_type=ACCESS, audience=audience)
        return found.json["scope"], claims(found.json["access_token"])["scope"]

    assert exchanged("tools") == ("openid run", "openid run")
    assert exchanged("wiki") == ("openid", "openid")


def test_what_the_user_has_read_is_what_the_client_gets(tmp_path, provider_server, app):
    """A reload between the page and the click gives a word of the request a meaning."""
    common = {"upstream": app.address, "allow": "signed_in", "accept": ["session", "token"]}
    apps = {"notes": {"path": "/", **common, "scopes": {"read": "Read notes"}}}
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, apps)
    gateway.configuration["clients"] = {
        "notes": {"type": "native", "redirect_uris": [URI], "allow": "signed_in", "audiences": ["notes"]}
    }
    with gateway:
        browser = Browser(gateway)
        assert browser.sign_in("mock", "/x").status == 200
        client = Client(gateway, "notes", URI, scope="read wipe")
        page = browser.visit(client.url(gatehouse_scopes="read wipe"), stop=client.arrives)
        gateway.configuration["apps"]["notes"]["scopes"]["wipe"] = "Delete all notes"
        gateway.write()
        gateway.reload()
        eventually(lambda: "reloaded" in gateway.log, "the new file is in force")
        page = browser.submit(page, stop=client.arrives)
        code = dict(parse_qsl(urlsplit(page.next).query))["code"]
        assert client.redeem(code).json["scope"] == "read"


def test_a_preflight_needs_no_scope(gateway):
    fields = [("Origin", "https://spa.example.com"), ("Access-Control-Request-Method", "POST")]
    response = request(gateway.port, "/notes/x", method="OPTIONS", host=gateway.host, fields=fields)
    assert response.status == 200


def test_a_refresh_keeps_the_scopes(gateway, browser):
    first = tokens(gateway, browser, "notes.write")
    second = Client(gateway, "notes", URI).refresh(first["refresh_token"]).json
    assert second["scope"] == "notes.write" and send(gateway, second["access_token"]).status == 200


def test_rfc_8693_an_exchanged_token_has_fewer(gateway, browser):
    client = Client(gateway, "notes", URI)
    wide = tokens(gateway, browser, "openid notes.write")["access_token"]
    narrow = client.token(grant_type=EXCHANGE, subject_token=wide, subject_token_type=ACCESS, scope="openid").json
    assert send(gateway, narrow["access_token"]).status == 403 and send(gateway, wide).status == 200
    # One session, and the decision is about the token.
    assert send(gateway, narrow["access_token"]).status == 403


def test_rfc_8628_a_device_is_granted_scopes_after_the_user_has_read_them(gateway, browser):
    client = Client(gateway, "notes", URI)
    begun = client.ask("POST", "/oauth2/device_authorization", {"client_id": "notes", "scope": "notes.share"}).json
    page = browser.visit(begun["verification_uri_complete"])
    assert "<li>notes: Share notes</li>" in page.text
    assert browser.submit(page).status == 200
    found = client.token(grant_type=DEVICE, device_code=begun["device_code"]).json
    assert found["scope"] == "notes.share"
    assert send(gateway, found["access_token"], "GET", "/notes/share/1").status == 200


def test_rfc_9449_7_1_the_challenge_is_that_of_the_scheme(gateway, browser):
    client = Client(gateway, "notes", URI, scope="openid")
    code = client.authorize(browser)["code"]
    url = f"{gateway.origin}/oauth2/token"
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": client.verifier, "client_id": "notes", "redirect_uri": URI}
    found = client.ask("POST", "/oauth2/token", form, [("DPoP", proof(EC, "POST", url))]).json
    proved = [("DPoP", proof(EC, "POST", f"{gateway.origin}/notes/x", found["access_token"]))]
    response = send(gateway, found["access_token"], scheme="DPoP", fields=proved)
    assert response.status == 403
    challenge = 'DPoP algs="ES256 EdDSA", error="insufficient_scope", scope="openid notes.write", resource_metadata='
    assert response.get("www-authenticate").startswith(challenge)


def test_a_tool_that_needs_a_scope_is_denied_with_a_message_of_json_rpc(gateway, browser):
    def call(token):
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "run"}}).encode()
        return send(gateway, token, path="/tools/mcp", fields=[("Content-Type", "application/json")], body=body)

    response = call(tokens(gateway, browser, "")["access_token"])
    assert response.status == 403 and response.json["id"] == 7 and response.json["error"]["data"]["error"] == "policy.scope"
    metadata = f'resource_metadata="{gateway.origin}/.well-known/oauth-protected-resource/tools"'
    assert response.get("www-authenticate") == f'Bearer realm="gatehouse", error="insufficient_scope", scope="run", {metadata}'
    assert call(tokens(gateway, browser, "run")["access_token"]).status == 200


def test_a_batch_with_a_message_that_is_denied_anyway_asks_for_no_scope(gateway, browser):
    messages = [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": tool}} for i, tool in enumerate(("run", "never"))]
    token = tokens(gateway, browser, "")["access_token"]
    for batch in (messages, messages[::-1]):
        response = send(gateway, token, path="/tools/mcp", fields=[("Content-Type", "application/json")], body=json.dumps(batch).encode())
        assert response.status == 200 and response.get("www-authenticate") is None
        assert [one["error"]["data"]["error"] for one in response.json] == 2 * ["policy.denied"]


def test_e_11_the_metadata_of_an_app_has_its_scopes(gateway):
    """RFC 9728 §2: not `offline_access`, which is the client's matter."""
    for app in ("notes", "tools"):
        found = request(gateway.port, f"/.well-known/oauth-protected-resource/{app}", host=gateway.host).json
        assert found["scopes_supported"] == ["openid", *gateway.configuration["apps"][app]["scopes"]]


def test_the_access_log_has_the_decision_and_the_rule(gateway, browser):
    token = tokens(gateway, browser, "")["access_token"]
    assert send(gateway, token, "DELETE", "/notes/logged").status == 403
    log = gateway.folder / "access.log"
    eventually(lambda: log.exists() and "/notes/logged" in log.read_text(), "the access line")
    line = next(json.loads(line) for line in log.read_text().splitlines() if "/notes/logged" in line)
    assert (line["decision"], line["code"]) == ("denied", "policy.scope") and line["rule"]


@pytest.mark.parametrize("options, word", [(["--scope", "openid"], "denied"), (["--scope", "openid notes.write"], "allowed"), ([], "allowed")])
def test_policy_explain_takes_the_scopes_of_a_token(gateway, tmp_path, options, word):
    profile = tmp_path / "ada.json"
    profile.write_text('{"user": "mock:1"}')
    asked = ["--as", profile, "--path", "/notes/x", "--method", "POST", "--json", *options]
    result = run("policy", "explain", "notes", "--config", gateway.path, *asked)
    assert json.loads(result.stdout)["decision"] == word, result.stdout + result.stderr
    if word == "denied":
        assert json.loads(result.stdout)["reason"] == "the rule asks for a scope that the access token lacks: notes.write"


def test_policy_explain_knows_that_a_machine_has_no_scope(gateway, tmp_path):
    profile = tmp_path / "bot.json"
    profile.write_text('{"user": "token:bot"}')
    asked = ["--as", profile, "--path", "/notes/x", "--method", "POST", "--json"]
    result = run("policy", "explain", "notes", "--config", gateway.path, *asked)
    assert json.loads(result.stdout)["decision"] == "denied"


def test_policy_diff_compares_what_tokens_may(gateway, tmp_path):
    """A rule that is gone gives every client what it had to ask for."""
    new = tmp_path / "new.yaml"
    changed = json.loads(gateway.path.read_text())
    changed["apps"]["notes"]["deny"] = changed["apps"]["notes"]["deny"][1:]
    new.write_text(json.dumps(changed))
    users = tmp_path / "users.jsonl"
    users.write_text('{"user": "mock:1"}\n')
    result = run("policy", "diff", new, "--with", gateway.path, "--users", users)
    assert result.returncode == 1 and "by a token without scopes" in result.stdout, result.stdout + result.stderr


def test_policy_test_takes_the_scopes_of_a_token(gateway, tmp_path):
    cases = tmp_path / "cases.yaml"
    one = "{ app: notes, as: ada, path: /notes/x, method: POST"
    cases.write_text(f"""
users: {{ ada: {{ user: "mock:1" }} }}
cases:
  - {one}, expect: allowed }}
  - {one}, scopes: [], expect: denied }}
  - {one}, scopes: [notes.write], expect: allowed }}
""")
    result = run("policy", "test", cases, "--config", gateway.path)
    assert result.returncode == 0, result.stdout + result.stderr
