# SPDX-License-Identifier: Apache-2.0
"""An installed web app whose service worker responds to all navigations (G-02)."""

import http.server
import threading

import pytest

from support.browser import Browser
from support.chromium import CHROMIUM, Chromium
from support.gateway import Gateway, oidc

#: As workers of single-page apps do that were written without a thought of sign-ins.
WORKER = """
const shell = '<title>shell</title><p id="who">shell</p>';
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', event => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', event => {
    if (event.request.mode === 'navigate')
        event.respondWith(new Response(shell, {headers: {'Content-Type': 'text/html'}}));
});
"""
PAGE = """<title>app</title><p id="who">{}</p><script>navigator.serviceWorker.register('/worker.js')</script>"""


@pytest.fixture(scope="module")
def installed():
    class App(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/worker.js":
                kind, text = "text/javascript", WORKER
            else:
                kind, text = "text/html", PAGE.format(self.headers.get("X-Forwarded-User"))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, installed):
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    apps = {
        "installed":
            {
                "host": "installed.localhost", "upstream": installed, "allow": "signed_in", "unregister_service_worker":
                    True,
            }, "usual": {"host": "usual.localhost", "upstream": installed, "allow": "signed_in"},
    }
    with Gateway(tmp_path_factory.mktemp("installed"), providers, apps) as gateway:
        yield gateway


def test_g_02_a_browser_without_a_session_gets_a_worker_that_unregisters_itself(gateway, realm):
    """Only where the app asks for it, only for a worker's script, and not with a session."""
    fields = {"Service-Worker": "script", "Sec-Fetch-Mode": "same-origin", "Sec-Fetch-Dest": "serviceworker"}
    browser = Browser(gateway)
    url = f"http://installed.localhost:{gateway.port}/worker.js"
    response = browser.send("GET", url, fields=fields, navigates=False)
    assert response.status == 200 and "registration.unregister()" in response.text
    assert response.get("content-type").startswith("text/javascript") and response.get("cache-control") == "no-store"
    usual = f"http://usual.localhost:{gateway.port}/worker.js"
    refused = browser.send("GET", usual, fields=fields, navigates=False)
    assert refused.status == 401 and "must leave navigations to /oauth2/ to the network" in refused.text
    assert browser.send("GET", url, fields={"Sec-Fetch-Mode": "no-cors"}, navigates=False).status == 401
    assert browser.send("POST", url, body={}, fields=fields, navigates=False).status == 401
    assert browser.visit(f"http://installed.localhost:{gateway.port}/").status == 200
    assert browser.send("GET", url, fields=fields, navigates=False).text == WORKER


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_g_02_the_user_of_an_installed_app_signs_in_again_although_its_worker_responds_to_navigations(gateway, realm, tmp_path):
    """Chromium with a real worker: after the session has ended, the next navigation leads to the sign-in and back."""
    chromium = Chromium(tmp_path)
    origin = f"http://installed.localhost:{gateway.port}"
    who = "document.querySelector('#who')?.textContent"
    try:
        chromium.go(f"{origin}/")
        chromium.until(f"{who} == 'mock:ada' && !!navigator.serviceWorker.controller", "the worker controls the page")
        chromium.go(f"{origin}/page")
        chromium.until(f"{who} == 'shell'", "the worker responds to navigations")
        chromium.call("Network.clearBrowserCookies")
        chromium.go(f"{origin}/oauth2/sign_in?rd=%2Fpage")
        chromium.until(f"{who} == 'mock:ada' && location.pathname == '/page'", "the user is signed in again")
    finally:
        chromium.close()
