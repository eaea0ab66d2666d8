# SPDX-License-Identifier: Apache-2.0
"""MCP servers of the official SDK behind the gateway, and its client with its own OAuth client, both unchanged.

The client knows the URL of the server only: it finds the gateway by the 401, becomes a client of it, sends the user there, who signs in
with a simulated GitHub, and calls tools with the token.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import mcp.client.session
import pytest
import requests
import yaml
from mcp import MCPError

from support.browser import Browser
from support.gateway import Gateway
from support.mcp_client import REDIRECT, Assistant
from support.processes import Process, free_port
from support.raw import request
from support.simulator import Simulator

SERVER = Path(__file__).parent / "support" / "mcp_server.py"
#: The latest revision that the SDK speaks, and the two before.
VERSIONS = ["2026-07-28", "2025-11-25", "2025-06-18"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    folder, started = tmp_path_factory.mktemp("servers"), []
    for name in ("notes", "files"):
        port = free_port()
        process = Process([sys.executable, SERVER, port], folder, name)
        started.append((process, port))
    for process, port in started:
        process.wait_listening(port)
    yield [f"http://127.0.0.1:{port}" for _, port in started]
    for process, _ in started:
        process.stop()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, servers):
    port = free_port()
    folder = tmp_path_factory.mktemp("mcp_sdk")
    # A name that the system resolves, for the HTTP client of the SDK.
    callback = f"http://localhost:{port}/oauth2/callback/github"
    with Simulator(folder, "github", "--redirect-uri", callback) as simulator:
        providers = yaml.safe_load(simulator.values["configuration"])["providers"]
        common = {"mcp": True, "strip_prefix": True, "allow": "signed_in"}
        apps = {
            "notes": {**common, "path": "/notes", "upstream": servers[0], "deny": [{"mcp_tool": "delete_note"}]},
            "files": {**common, "path": "/files", "upstream": servers[1]},
            "drafts": {
                **common, "path": "/drafts", "upstream": servers[0], "scopes": {"drafts.delete": "Delete drafts"},
                "deny": [{"mcp_tool": "delete_note", "not": {"scope": "drafts.delete"}}],
            },
        }
        settings = {"client_registration": {"dynamic": True}}
        gateway = Gateway(folder / "gateway", providers, apps, host="localhost", port=port, gateway=settings)
        with gateway:
            yield gateway


def signs_in(browser):
    """The user signs in at the simulator, if asked, and consents."""
    def act(page):
        for _ in range(4):
            page = browser.submit(page, stop=lambda url: url.startswith(REDIRECT))
            if hasattr(page, "next"):
                return page.next
            browser.asked.append(page.text)
        raise AssertionError(page.text)

    return act


@pytest.fixture
def browser(gateway):
    browser = Browser(gateway)
    browser.asked = []
    return browser


@pytest.fixture
def assistant(gateway, browser):
    return Assistant(f"{gateway.origin}/notes/mcp", browser, signs_in(browser))


async def use(client):
    """What a test wants to know of a session."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    found = await client.call_tool("search", {"text": "milk"})
    user = (await client.call_tool("user", {})).structured_content
    return client.protocol_version, sorted(tools), found.content[0].text, user


@pytest.mark.parametrize("version", VERSIONS)
def test_the_client_finds_everything_by_itself_and_calls_tools(gateway, assistant, version, monkeypatch):
    if version != VERSIONS[0]:
        # What it offers in `initialize`; the SDK has no option for it.
        monkeypatch.setattr(mcp.client.session, "LATEST_HANDSHAKE_VERSION", version)
    mode = version if version == VERSIONS[0] else "legacy"
    spoken, tools, found, user = assistant.run(use, mode)
    assert spoken == version and tools == ["delete_note", "search", "user"] and found == "found milk"
    assert user["x-forwarded-user"].startswith("github:") and "authorization" not in user
    asked = [(method, urlsplit(url).path, status) for method, url, status in assistant.exchanges]
    found = [
        ("POST", "/notes/mcp", 401), ("GET", "/.well-known/oauth-protected-resource/notes", 200),
        ("GET", "/.well-known/oauth-authorization-server", 200), ("POST", "/oauth2/register", 201),
        ("POST", "/oauth2/token", 200), ("POST", "/notes/mcp", 200),
    ]
    assert asked[:len(found)] == found
    assert {status for _, _, status in asked[len(found):]} <= {200, 202}


