# SPDX-License-Identifier: Apache-2.0
"""The client of docs/native.md, compiled as it is in the document, signs in with a loopback redirect and calls an app."""

import os
import re
import shutil
import stat
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from support import native_driver
from support.browser import Browser
from support.documents import blocks
from support.gateway import Gateway, oidc
from support.raw import request
from support.upstream import Upstream

NAMES = ["GatewayClient", "LoopbackListener", "SHA256", "main"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


@pytest.fixture(scope="module")
def sources():
    found = blocks("docs/native.md", "swift")
    assert len(found) == len(NAMES)
    return dict(zip(NAMES, found))


@pytest.fixture(scope="module")
def build(sources, tmp_path_factory):
    """Compiles the sources of the document with a main program."""
    def build(name, main):
        folder = tmp_path_factory.mktemp(name)
        for file, text in {**sources, "main": main}.items():
            (folder / f"{file}.swift").write_text(text)
        command = [shutil.which("swiftc"), "-swift-version", "6", "-warnings-as-errors", "-o", folder / name]
        done = subprocess.run([*command, *sorted(folder.glob("*.swift"))], capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr
        return folder / name

    return build


@pytest.fixture(scope="module")
def notes(build, sources):
    """The program of the document."""
    return build("notes", sources["main"])


@pytest.fixture(scope="module")
def driver(build):
    return build("native_driver", native_driver.SOURCE)


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app):
    # The client resolves names as the system does.
    gateway = Gateway(
        tmp_path_factory.mktemp("native"), {"mock": oidc(provider_server.realm("mock").issuer)},
        {"notes": {"path": "/", "upstream": app.address, "allow": "signed_in", "accept": ["session", "token"]}},
        host="127.0.0.1"
    )
    gateway.configuration["clients"] = {
        "notes-cli": {"type": "native", "redirect_uris": ["http://127.0.0.1/callback"], "audiences": ["notes"],
                      "allow": "signed_in"}
    }
    with gateway:
        yield gateway


class Program:
    """A running program whose lines a test reads, and to which it writes commands."""
    def __init__(self, *command, cwd):
        self.child = subprocess.Popen([str(part) for part in command], cwd=cwd, env=ENVIRONMENT, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # No program outlives its test, and a read of its output ends with it.
        self.timer = threading.Timer(60, self.child.kill)
        self.timer.start()

    def line(self):
        line = self.child.stdout.readline()
        assert line, f"the program ended with {self.child.wait(5)}"
        return line.rstrip("\n")

    def ask(self, command):
        """The line before `done`, or what failed."""
        self.child.stdin.write(f"{command}\n")
        self.child.stdin.flush()
        line = self.line()
        return line if line == "done" or line.startswith(("signIn", "rejected", "unavailable")) else (line, self.line())[0]

    def begin(self):
        """Begins a sign-in; the URL."""
        self.child.stdin.write("sign-in\n")
        self.child.stdin.flush()
        return self.line()

    def end(self):
        self.child.stdin.close()
        code = self.child.wait(20)
        self.timer.cancel()
        return code


@pytest.fixture
def running(driver, gateway, tmp_path):
    """The driver, in front of the gateway."""
    program = Program(driver, gateway.origin, cwd=tmp_path)
    yield program
    assert program.end() == 0


class Api(ThreadingHTTPServer):
    """An API that keeps the tokens that it gets, and responds with the statuses that a test sets, then with 200."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), ApiHandler)
        self.tokens, self.statuses = [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/api"


class ApiHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.tokens.append(self.headers["Authorization"].removeprefix("Bearer "))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def api():
    with Api() as api:
        yield api
        api.shutdown()


def consent(gateway, url):
    """The user signs in at the provider and consents; the browser ends at the callback."""
    browser = Browser(gateway)
    return browser, browser.submit(browser.visit(url))


@pytest.fixture
def signed_in(running, gateway):
    browser, page = consent(gateway, running.begin())
    assert page.text == "You can close this window." and running.line() == "done"
    return browser


def test_the_client_has_under_200_lines(sources):
    assert len(sources["GatewayClient"].splitlines()) < 200


def test_the_program_of_the_document_signs_in_once_and_then_calls_the_app(notes, gateway, app, tmp_path):
    arguments = (notes, gateway.origin, f"{gateway.origin}/api/notes")
    program = Program(*arguments, cwd=tmp_path)
    url = program.line().removeprefix("Open ")
    query = dict(parse_qsl(urlsplit(url).query))
    assert query["code_challenge_method"] == "S256" and query["redirect_uri"].startswith("http://127.0.0.1:")
    consent(gateway, url)
    assert program.line().startswith("200 ") and program.end() == 0
    assert app.seen("/api/notes")[-1].get("X-Forwarded-User").startswith("mock:")
    stored = tmp_path / "refresh-token"
    first = stored.read_text()
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    program = Program(*arguments, cwd=tmp_path)
    assert program.line().startswith("200 ") and program.end() == 0
    assert stored.read_text() != first


def test_rfc_9207_2_4_callbacks_of_other_sign_ins_are_ignored(running, gateway):
    """Another `state`, another `iss`, and neither; the sign-in goes on."""
    url = running.begin()
    asked = dict(parse_qsl(urlsplit(url).query))
    attacker = Browser()
    for wrong in ({"code": "x", "state": "y", "iss": gateway.origin}, {"code": "x", "state": asked["state"]},
                  {"code": "x", "state": asked["state"], "iss": "https://evil.example"}):
        attacker.send("GET", f"{asked['redirect_uri']}?{urlencode(wrong)}")
        assert running.line() == "wrong callback"
    assert attacker.send("GET", asked["redirect_uri"].replace("/callback", "/favicon.ico")).status == 404
    consent(gateway, url)
    assert running.line() == "done"


def test_a_user_who_declines_is_not_signed_in(running, gateway):
    browser = Browser(gateway)
    browser.submit(browser.visit(running.begin()), button=1)
    assert running.line() == 'rejected("the user did not consent")'
    assert running.ask("stored") == "nothing"


def test_one_refresh_five_minutes_before_the_token_expires(running, signed_in, api):
    """The token is valid for ten minutes; twenty requests at once wait for one refresh."""
    running.ask("clock 290")
    assert running.ask(f"get {api.url} 5") == "200" and len(set(api.tokens)) == 1
    running.ask("clock 301")
    assert running.ask(f"get {api.url} 20") == "200"
    assert len(api.tokens) == 25 and len(set(api.tokens)) == 2 and len(set(api.tokens[5:])) == 1


def test_a_401_leads_to_one_refresh_and_one_retry(running, signed_in, api):
    api.statuses = [401]
    assert running.ask(f"get {api.url} 1") == "200" and len(set(api.tokens)) == len(api.tokens) == 2


def test_an_app_that_always_rejects_is_asked_twice(running, signed_in, api):
    api.statuses = [401, 401, 401]
    assert running.ask(f"get {api.url} 1") == "401" and len(api.tokens) == 2


def test_rfc_7009_2_a_sign_out_revokes_the_tokens(running, signed_in, gateway, api):
    assert running.ask(f"get {gateway.origin}/x 1") == "200"
    assert running.ask(f"get {api.url} 1") == "200"
    assert running.ask("sign-out") == "done" and running.ask("stored") == "nothing"
    fields = [("Authorization", f"Bearer {api.tokens[0]}")]
    assert request(gateway.port, "/x", host=gateway.host, fields=fields).status == 401
    assert running.ask(f"get {gateway.origin}/x 1") == "signInRequired"


def test_after_a_sign_out_at_the_gateway_the_client_asks_for_a_sign_in(running, signed_in, gateway):
    assert running.ask(f"get {gateway.origin}/x 1") == "200"
    signed_in.sign_out()
    assert running.ask(f"get {gateway.origin}/x 1") == "signInRequired" and running.ask("stored") == "nothing"


def test_an_unreachable_gateway_does_not_sign_the_user_out(tmp_path, driver, provider_server, app):
    gateway = Gateway(
        tmp_path / "own", {"mock": oidc(provider_server.realm("mock").issuer)}, {}, host="127.0.0.1"
    )
    gateway.configuration["clients"] = {
        "notes-cli": {"type": "native", "redirect_uris": ["http://127.0.0.1/callback"], "allow": "signed_in"}
    }
    gateway.configuration["apps"] = {"notes": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
    program = Program(driver, gateway.origin, cwd=tmp_path)
    with gateway:
        consent(gateway, program.begin())
        assert program.line() == "done"
    program.ask("clock 301")
    program.child.stdin.write(f"get {gateway.origin}/x 1\n")
    program.child.stdin.flush()
    assert re.search("Could not connect|-1004", program.line())
    assert program.ask("stored") == "a token"
    assert program.end() == 0
