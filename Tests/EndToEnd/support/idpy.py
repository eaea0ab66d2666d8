# SPDX-License-Identifier: Apache-2.0
"""An OpenID provider made of the library idpyoidc: a separate program, started with a settings file.

What is decided about requests, clients, keys and tokens is decided by the library; here is only the way from HTTP to
its endpoints and back, a form to sign in with, and a line of JSON for each request, for the tests to read.
"""

import json
import logging
import sys
from pathlib import Path

from flask import Flask, Response, redirect, request
from idpyoidc.message.oidc import AuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.exception import ClientAuthenticationError, FailedAuthentication, UnAuthorizedClient
from idpyoidc.server.oidc.authorization import Authorization
from idpyoidc.server.oidc.session import Session
from idpyoidc.server.util import JSONDictDB

FORM = """<!doctype html><title>Sign in</title>
<form method="post" action="{{ action }}"><input type="hidden" name="token" value="{{ token }}">
<input name="username"><input name="password" type="password">
<button name="choice" value="yes">Yes</button><button name="choice" value="no">No</button></form>"""
SECRETS = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
JWKS = "static/jwks.json"


class EndSession(Session):
    """The library's, without a client's credentials: a browser has none."""
    def client_authentication(self, request, http_info=None, **arguments):
        return {}


class PushedOrPlain(Authorization):
    """The library wants copies of some parameters beside a reference; RFC 9126 §4 sends the reference alone."""
    def parse_request(self, request, http_info=None, **arguments):
        pushed = self.upstream_get("context").par_db.get(request.get("request_uri"), {})
        if pushed and pushed["client_id"] != request.get("client_id"):
            raise ValueError("pushed by another client")
        return super().parse_request({**pushed, **request}, http_info=http_info, **arguments)


def endpoint(path, kind, **settings):
    return {"path": path, "class": f"idpyoidc.server.{kind}" if isinstance(kind, str) else kind, "kwargs": settings}


def configuration(issuer, users, folder):
    (folder / "form.jinja2").write_text(FORM)
    (folder / "passwords.json").write_text(json.dumps({name: name for name in users}))
    usage = {"authorization_code": {"supports_minting": ["access_token", "id_token"], "max_usage": 1}}
    form = {
        "verify_endpoint": "/verify", "template": "form.jinja2",
        "db": {"class": JSONDictDB, "kwargs": {"filename": str(folder / "passwords.json")}},
    }
    cookie_keys = [{"type": "OCT", "use": [use], "kid": use} for use in ("enc", "sig")]
    return {
        "issuer": issuer,
        "key_conf": {
            "key_defs": [
                {"type": "RSA", "use": ["sig"]}, {"type": "EC", "crv": "P-256", "use": ["sig"]},
                {"type": "EC", "crv": "P-384", "use": ["sig"]},
            ], "uri_path": JWKS,
        },
        "template_dir": str(folder),
        "cookie_handler": {
            "class": "idpyoidc.server.cookie_handler.CookieHandler", "kwargs": {"keys": {"key_defs": cookie_keys}},
        },
        "authz": {
            "class": "idpyoidc.server.authz.AuthzHandling",
            "kwargs": {"grant_config": {"usage_rules": usage, "expires_in": 600}},
        },
        "authentication": {
            "user": {"acr": "password", "class": "idpyoidc.server.user_authn.user.UserPassJinja2", "kwargs": form},
        },
        "add_on": {
            "pkce": {
                "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                "kwargs": {"essential": True, "code_challenge_methods": {"S256": None}},
            },
        },
        "endpoint": {
            "provider_config":
                endpoint(
                    ".well-known/openid-configuration", "oidc.provider_config.ProviderConfiguration",
                    client_authn_method=None
                ),
            "authorization":
                endpoint(
                    "authorization", PushedOrPlain, client_authn_method=None,
                    response_types_supported=["code"], response_modes_supported=["query", "form_post"]
                ),
            "pushed_authorization":
                endpoint(
                    "pushed", "oauth2.pushed_authorization.PushedAuthorization", client_authn_method=SECRETS, ttl=60
                ),
            "token": endpoint("token", "oidc.token.Token", client_authn_method=SECRETS),
            "userinfo": endpoint("userinfo", "oidc.userinfo.UserInfo", client_authn_method=["bearer_header"]),
            "end_session":
                endpoint(
                    "end", EndSession, logout_verify_url=f"{issuer}/confirm", post_logout_uri_path="left",
                    signing_alg="ES256"
                ),
        },
        "token_handler_args": {
            "key_conf": {"key_defs": [{"type": "oct", "bytes": 32, "use": ["enc"], "kid": "code"}]},
            "code": {"kwargs": {"lifetime": 600}},
            "token": {"class": "idpyoidc.server.token.jwt_token.JWTToken", "kwargs": {"lifetime": 600}},
            "id_token": {"class": "idpyoidc.server.token.id_token.IDToken", "kwargs": {}},
        },
        "userinfo": {"class": "idpyoidc.server.user_info.UserInfo", "kwargs": {"db": users}},
    }


