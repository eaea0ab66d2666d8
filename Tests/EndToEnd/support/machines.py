# SPDX-License-Identifier: Apache-2.0
"""What machines have instead of sessions: an issuer of tokens, and service tokens."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from .gateway import run
from .tokens import Key, now, token

#: The keys of each issuer, and the audience of its tokens.
RSA, EC = Key("r1"), Key("e1", "ES256")
API = "https://wiki.example.com"


class Issuer:
    """An issuer of JWTs with metadata, keys and an introspection endpoint."""
    def __init__(self):
        self.keys, self.active, self.calls, self.down, self.wait = [RSA, EC], {}, [], False, None
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                documents = {
                    "/.well-known/openid-configuration": {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"},
                    "/keys": {"keys": [key.jwk for key in issuer.keys]},
                }
                self.respond(documents.get(self.path))

            def do_POST(self):
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                issuer.calls.append((form, self.headers["Authorization"]))
                if issuer.wait:
                    issuer.wait.wait(20)
                self.respond({} if issuer.down else issuer.active.get(form["token"][0], {"active": False}))

            def respond(self, document):
                issuer.calls.append(self.path)
                body = json.dumps(document).encode()
                self.send_response(503 if issuer.down else 404 if document is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def claims(self, **more):
        claims = {
            "iss": self.url, "aud": API, "sub": "repo:acme/wiki", "exp": now() + 300, "iat": now(), "owner": "acme",
            "realm": {"groups": ["deployers", "ci"]}, **more
        }
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key=EC, header=None, **more):
        return token(key, self.claims(**more), header)


def made(name, *more):
    """A service token with its entry, from the command."""
    entry = json.loads(run("tokens", "create", name, "--json", *more).stdout)
    return entry.pop("token"), {key: value for key, value in entry.items() if key != "name"}
