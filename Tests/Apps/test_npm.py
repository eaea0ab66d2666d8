# SPDX-License-Identifier: Apache-2.0
"""npm, where it is installed, with a small registry: scoped packages are asked for as `/@scope%2fname`."""

import base64
import hashlib
import io
import json
import shutil
import tarfile

import pytest

from harness.apps import run
from support.upstream import Upstream

pytestmark = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
#: npm sends no cookies.
ENTRY = {"public": ["/"]}
NAME = "@corpus/package"


def archive():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        text = json.dumps({"name": NAME, "version": "1.0.0", "main": "index.js"}).encode()
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    return data.getvalue()


class Registry(Upstream):
    """A registry of one package; `puts` holds what was published."""
    def __init__(self):
        super().__init__()
        self.archive, self.puts = archive(), []
        self.script("", self.respond)

    def respond(self, connection, request):
        connection.body(request)
        path = request.target.partition("?")[0]
        if request.method == "PUT":
            self.puts.append((request.target.lower(), json.loads(request.body)["name"]))
            kind, body = "application/json", b'{"ok":true}'
        elif path.endswith(".tgz"):
            kind, body = "application/octet-stream", self.archive
        elif path.lower() in ("/@corpus%2fpackage", "/@corpus/package"):
            digest = base64.b64encode(hashlib.sha512(self.archive).digest()).decode()
            dist = {
                "tarball": f"http://{request.get('host')}/@corpus/package/-/package-1.0.0.tgz", "integrity":
                f"sha512-{digest}"
            }
            version = {"name": NAME, "version": "1.0.0", "dist": dist}
            kind, body = "application/json", json.dumps({
                "name": NAME, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}
            }).encode()
        else:
            connection.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        connection.send(
            f"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode() + body
        )
        return True


@pytest.fixture(scope="module")
def app():
    made = Registry()
    yield made
    made.close()


def work(app, folder):
    """`npm view`, `npm install` and `npm publish` of a scoped package."""
    def client(url, fields):
        place = folder / ("through" if fields else "direct")
        (place / "mine").mkdir(parents=True)
        (place / "mine" / "package.json").write_text(json.dumps({"name": "@corpus/mine", "version": "2.0.0"}))
        (place / "package.json").write_text("{}")
        (place / ".npmrc").write_text(f"registry={url}/\n//{url.partition('://')[2]}/:_authToken=corpus\n")
        env = {
            "HOME": str(place), "npm_config_update_notifier": "false", "npm_config_audit": "false",
            "npm_config_fetch_retries": "0", "NODE_EXTRA_CA_CERTS": "", "npm_config_cache": str(place / "cache")
        }
        npm = lambda *command, at=".": run("npm", *command, "--userconfig", place / ".npmrc", cwd=place / at, env=env)
        app.puts.clear()
        seen = npm("view", NAME, "version").stdout
        npm("install", NAME)
        npm("publish", "--access", "public", at="mine")
        installed = (place / "node_modules" / "@corpus" / "package" / "package.json").read_text()
        return {"version": seen, "installed": installed, "published": list(app.puts)}

    return client


def test_y_02_scoped_packages(fronts, app, tmp_path):
    """A package is viewed, installed and published."""
    front = fronts("npm", app.port, ENTRY)
    assert front.both(work(app, tmp_path))["published"][0][0] == "/@corpus%2fmine"
