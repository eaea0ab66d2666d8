#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small OpenID provider on plain http, fast enough not to be what is measured.

    provider.py PORT

Each first part of a path is an issuer: http://127.0.0.1:PORT/NAME. The user who signs in is the parameter
`user` that the browser adds to the authorization request. Every user is accepted and nothing is stored: a code
contains what the token needs. It is for measuring on loopback and checks nothing.
"""
import asyncio
import base64
import json
import sys
import time
from urllib.parse import parse_qsl, urlencode, urlsplit

from signatures import SigningKey, base64url

REASONS = {200: b"OK", 302: b"Found", 404: b"Not Found"}


def claims_of(user):
    """All that a profile reads, as providers put it into ID tokens when they are asked to: userinfo adds nothing."""
    return {
        "sub": user, "email": f"{user}@example.com", "email_verified": True, "name": user.title() + " Example",
        "preferred_username": user, "groups": ["staff"]
    }


class Provider:
    """The response to each path."""

    def __init__(self, origin):
        self.origin, self.key = origin, SigningKey()

    def response(self, target, body, fields):
        """Status, location and JSON for a request."""
        parts = urlsplit(target)
        name, _, path = parts.path.lstrip("/").partition("/")
        issuer = f"{self.origin}/{name}"
        if path == "authorize":
            return 302, self.agreed(dict(parse_qsl(parts.query))), None
        if path == "token":
            return 200, None, self.tokens(issuer, dict(parse_qsl(body.decode())))
        if path == "userinfo":
            token = fields.get(b"authorization", b"Bearer ada").split()[-1].decode()
            return 200, None, claims_of(token.partition(".")[0])
        if path == "jwks":
            return 200, None, {"keys": [self.key.jwk]}
        if path == ".well-known/openid-configuration":
            return 200, None, self.metadata(issuer)
        return 404, None, {"error": "not_found"}

    def metadata(self, issuer):
        return {
            "issuer": issuer, "authorization_endpoint": f"{issuer}/authorize", "token_endpoint": f"{issuer}/token",
            "userinfo_endpoint": f"{issuer}/userinfo", "jwks_uri": f"{issuer}/jwks",
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"]
        }

    def agreed(self, query):
        kept = {name: query.get(name) for name in ("nonce", "client_id")} | {"user": query.get("user", "ada")}
        code = base64url(json.dumps(kept).encode()).decode()
        return query["redirect_uri"] + "?" + urlencode({"code": code, "state": query["state"]})

    def tokens(self, issuer, form):
        code = form["code"]
        kept = json.loads(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)))
        now = int(time.time())
        claims = {"iss": issuer, "aud": kept["client_id"], "iat": now, "exp": now + 3600, **claims_of(kept["user"])}
        if kept["nonce"]:
            claims["nonce"] = kept["nonce"]
        return {
            "access_token": f"{kept['user']}.access", "token_type": "Bearer", "expires_in": 3600, "id_token":
                self.key.token(claims)
        }


class Connection(asyncio.Protocol):
    """One client; requests one after the other."""

    def __init__(self, provider):
        self.provider, self.waiting = provider, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.waiting += data
        while b"\r\n\r\n" in self.waiting:
            head, _, rest = self.waiting.partition(b"\r\n\r\n")
            first, *lines = head.split(b"\r\n")
            pairs = [line.partition(b":") for line in lines]
            fields = {name.lower(): value.strip() for name, _, value in pairs}
            length = int(fields.get(b"content-length", b"0"))
            if len(rest) < length:
                return
            self.waiting = rest[length:]
            self.reply(*self.provider.response(first.split()[1].decode(), rest[:length], fields))

    def reply(self, status, location, value):
        body = json.dumps(value).encode() if value is not None else b""
        lines = [
            b"HTTP/1.1 %d %s" % (status, REASONS[status]), b"Content-Type: application/json",
            b"Content-Length: %d" % len(body)
        ]
        if location:
            lines.append(b"Location: " + location.encode())
        self.transport.write(b"\r\n".join([*lines, b"", body]))


async def serve(port):
    provider = Provider(f"http://127.0.0.1:{port}")
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(provider), "127.0.0.1", port, backlog=512)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
