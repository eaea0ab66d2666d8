# SPDX-License-Identifier: Apache-2.0
"""The official SDK of the Model Context Protocol as a client, unchanged; its user has the browser of the tests."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

REDIRECT = "http://127.0.0.1:3030/callback"


class Storage:
    """What a client keeps."""
    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Assistant:
    """One MCP client with the OAuth client of the SDK.

    `open_page` is called with the page on which the user is asked, and returns the URL to which the browser is redirected.
    """
    def __init__(self, url, browser, open_page, name="Helper", metadata_url=None, storage=None):
        self.url, self.browser, self.open_page, self.name = url, browser, open_page, name
        self.metadata_url = metadata_url
        self.storage = storage or Storage()
        self.pages, self.exchanges = [], []

    async def _redirect(self, url):
        # The browser of the tests blocks, and the server of a metadata document may run in this loop.
        page = await asyncio.to_thread(self.browser.visit, url, stop=lambda next: next.startswith(REDIRECT))
        self.pages.append(page)
        self.callback = page.next if hasattr(page, "next") else await asyncio.to_thread(self.open_page, page)

    async def _callback(self):
        values = {name: value[0] for name, value in parse_qs(urlsplit(self.callback).query).items()}
        assert "code" in values, values
        return AuthorizationCodeResult(code=values["code"], state=values.get("state"), iss=values.get("iss"))

    async def _note(self, response):
        self.exchanges.append((response.request.method, str(response.request.url), response.status_code))

    async def _run(self, work, mode):
        self.provider = OAuthClientProvider(
            self.url,
            OAuthClientMetadata(client_name=self.name, redirect_uris=[REDIRECT]),
            self.storage,
            self._redirect,
            self._callback,
            client_metadata_url=self.metadata_url,
        )
        hooks = {"response": [self._note]}
        async with httpx2.AsyncClient(auth=self.provider, event_hooks=hooks, timeout=20) as http:
            async with Client(streamable_http_client(self.url, http_client=http), mode=mode) as client:
                return await work(client)

    def run(self, work, mode="auto"):
        """Connects, and does something with the client."""
        return asyncio.run(asyncio.wait_for(self._run(work, mode), 40))
