# SPDX-License-Identifier: Apache-2.0
"""An OpenID provider that a test controls, for right and wrong behaviour."""

import base64
import json
import secrets
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from .tokens import Key, at_hash, now, token

SHARED_KEYS = [Key("rsa"), Key("ec", "ES256"), Key("ed", "EdDSA")]


class Realm:
    """One issuer: its users, its keys and its next responses."""
    def __init__(self, server, name):
        self.server, self.name = server, name
        self.issuer = f"{server.origin}/{name}"
        self.keys = list(SHARED_KEYS)
        self.reset()

    def reset(self):
        """Back to the defaults; `who` is the user who agrees to an authorization request, given its query, and `rejection` why a token
        request does not prove who the client is.
        """
        self.user = {"sub": "ada", "email": "ada@example.com", "email_verified": True, "name": "Ada Example"}
        self.key = self.keys[0]
        self.requests = []
        self.codes = {}
        self.grants, self.accesses, self.disabled = {}, {}, set()
        self.issues_refresh = False
        self.rotates = True
        self.has_session = False
        self.lifetime = 300
        self.who = lambda query: dict(self.user)
        self.claims = lambda claims: claims
        self.make = lambda claims, realm: token(realm.key, claims)
        self.userinfo = lambda user: user
        self.callback = lambda parameters: parameters
        self.token_response = lambda response: response
        self.documents = {}
        self.metadata = {}
        self.holds = {}
        self.posts = False
        self.rejection = lambda form, fields: None

    @contextmanager
    def fresh(self):
        """The realm, with its defaults at the beginning and at the end."""
        self.reset()
        yield self
        self.reset()

    def count(self, path):
        return sum(1 for request in self.requests if request["path"] == path)

    def document(self, path):
        """What a test has put at a path: (status, headers, bytes) or None."""
        return self.documents.get(path)

    def discovery(self):
        return {
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize", "token_endpoint":
                f"{self.issuer}/token", "userinfo_endpoint": f"{self.issuer}/userinfo", "jwks_uri":
                    f"{self.issuer}/jwks", "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA"], **self.metadata,
        }

    def agreed(self, query):
        """The parameters of the callback after the user has agreed."""
        code = secrets.token_urlsafe(12)
        self.codes[code] = query
        return self.callback({"code": code, "state": query["state"]})

    def authorize(self, query):
        """The URL of the callback after the user has agreed; without a session there is no silent sign-in."""
        if query.get("prompt") == "none" and not self.has_session:
            parameters = {"error": "login_required", "state": query["state"]}
        else:
            parameters = self.agreed(query)
        return f"{query['redirect_uri']}?{urlencode(parameters, doseq=True)}"

    def tokens(self, form):
        """The response of the token endpoint to a code or a refresh token."""
        is_refresh = form.get("grant_type") == "refresh_token"
        if is_refresh:
            kept = self.grants.pop(form["refresh_token"], None) if self.rotates else self.grants.get(form["refresh_token"])
        else:
            query = self.codes.pop(form.get("code"), None)
            kept = query and {"query": query, "user": self.who(query)}
        if kept is None or kept["user"]["sub"] in self.disabled:
            return 400, {"error": "invalid_grant", "error_description": "unknown code or refresh token"}
        query, user = kept["query"], self.user if self.user["sub"] == kept["user"]["sub"] else kept["user"]
        access = secrets.token_urlsafe(12)
        self.accesses[access] = user
        claims = self.claims(
            {
                "iss": self.issuer, "aud": query["client_id"], "iat": now(), "exp": now() + 300, "nonce":
                    query.get("nonce"), "at_hash": at_hash(access, realm_kind(self)), **user,
            }
        )
        response = {
            "access_token": access, "token_type": "Bearer", "expires_in": self.lifetime,
            "id_token": self.make(claims, self),
        }
        if self.issues_refresh:
            response["refresh_token"] = form["refresh_token"] if is_refresh and not self.rotates else secrets.token_urlsafe(24)
            self.grants[response["refresh_token"]] = kept
        return 200, self.token_response(response)

    def owner(self, fields):
        """Whose access token a request has; None if it is not valid, or the user is disabled."""
        user = self.accesses.get(fields.get("Authorization", "").removeprefix("Bearer "))
        if user is None or user["sub"] in self.disabled:
            return None
        return dict(self.user if self.user["sub"] == user["sub"] else user)


def realm_kind(realm):
    return realm.key.kind if isinstance(realm.key, Key) else "RS256"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.response(b"")

    def do_HEAD(self):
        self.response(b"")

    def do_POST(self):
        self.response(self.rfile.read(int(self.headers.get("content-length", 0))))

    def response(self, body):
        parts = urlsplit(self.path)
        name, _, path = parts.path.lstrip("/").partition("/")
        realm = self.server.realms.get(name)
        if realm is None:
            self.server.strays.append(self.path)
            return self.reply(404, {}, b"")
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        form = {key: values[0] for key, values in parse_qs(body.decode()).items()}
        realm.requests.append(
            {"path": path, "query": query, "form": form, "fields": dict(self.headers), "method": self.command}
        )
        if hold := realm.holds.get(path):
            hold.wait(20)
        if canned := realm.document(path):
            return self.reply(*canned)
        if path == ".well-known/openid-configuration":
            return self.json(200, realm.discovery())
        if path == "jwks":
            return self.json(200, {"keys": [key if isinstance(key, dict) else key.jwk for key in realm.keys]})
        if path == "authorize" and realm.posts:
            inputs = "".join(f'<input type="hidden" name="{k}" value="{v}">' for k, v in realm.agreed(query).items())
            page = f'<form method="post" action="{query["redirect_uri"]}">{inputs}</form><script>document.forms[0].submit()'
            return self.reply(200, {"Content-Type": "text/html"}, f"{page}</script>".encode())
        if path == "authorize":
            return self.reply(302, {"Location": realm.authorize(query)}, b"")
        if path == "token" and (reason := realm.rejection(form, dict(self.headers))):
            return self.json(401, {"error": "invalid_client", "error_description": reason})
        if path == "token":
            return self.json(*realm.tokens(form))
        if path == "userinfo":
            owner = realm.owner(dict(self.headers))
            if realm.disabled and owner is None:
                return self.json(401, {"error": "invalid_token"})
            return self.json(200, realm.userinfo(owner or dict(realm.user)))
        return self.reply(404, {}, b"")

    def json(self, status, value):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.reply(status, {"Content-Type": "application/json"}, body)

    def reply(self, status, fields, body):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(b"" if self.command == "HEAD" else body)
        except OSError:
            pass


class ProviderServer(ThreadingHTTPServer):
    """All realms of a test run on one port; `strays` are requests outside any realm."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self.realms, self.strays = {}, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def realm(self, name):
        if name not in self.realms:
            self.realms[name] = Realm(self, name)
        return self.realms[name]


def basic(header):
    """Id and secret of a Basic field, form-decoded as RFC 6749 §2.3.1 wants."""
    user, _, password = base64.b64decode(header.split(" ")[1]).decode().partition(":")
    return unquote(user), unquote(password)


def silent_port():
    """A port that accepts connections and never sends anything."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(16)
    return sock, sock.getsockname()[1]
