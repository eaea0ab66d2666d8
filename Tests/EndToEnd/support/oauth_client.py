# SPDX-License-Identifier: Apache-2.0
"""A client of the gateway's own issuer, written from the RFCs: PKCE, codes, refreshes; and the parts of its requests to change."""

import base64
import hashlib
import json
import secrets
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt

from .browser import Browser
from .raw import request


class Client:
    """One client of the file, in front of one gateway."""
    def __init__(self, gateway, client_id, redirect_uri, secret=None, scope="openid profile email groups"):
        self.gateway, self.id, self.redirect_uri, self.secret, self.scope = gateway, client_id, redirect_uri, secret, scope
        self.verifier = secrets.token_urlsafe(48)
        self.state = secrets.token_urlsafe(12)
        self.nonce = secrets.token_urlsafe(12)

    @property
    def metadata(self):
        return self.ask("GET", "/.well-known/openid-configuration").json

    def ask(self, method, path, form=None, fields=(), host=None):
        """A request without a browser."""
        lines = list(fields)
        body = b""
        if form is not None:
            body = urlencode(form, doseq=True).encode()
            lines += [("Content-Type", "application/x-www-form-urlencoded")]
        return request(
            self.gateway.port, path, method=method, host=host or self.gateway.host, fields=lines, body=body
        )

    def url(self, **changes):
        """The URL of an authorization request; None leaves a parameter out."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        values = {
            "response_type": "code", "client_id": self.id, "redirect_uri": self.redirect_uri, "scope": self.scope,
            "state": self.state, "nonce": self.nonce, "code_challenge": challenge, "code_challenge_method": "S256",
        } | changes
        query = urlencode({name: value for name, value in values.items() if value is not None}, doseq=True)
        return f"{self.gateway.origin}/oauth2/authorize?{query}"

    def arrives(self, url):
        return url.startswith(self.redirect_uri.split("?")[0])

    def authorize(self, browser, **changes):
        """Opens the URL, consents if asked, and returns the parameters of the response."""
        page = browser.visit(self.url(**changes), stop=self.arrives)
        if not hasattr(page, "next"):
            assert page.status == 200 and "Continue to" in page.text, page
            page = browser.submit(page, stop=self.arrives)
        return dict(parse_qsl(urlsplit(page.next).query))

    def credentials(self):
        """Authorization of a client with a secret; client_id of one without."""
        if self.secret is None:
            return [], {"client_id": self.id}
        pair = urlencode({self.id: self.secret}).replace("=", ":", 1)
        return [("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())], {}

    def token(self, **form):
        fields, more = self.credentials()
        return self.ask("POST", "/oauth2/token", {**more, **form}, fields)

    def redeem(self, received, **changes):
        """The token response for a code."""
        form = {
            "grant_type": "authorization_code", "code": received, "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
        } | changes
        return self.token(**{name: value for name, value in form.items() if value is not None})

    def sign_in(self, browser=None, **changes):
        """A whole sign-in; the token response."""
        found = self.authorize(browser or Browser(self.gateway), **changes)
        assert found["state"] == self.state and found["iss"] == self.gateway.origin, found
        response = self.redeem(found["code"])
        assert response.status == 200, response.text
        return response.json

    def refresh(self, token, **changes):
        return self.token(grant_type="refresh_token", refresh_token=token, **changes)

    def call(self, token, path="/x", host=None, method="GET", scheme="Bearer"):
        """A request to an app with an access token."""
        return request(
            self.gateway.port, path, method=method, host=host or self.gateway.host,
            fields=[("Authorization", f"{scheme} {token}")]
        )

    def userinfo(self, token):
        return self.ask("GET", "/oauth2/userinfo", fields=[("Authorization", f"Bearer {token}")])

    def revoke(self, token):
        fields, more = self.credentials()
        return self.ask("POST", "/oauth2/revoke", {**more, "token": token}, fields)

    def introspect(self, token):
        fields, more = self.credentials()
        return self.ask("POST", "/oauth2/introspect", {**more, "token": token}, fields)

    def verified(self, token, audience, typ="JWT"):
        """The claims of a token, verified by PyJWT with the keys of the metadata."""
        path = urlsplit(self.metadata["jwks_uri"]).path
        header = jwt.get_unverified_header(token)
        assert header["typ"] == typ and header["alg"] == "ES256"
        key = next(key for key in jwt.PyJWKSet(self.ask("GET", path).json["keys"]).keys if key.key_id == header["kid"])
        return jwt.decode(token, key, algorithms=["ES256"], audience=audience, issuer=self.gateway.origin)


def claims(token):
    """The claims of a token, not verified."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