def test_the_user_is_asked_with_what_is_known_of_the_client(assistant, browser):
    assistant.name = "Claude <b>\u202e"
    assistant.run(use)
    consent = browser.asked[-1]
    assert "Claude &lt;b&gt; (not verified)" in consent and "127.0.0.1" in consent and "notes" in consent


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_a_denied_tool_is_denied_and_the_session_goes_on(assistant, mode):
    async def work(client):
        with pytest.raises(MCPError) as failure:
            await client.call_tool("delete_note", {"name": "x"})
        after = await client.call_tool("search", {"text": "bread"})
        return failure.value, after.content[0].text

    failure, after = assistant.run(work, mode)
    assert failure.error.code == -32043 and failure.error.data["error"] == "policy.denied"
    assert failure.error.data["incident"] and after == "found bread"


def test_the_client_asks_for_a_scope_when_a_tool_needs_it(gateway, browser):
    """Step-up by `insufficient_scope`: the user consents once more, and the call goes on by itself."""
    assistant = Assistant(f"{gateway.origin}/drafts/mcp", browser, signs_in(browser))

    async def work(client):
        await client.call_tool("search", {"text": "milk"})
        before = assistant.storage.tokens.scope
        deleted = await client.call_tool("delete_note", {"name": "x"})
        return before, deleted.content[0].text

    before, deleted = assistant.run(work)
    assert "drafts.delete" not in before and deleted == "deleted x"
    assert "drafts.delete" in assistant.storage.tokens.scope.split()
    assert set(before.split()) <= set(assistant.storage.tokens.scope.split())
    # The first consent is asked for after the sign-in, the second at once.
    first, second = browser.asked[0], assistant.pages[1].text
    assert "<li>drafts</li>" in first and "Delete drafts" not in first
    assert "<li>drafts: Delete drafts</li>" in second and len(assistant.pages) == 2
    assert [status for method, _, status in assistant.exchanges if method == "POST" and status == 403] == [403]


def test_a_token_for_one_server_is_refused_at_the_other(gateway, assistant):
    assistant.run(use)
    fields = [("Authorization", f"Bearer {assistant.storage.tokens.access_token}"), ("Content-Type", "application/json")]
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    here, there = (
        request(gateway.port, f"/{name}/mcp", host="localhost", method="POST", fields=fields, body=body)
        for name in ("notes", "files")
    )
    assert there.status == 401 and 'error="invalid_token"' in there.get("www-authenticate")
    assert "oauth-protected-resource/files" in there.get("www-authenticate")
    assert here.status != 401


def test_an_expired_token_is_refreshed_without_the_user(assistant):
    async def work(client):
        await client.list_tools()
        first = assistant.storage.tokens
        # The SDK keeps its own time.
        assistant.provider.context.token_expiry_time = 1
        found = await client.call_tool("search", {"text": "x"})
        return first, found.content[0].text

    first, found = assistant.run(work)
    assert found == "found x" and len(assistant.pages) == 1
    assert assistant.storage.tokens.access_token != first.access_token
    assert assistant.storage.tokens.refresh_token not in (None, first.refresh_token)


def test_signing_out_ends_the_client(gateway, assistant, browser):
    assistant.run(use)
    fields = [("Authorization", f"Bearer {assistant.storage.tokens.access_token}"), ("Content-Type", "application/json")]
    browser.sign_out()
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert request(gateway.port, "/notes/mcp", host="localhost", method="POST", fields=fields, body=body).status == 401