def make_server(settings, folder):
    server = Server(configuration(settings["issuer"], settings["users"], folder), cwd=str(folder))
    for name, client in settings["clients"].items():
        keys = client.pop("keys", None)
        client["redirect_uris"] = [(uri, {}) for uri in client["redirect_uris"]]
        client["post_logout_redirect_uri"] = [(uri, {}) for uri in client["post_logout_redirect_uri"]]
        server.context.cdb[name] = {"client_id": name, "client_salt": "salted", **client}
        if keys:
            server.keyjar.import_jwks({"keys": keys}, name)
    for name in ("token", "pushed_authorization"):
        # RFC 9126 §2: the issuer, the token endpoint and the endpoint itself are all valid audiences.
        server.get_endpoint(name).allowed_targets = ["", "token", "pushed_authorization"]
    return server


def make_app(server, journal):
    app = Flask(__name__)

    def http():
        return {
            "headers": {name: value for name, value in request.headers.items(lower=True) if name != "cookie"},
            "method": request.method, "url": request.url,
            "cookie": [{"name": name, "value": value} for name, value in request.cookies.items()],
        }

    def failure(error, status=400):
        return Response(json.dumps(error), status, mimetype="application/json")

    def finish(endpoint, asked, **arguments):
        result = endpoint.do_response(request=asked, **arguments)
        placement = result.get("response_placement", endpoint.response_placement)
        if placement == "url":
            response = redirect(result["response"])
        else:
            response = Response(result["response"], result.get("response_code", 200))
        for name, value in result["http_headers"]:
            response.headers[name] = value
        for cookie in result.get("cookie", []):
            response.set_cookie(cookie["name"], cookie["value"], path="/", httponly=True, samesite="Lax")
        return response

    def ask(name):
        endpoint = server.get_endpoint(name)
        given = (request.args if request.method == "GET" else request.form).to_dict()
        try:
            asked = endpoint.parse_request(given, http_info=http())
        except (ClientAuthenticationError, UnAuthorizedClient) as failed:
            return failure({"error": "invalid_client", "error_description": str(failed)}, 401)
        except Exception as failed:
            return failure({"error": "invalid_request", "error_description": str(failed)})
        if "error" in asked:
            return failure(asked.to_dict())
        try:
            arguments = endpoint.process_request(asked, http_info=http())
        except Exception as failed:
            return failure({"error": "invalid_request", "error_description": str(failed)})
        if "error" in arguments:
            return failure(dict(arguments))
        if "redirect_location" in arguments:
            return redirect(arguments["redirect_location"])
        if name == "pushed_authorization":
            return failure(arguments["http_response"], 201)
        if "http_response" in arguments:
            return Response(arguments["http_response"], mimetype="text/html")
        return finish(endpoint, asked, **arguments)

    @app.after_request
    def note(response):
        entry = {
            "path": request.path.strip("/"), "method": request.method, "query": request.args.to_dict(),
            "form": request.form.to_dict(), "authorization": request.headers.get("Authorization"),
            "status": response.status_code,
            "error": response.get_data(as_text=True) if response.status_code >= 400 else "",
        }
        journal.write(json.dumps(entry) + "\n")
        journal.flush()
        return response

    app.add_url_rule("/.well-known/openid-configuration", "discovery", lambda: ask("provider_config"))
    app.add_url_rule("/authorization", "authorization", lambda: ask("authorization"))
    app.add_url_rule("/pushed", "pushed", lambda: ask("pushed_authorization"), methods=["POST"])
    app.add_url_rule("/token", "token", lambda: ask("token"), methods=["POST"])
    app.add_url_rule("/userinfo", "userinfo", lambda: ask("userinfo"))
    app.add_url_rule("/end", "end", lambda: ask("session"))
    app.add_url_rule(f"/{JWKS}", "keys", lambda: server.keyjar.export_jwks())

    @app.post("/verify")
    def verify():
        method = server.context.authn_broker.get_method_by_id("user")
        authorization = server.get_endpoint("authorization")
        sealed = method.unpack_token(request.form["token"])
        asked = AuthorizationRequest().from_urlencoded(sealed["query"])
        if request.form.get("choice") == "no":
            result = authorization.authentication_error_response(asked, "access_denied", "the user denied")
            return redirect(result.request(asked["redirect_uri"]))
        try:
            user = method.verify(username=request.form["username"], password=request.form["password"])
        except FailedAuthentication:
            return Response("wrong password", 403)
        session = authorization.create_session(asked, user, sealed["authn_class_ref"], sealed["iat"], method)
        return finish(authorization, asked, **authorization.authz_part2(request=asked, session_id=session))

    @app.get("/confirm")
    def confirm():
        # The user is not asked a second time: the signed request decides.
        endpoint = server.get_endpoint("session")
        asked = endpoint.unpack_signed_jwt(request.args["sjwt"])
        endpoint.do_verified_logout(**asked)
        return redirect(asked["redirect_uri"])

    return app


def main(path):
    settings = json.loads(Path(path).read_text())
    folder = Path(path).parent / "idpy"
    folder.mkdir(exist_ok=True)
    logging.basicConfig(level=settings.get("level", "INFO"))
    with open(settings["journal"], "a", encoding="utf-8") as journal:
        app = make_app(make_server(settings, folder), journal)
        app.run("127.0.0.1", settings["port"], threaded=True)


if __name__ == "__main__":
    main(sys.argv[1])
