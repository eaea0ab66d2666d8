# SPDX-License-Identifier: Apache-2.0
"""Canaille with its database in memory: `canaille_server.py SETTINGS` serves its users and clients on loopback."""

import asyncio
import json
import secrets
import sys
from datetime import datetime, timezone
from pathlib import Path

import canaille
from asgiref.wsgi import WsgiToAsgi
from hypercorn.asyncio import serve
from hypercorn.config import Config
from joserfc.jwk import RSAKey

GRANTS = {"response_types": ["code"], "grant_types": ["authorization_code"]}


def fill(settings):
    """Users whose password is their name, one group, and the clients."""
    from canaille.app import models
    from canaille.backends import Backend

    store = Backend.instance
    users = []
    for name, account in settings["users"].items():
        given, _, family = account["name"].partition(" ")
        user = models.User(
            user_name=name, display_name=name, formatted_name=account["name"], given_name=given, family_name=family,
            emails=[account["email"]], password=name, profile_url=f"https://staff.example.com/{name}"
        )
        store.save(user)
        users.append(user)
    store.save(models.Group(display_name="platform", members=users[:1]))
    for name, client in settings["clients"].items():
        made = models.Client(
            client_id=name, client_name=name, client_uri="https://wiki.example.com", **GRANTS,
            client_id_issued_at=datetime.now(timezone.utc), scope=["openid", "email", "profile", "groups"], **client
        )
        store.save(made)
        made.audience = [made]
        store.save(made)


def main():
    settings = json.loads(Path(sys.argv[1]).read_text())
    key = RSAKey.generate_key(2048, auto_kid=True).as_dict(private=True)
    app = canaille.create_app(
        {
            "SECRET_KEY": secrets.token_hex(32), "SERVER_NAME": f"127.0.0.1:{settings['port']}",
            "PREFERRED_URL_SCHEME": "http", "CANAILLE": {"DATABASE": "memory", "JAVASCRIPT": False},
            "CANAILLE_OIDC": {"ACTIVE_JWKS": [key]},
        }
    )
    with app.app_context():
        fill(settings)
    config = Config()
    config.bind = [f"127.0.0.1:{settings['port']}"]
    asyncio.run(serve(WsgiToAsgi(app), config))


main()
