# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/apps: their verifiers run, and their files fit what the gateway sends."""

import base64
import configparser
import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time

import jwt
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from support.browser import Browser
from support.documents import blocks
from support.gateway import Gateway, oidc
from support.presets import PRESETS
from support.processes import REPOSITORY
from support.tokens import b64
from support.upstream import Upstream
from support.verifiers import with_each_bit

GATE, APP = "https://gate.example.com", "https://wiki.example.com"


# A server that publishes a key as the gateway does


@pytest.fixture(scope="module")
def key():
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def publisher(key):
    jwk = {**json.loads(ECAlgorithm.to_jwk(key.public_key())), "kid": "one", "alg": "ES256", "use": "sig"}
    responses = {"/oauth2/jwks.json": json.dumps({"keys": [jwk]}).encode()}

    class Publisher(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = responses.get(self.path)
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def headers(issuer, key, kid="one", **changes):
    now = int(time.time())
    claims = {"iss": issuer, "aud": APP, "sub": "google:1", "iat": now, "nbf": now, "exp": now + 120, **changes}
    known = {name: value for name, value in claims.items() if value is not None}
    return {"X-Gatehouse-Assertion": jwt.encode(known, key, "ES256", headers={"kid": kid})}


# The example of docs/start.md, which the page about Python has too


def python_verifier():
    return next(block for block in blocks("docs/start.md", "python") if "def user" in block)


@pytest.fixture(scope="module")
def example(publisher):
    """The function of the example."""
    names = {}
    exec(python_verifier().replace(GATE, publisher), names)
    return names["user"]


def test_the_example_returns_the_user(publisher, key, example):
    assert example(headers(publisher, key))["sub"] == "google:1"


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://other.example.com"},
        {"iss": "https://other.example.com"},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"sub": None},
        {"kid": "two"},
    ],
    ids=str,
)
def test_the_example_rejects_another_audience(publisher, key, example, changes):
    with pytest.raises(jwt.PyJWTError):
        example(headers(publisher, key, **changes))


def test_the_example_rejects_another_key_and_no_assertion(publisher, example):
    with pytest.raises(jwt.PyJWTError):
        example(headers(publisher, ec.generate_private_key(ec.SECP256R1())))
    with pytest.raises(jwt.PyJWTError):
        example({})


# The verifiers of the pages: a program of each reads assertions from a file and prints users or errors. It calls what the
# page shows as the use of the verifier.


def placed(source, issuer, app):
    assert GATE in source and APP in source
    return source.replace(GATE, issuer).replace(APP, app)


def is_short(source):
    """Under 30 lines besides comments and, in Go, imports, of which each is a line there."""
    return len([line for line in source.splitlines() if line and not line.startswith("//")]) < 30


PYTHON = """
import json
import sys

for assertion in json.load(open(sys.argv[1])):
    status = []
    environ = {"HTTP_X_GATEHOUSE_ASSERTION": assertion} if assertion else {}
    body = b"".join(page(environ, lambda line, fields: status.append(line))).decode()
    print(body if status == ["200 OK"] else f"Error {body}")
"""


def python(issuer, app, folder, cache):
    verifier, use = blocks("docs/apps/python.md", "python")
    assert verifier == python_verifier() and is_short(verifier)
    (folder / "main.py").write_text(placed(verifier, issuer, app) + use + PYTHON)
    return [sys.executable, folder / "main.py"]


NODE = """
import { readFileSync } from "node:fs";
import { user } from "./verifier.mjs";

async function page(request) {
  USE
  return claims.sub;
}
for (const assertion of JSON.parse(readFileSync(process.argv[2]))) {
  const headers = assertion ? { "x-gatehouse-assertion": assertion } : {};
  console.log(await page({ headers }).catch((error) => `Error ${JSON.stringify(error.message)}`));
}
"""


def node(issuer, app, folder, cache):
    verifier, use = blocks("docs/apps/node.md", "js")
    assert is_short(verifier)
    (folder / "verifier.mjs").write_text(placed(verifier, issuer, app))
    (folder / "main.mjs").write_text(NODE.replace("USE", use))
    return ["node", folder / "main.mjs"]


GO = """package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
)

func main() {
	var assertions []string
	file, _ := os.Open(os.Args[1])
	json.NewDecoder(file).Decode(&assertions)
	for _, assertion := range assertions {
		recorder := httptest.NewRecorder()
		page(recorder, &http.Request{Header: http.Header{"X-Gatehouse-Assertion": {assertion}}})
		body := strings.TrimSpace(recorder.Body.String())
		if recorder.Code == 200 {
			fmt.Println(body)
		} else {
			fmt.Println("Error", body)
		}
	}
}

"""


