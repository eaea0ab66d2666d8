# SPDX-License-Identifier: Apache-2.0
"""Relying parties that other projects wrote, as clients of the gateway's issuer: mod_auth_openidc in Apache, and Authlib in Flask."""

import os
import secrets
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import flask
import requests
from authlib.integrations.flask_client import OAuth
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from .processes import Process, Service, free_port
from .tokens import EVENT

SECRET = "a secret of forty-two characters + / % & ="
MODULES = ["mpm_event", "authn_core", "authz_core", "authz_user", "proxy", "proxy_http", "auth_openidc"]
# The session is in shared memory, as by default; what Apache needs files for is in none of the test's folders, which its
# workers, of another account, cannot enter.
APACHE = """
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
ErrorLog /proc/self/fd/2
DefaultRuntimeDir {folder}
{account}
StartServers 1
ServerLimit 1
ThreadsPerChild 16
MaxRequestWorkers 16
LogLevel warn auth_openidc:info
ProxyPass / {upstream}/
OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
OIDCClientID {client}
OIDCClientSecret "{secret}"
OIDCRedirectURI {origin}/oidc/callback
OIDCCryptoPassphrase {passphrase}
OIDCPKCEMethod S256
OIDCScope "openid profile email groups"
OIDCRemoteUserClaim sub
<Location />
AuthType openid-connect
Require valid-user
</Location>
"""


class Party(Service):
    """A relying party: `client` is its entry in `clients`."""
    id = None

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.issuer = None

    def client(self, **more):
        return {"type": "confidential", "secret": SECRET, "allow": "signed_in", **more}


class Apache(Party):
    """Apache with mod_auth_openidc in front of an app: `OIDC_CLAIM_…` has what it knows of the user."""
    id = "apache"

    def __init__(self, folder, app):
        super().__init__(folder)
        self.app = app
        self.process = None

    @property
    def entry(self):
        return self.client(
            redirect_uris=[f"{self.origin}/oidc/callback"], post_logout_redirect_uris=[f"{self.origin}/bye"],
            backchannel_logout_uri=f"{self.origin}/oidc/callback?logout=backchannel"
        )

    def start(self):
        loads = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in MODULES)
        is_root = os.geteuid() == 0
        path = self.folder / "apache.conf"
        path.write_text(
            loads + APACHE.format(
                port=self.port, origin=self.origin, folder=self.folder, upstream=self.app.address, issuer=self.issuer,
                client=self.id, secret=SECRET, passphrase=secrets.token_hex(16),
                account="User www-data\nGroup www-data" if is_root else ""
            )
        )
        self.process = Process(["apache2", "-DFOREGROUND", "-f", path], self.folder, "apache")
        self.process.wait_listening(self.port)
        return self

    def stop(self):
        if self.process:
            self.process.stop()


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class FlaskParty(Party):
    """An application of Flask with Authlib's client; joserfc verifies the logout tokens."""
    id = "flask"

    def __init__(self, folder):
        super().__init__(folder)
        #: The sign-in of the gateway to what Authlib got, as an application would keep it in its database.
        self.sessions = {}
        #: Why logout tokens were rejected.
        self.rejected = []
        self.server = None

    @property
    def entry(self):
        return self.client(
            redirect_uris=[f"{self.origin}/callback"], post_logout_redirect_uris=[f"{self.origin}/bye"],
            backchannel_logout_uri=f"{self.origin}/backchannel"
        )

    def start(self):
        app = flask.Flask("party")
        app.config.update(SECRET_KEY=secrets.token_hex(16), SESSION_COOKIE_NAME="party")
        gateway = OAuth(app).register(
            "gateway", client_id=self.id, client_secret=SECRET,
            server_metadata_url=f"{self.issuer}/.well-known/openid-configuration",
            client_kwargs={"scope": "openid profile email groups", "code_challenge_method": "S256"}
        )
        app.add_url_rule("/", view_func=self.home)
        app.add_url_rule("/login", "login", lambda: gateway.authorize_redirect(f"{self.origin}/callback"))
        app.add_url_rule("/callback", "callback", lambda: self.callback(gateway))
        app.add_url_rule("/logout", "logout", lambda: self.logout(gateway))
        app.add_url_rule("/bye", "bye", lambda: "Bye.")
        app.add_url_rule("/backchannel", "backchannel", lambda: self.backchannel(gateway), methods=["POST"])
        self.server = make_server("127.0.0.1", self.port, app, Server, QuietHandler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def home(self):
        found = self.sessions.get(flask.session.get("sid"))
        return found["userinfo"] if found else ("Sign in.", 401)

    def callback(self, gateway):
        token = gateway.authorize_access_token()
        flask.session["sid"] = token["userinfo"]["sid"]
        self.sessions[token["userinfo"]["sid"]] = token
        return flask.redirect("/")

    def logout(self, gateway):
        token = self.sessions.pop(flask.session.get("sid"))
        return gateway.logout_redirect(f"{self.origin}/bye", id_token_hint=token["id_token"])

    def backchannel(self, gateway):
        """OpenID Connect Back-Channel Logout §2.6."""
        metadata = gateway.load_server_metadata()
        keys = KeySet.import_key_set(requests.get(metadata["jwks_uri"], timeout=5).json())
        try:
            token = jwt.decode(flask.request.form["logout_token"], keys, algorithms=["ES256"])
            required = {"essential": True}
            jwt.JWTClaimsRegistry(
                iss={"value": metadata["issuer"], **required}, aud={"value": self.id, **required}, iat=required,
                exp=required, jti=required, sid=required
            ).validate(token.claims)
            if token.header["typ"] != "logout+jwt" or EVENT not in token.claims["events"] or "nonce" in token.claims:
                raise ValueError(f"{token.header} {token.claims}")
        except (JoseError, ValueError, KeyError) as error:
            self.rejected.append(repr(error))
            return "", 400
        self.sessions.pop(token.claims["sid"], None)
        return "", 200

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
