# SPDX-License-Identifier: Apache-2.0
"""Glewlwyd of the Debian package, set up through its administration API as its web pages do it."""

import json
import sqlite3
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import requests

from .processes import Process, Service, free_port

DATABASE = Path("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3")
# The package's own file, but for URLs and database.
SETTINGS = """
port={port}
bind_address="127.0.0.1"
external_url="{origin}"
login_url="login.html"
api_prefix="api"
static_files_path="/usr/share/glewlwyd/webapp/"
log_mode="console"
log_level="INFO"
cookie_secure=0
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
use_secure_connection=false
secure_connection_key_file="/etc/glewlwyd/cert.key"
secure_connection_pem_file="/etc/glewlwyd/cert.pem"
hash_algorithm="SHA512"
database = {{ type = "sqlite3"; path = "{database}"; }};
"""
# A property of clients with several values, as an administrator adds one.
CLIENT_PROPERTY = """
UPDATE g_client_module_instance SET gcmi_parameters =
json_set(gcmi_parameters, '$."data-format"."post_logout_redirect_uris"', json('{"multiple":true,"read":true,"write":true}'))
"""
# Users have a property of the operator's own, `desk`.
USER_PROPERTY = """
UPDATE g_user_module_instance SET gumi_parameters =
json_set(gumi_parameters, '$."data-format"."desk"', json('{"multiple":false,"read":true,"write":true}'))
"""
#: The claim with that property.
DESK = {"name": "desk", "user-property": "desk", "type": "string", "mandatory": True, "scope": ["openid"]}
PLUGIN = {
    "jwt-type": "rsa", "code-duration": 600, "refresh-token-duration": 3600, "access-token-duration": 600,
    "allow-non-oidc": False, "auth-type-code-enabled": True, "auth-type-token-enabled": False,
    "auth-type-id-token-enabled": True, "auth-type-none-enabled": False, "auth-type-password-enabled": False,
    "auth-type-client-enabled": False, "auth-type-refresh-enabled": True, "pkce-allowed": True,
    "pkce-method-plain-allowed": False, "session-management-allowed": True, "back-channel-logout-allowed": True,
    "session-cookie-name": "GLEWLWYD2_OIDC_SID", "session-cookie-expiration": 3600, "oauth-as-iss-id": True,
    "name-claim": "mandatory", "name-claim-scope": ["openid"], "email-claim": "mandatory",
    "email-claim-scope": ["openid"], "subject-type": "public", "scope": [], "claims": [DESK],
}


class Glewlwyd(Service):
    """One server with an OpenID plugin for each size of hash that signs; a client is known to all of them."""

    def __init__(self, folder, clients, users, sizes=("256",)):
        self.folder = Path(folder) / "glewlwyd"
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.clients, self.users, self.sizes = clients, users, sizes
        self.process = None

    def issuer(self, size):
        return f"{self.origin}/api/oidc{size}"

    def start(self):
        database = self.folder / "glewlwyd.db"
        with sqlite3.connect(database) as made:
            made.executescript(DATABASE.read_text())
            made.execute(CLIENT_PROPERTY)
            made.execute(USER_PROPERTY)
        made.close()
        path = self.folder / "glewlwyd.conf"
        path.write_text(SETTINGS.format(port=self.port, origin=self.origin, database=database))
        self.process = Process(["glewlwyd", f"--config-file={path}"], self.folder, "glewlwyd")
        try:
            self.process.wait_listening(self.port)
            self.set_up()
        except BaseException:
            # What fails at its start is not stopped by `with`.
            self.process.stop()
            raise
        return self

    def set_up(self):
        admin = requests.Session()
        self.api(admin, "auth", {"username": "admin", "password": "password"})
        for size in self.sizes:
            private = self.openssl("genrsa", "2048")
            public = self.openssl("rsa", "-pubout", input=private)
            parameters = {**PLUGIN, "iss": self.issuer(size), "jwt-key-size": size, "key": private, "cert": public}
            plugin = {"module": "oidc", "name": f"oidc{size}", "display_name": size, "parameters": parameters}
            self.api(admin, "mod/plugin", plugin)
        for name, account in self.users.items():
            more = {"username": name, "password": f"{name}-password", "scope": ["openid"], "enabled": True}
            self.api(
                admin, "user", {"name": account["name"], "email": account["email"], "desk": f"desk of {name}", **more}
            )
        for name, client in self.clients.items():
            more = {
                "client_id": name, "confidential": True, "enabled": True, "scope": ["openid"],
                "authorization_type": ["code", "id_token"], "token_endpoint_auth_method": ["client_secret_basic"]
            }
            self.api(admin, "client", {**more, **client})

    def api(self, session, path, body):
        response = session.post(f"{self.origin}/api/{path}/", json=body, timeout=10)
        assert response.status_code == 200, (path, response.status_code, response.text)

    @staticmethod
    def openssl(*arguments, input=None):
        return subprocess.run(["openssl", *arguments], input=input, capture_output=True, text=True, check=True).stdout

    def agree(self, browser, page, user="ada"):
        """What the script of the login page does: checks the password, agrees to the scopes, and goes on."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
        assert page.url.startswith(f"{self.origin}/login.html?"), page
        self.post(browser, "auth/", {"username": user, "password": f"{user}-password"})
        self.post(browser, f"auth/grant/{query['client_id']}/", {"scope": "openid"}, "PUT")
        return browser.visit(query["callback_url"] + "&g_continue")

    def end_session(self, browser, size="256"):
        """Ends the user's sessions at all clients, and notifies them."""
        sid = browser.cookies["127.0.0.1"]["GLEWLWYD2_OIDC_SID"]
        self.post(browser, f"oidc{size}/session/{sid}", {}, "DELETE")

    def sign_out(self, browser, page, stop=None):
        """What the script of the sign-out page does, to which a client leads: the same, and goes back to the client."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
        assert query["prompt"] == "end_session", page.url
        self.post(browser, f"{query['plugin']}/session/{query['sid']}", {}, "DELETE")
        self.post(browser, "auth/", {}, "DELETE")
        return browser.visit(query["callback_url"], stop=stop)

    def post(self, browser, path, body, method="POST"):
        fields = {"Content-Type": "application/json"}
        response = browser.send(method, f"{self.origin}/api/{path}", json.dumps(body).encode(), fields, navigates=False)
        assert response.status == 200, response

    def stop(self):
        if self.process:
            self.process.stop()