def go(issuer, app, folder, cache):
    verifier, use = blocks("docs/apps/go.md", "go")
    assert is_short(verifier[verifier.index("const "):])
    sources = {"verifier.go": placed(verifier, issuer, app), "main.go": GO + use}
    for name, text in sources.items():
        (folder / name).write_text(text)
    files = [folder / name for name in sources]
    assert subprocess.run(["gofmt", "-l", *files], capture_output=True, text=True, check=True).stdout == ""
    environment = {**os.environ, "GOCACHE": str(cache), "HOME": str(folder), "GOFLAGS": "-mod=mod"}
    subprocess.run(["go", "vet", *files], env=environment, check=True, timeout=300)
    subprocess.run(["go", "build", "-o", folder / "main", *files], env=environment, check=True, timeout=300)
    return [folder / "main"]


@pytest.fixture(scope="module", params=[python, node, go], ids=lambda program: program.__name__)
def program(request, tmp_path_factory):
    """Builds the verifier of a page for an issuer and an app; what it prints about assertions."""
    cache = tmp_path_factory.mktemp("cache")

    def build(issuer, app):
        folder = tmp_path_factory.mktemp("verifier")
        command = request.param(issuer, app, folder, cache)

        def verdicts(assertions):
            (folder / "assertions.json").write_text(json.dumps(assertions))
            done = subprocess.run([*command, folder / "assertions.json"], capture_output=True, text=True, timeout=100)
            assert done.returncode == 0, done.stderr
            lines = done.stdout.splitlines()
            assert len(lines) == len(assertions)
            return lines

        return verdicts

    return build


@pytest.mark.timeout(400)
def test_the_verifier_of_an_app_accepts_what_is_valid_only(publisher, key, program):
    good = headers(publisher, key)["X-Gatehouse-Assertion"]
    head, body, signature = good.split(".")
    none = jwt.encode({"iss": publisher, "aud": APP, "sub": "x"}, None, "none", headers={"kid": "one"})
    bad = [
        "", "x", "a.b.c", none, f"{none.split('.')[0]}.{body}.{signature}", f"{head}.{body}.", f"{head}.{body[:-4]}AAAA.{signature}",
        f"{good}.", f"{good}.{signature}", f".{good}",
        headers(publisher, ec.generate_private_key(ec.SECP256R1()))["X-Gatehouse-Assertion"],
        *(
            headers(publisher, key, **changes)["X-Gatehouse-Assertion"] for changes in [
                {"aud": "https://other.example.com"}, {"iss": "https://other.example.com"}, {"exp": 1_700_000_000}, {"exp": None},
                {"nbf": 4_000_000_000}, {"sub": None}, {"kid": "two"}
            ]
        ),
    ]
    first, *others, last = program(publisher, APP)([good, *bad, good])
    assert first == last == "google:1"
    assert all(line.startswith("Error ") for line in others), others


@pytest.fixture(scope="module")
def real(tmp_path_factory, provider_server):
    """A gateway, and its assertions about a user for the app at `/` and for another one."""
    app = Upstream()
    apps = {name: {"path": path, "upstream": app.address, "allow": "signed_in"} for name, path in (("app", "/"), ("other", "/other"))}
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    with Gateway(tmp_path_factory.mktemp("real"), providers, apps, host="127.0.0.1") as gateway:
        with provider_server.realm("mock").fresh() as realm:
            realm.user = {**realm.user, "name": "Zoë 🦊 李"}
            browser = Browser(gateway)
            assert browser.sign_in("mock", "/page").status == 200

        def assertion(path):
            assert browser.send("GET", path).status == 200
            return app.seen(path)[-1].get("X-Gatehouse-Assertion")

        yield gateway.origin, assertion
    app.close()


@pytest.mark.timeout(400)
def test_the_verifier_of_an_app_verifies_assertions_of_a_gateway(real, program):
    """The keys come from the gateway that runs; each single changed bit is noticed."""
    origin, assertion = real
    verdicts = program(origin, origin)
    good, other = assertion("/page"), assertion("/other/page")
    parts, bad = good.split("."), [other]
    for index, part in enumerate(parts):
        for changed in with_each_bit(base64.urlsafe_b64decode(part + "==")):
            bad.append(".".join([*parts[:index], b64(changed), *parts[index + 1:]]))
    first, *others, last = verdicts([good, *bad, good])
    assert first == last == "mock:ada" and len(others) > 3000
    assert [number for number, line in enumerate(others) if not line.startswith("Error ")] == []
    assert program(origin, f"{origin}/other")([good, other])[1] == "mock:ada"


# The files of the pages


@pytest.mark.parametrize("page, preset", [("grafana", "grafana"), ("jenkins", "jenkins"), ("opensearch", "kibana")])
def test_a_page_of_an_app_names_headers_that_the_app_gets(page, preset):
    table = re.search(rf"^\| `{preset}` \|(.*)", (REPOSITORY / "docs/headers.md").read_text(), re.M)[1]
    sent = {name.lower() for name in re.findall(r"`(X-[\w-]+)`", table)}
    sent |= {"x-forwarded-user", "x-forwarded-groups", "x-gatehouse-assertion", "x-forwarded-for"}
    named = {name.lower() for name in re.findall(r"\bX-[\w-]+", (REPOSITORY / f"docs/apps/{page}.md").read_text(), re.I)}
    assert len(named) > 1 and named <= sent


