# SPDX-License-Identifier: Apache-2.0
"""The session API of native apps, at `/auth`."""

import json

from .raw import request


def api(gateway, method, name, body=None, token=None, raw=None, content="application/json", fields=()):
    lines = [("Authorization", f"Bearer {token}")] if token else []
    data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    if data:
        lines.append(("Content-Type", content))
    return request(gateway.port, f"/auth/{name}", method=method, host=gateway.host, fields=[*lines, *fields], body=data)


def api_error(response):
    found = response.json["error"]
    assert set(found) == {"code", "message", "recovery", "incident"} and all(found.values())
    assert response.get("access-control-allow-origin") == "*"
    return response.status, found["code"], found["recovery"]