def configured(page, index=0):
    """The file of the gateway on a page: its public URL, and its one app."""
    file = yaml.safe_load(blocks(f"docs/apps/{page}.md", "yaml")[index])
    app, = file["apps"].values()
    return file["gateway"]["public_url"], app


def ini(text):
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    section, = parser.sections()
    return section, dict(parser[section])


def test_grafana_verifies_the_assertion_of_this_gateway_for_this_app():
    url, app = configured("grafana")
    section, keys = ini(blocks("docs/apps/grafana.md", "ini")[0])
    assert section == "auth.jwt" and keys["enabled"] == "true" and "identity" not in app
    assert keys["header_name"] == "X-Gatehouse-Assertion" and keys["jwk_set_url"] == f"{url}/oauth2/jwks.json"
    assert json.loads(keys["expect_claims"]) == {"iss": url, "aud": f"https://{app['host']}"}
    assert (keys["username_claim"], keys["email_claim"]) == ("sub", "email")


def test_grafana_reads_the_headers_of_the_preset():
    _, app = configured("grafana", 1)
    section, keys = ini(blocks("docs/apps/grafana.md", "ini")[1])
    assert section == "auth.proxy" and keys["enabled"] == "true"
    sent = {field: name for name, field in PRESETS[app["identity"]["preset"]].items()}
    assert keys["header_name"] == sent["user"] and keys["header_property"] == "username"
    named = dict(pair.split(":") for pair in keys["headers"].split())
    assert named == {"Name": sent["name"], "Email": sent["email"], "Groups": sent["groups"]}
    # The preset encodes as Grafana decodes with this key only.
    assert keys["headers_encoded"] == "true"
    assert app["upstream"].startswith(f"http://{keys['whitelist']}:")


def test_opensearch_reads_the_headers_of_the_preset():
    _, app = configured("opensearch")
    dashboards, security = map(yaml.safe_load, blocks("docs/apps/opensearch.md", "yml"))
    sent = {field: name.lower() for name, field in PRESETS[app["identity"]["preset"]].items()}
    names = {kind: dashboards[f"opensearch_security.proxycache.{kind}_header"] for kind in ("user", "roles")}
    assert names == {"user": sent["user"], "roles": sent["groups"]}
    assert {*names.values(), "x-forwarded-for"} <= set(dashboards["opensearch.requestHeadersAllowlist"])
    http = security["config"]["dynamic"]["http"]
    assert http["xff"]["enabled"] is True
    proxies = re.compile(http["xff"]["internalProxies"])
    assert proxies.fullmatch("127.0.0.1") and not proxies.fullmatch("127.0.0.10") and not proxies.fullmatch("127a0a0a1")
    domain = security["config"]["dynamic"]["authc"]["proxy_auth_domain"]
    assert domain["http_authenticator"]["type"] == "proxy"
    config = domain["http_authenticator"]["config"]
    assert config == {"user_header": sent["user"], "roles_header": sent["groups"]}


RUBY = """
require "json"
$found = {}
def external_url(url) = $found["external_url"] = url
nginx, gitlab_rails = {}, {}
eval(STDIN.read, binding)
puts $found.merge("nginx" => nginx, "gitlab_rails" => gitlab_rails).to_json
"""


def test_gitlab_listens_where_the_gateway_forwards_to():
    """By Ruby, in which GitLab's file is written."""
    _, app = configured("gitlab")
    block, = blocks("docs/apps/gitlab.md", "ruby")
    done = subprocess.run(["ruby", "-e", RUBY], input=block, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    nginx = found["nginx"]
    assert found["external_url"] == f"https://{app['host']}"
    assert [f"http://{address}:{nginx['listen_port']}" for address in nginx["listen_addresses"]] == [app["upstream"]]
    assert nginx["listen_https"] is False and len(found["gitlab_rails"]["trusted_proxies"]) == 1


def test_jupyterlab_listens_where_the_gateway_forwards_to():
    """On its default port; Tests/Apps starts JupyterLab with these flags."""
    _, app = configured("jupyterlab")
    command, = blocks("docs/apps/jupyterlab.md", "sh")
    program, lab, *flags = shlex.split(command)
    assert (program, lab) == ("jupyter", "lab") and app["upstream"] == "http://127.0.0.1:8888"
    assert dict(flag.removeprefix("--").partition("=")[::2] for flag in flags) == {
        "ip": "127.0.0.1", "no-browser": "", "ServerApp.token": "", "ServerApp.password": "",
        "ServerApp.allow_remote_access": "True"
    }
