# SPDX-License-Identifier: Apache-2.0
"""Opens and seals session cookies of `store: cookie:`, and entries of a store, as another gateway with the secret does."""

import base64
import hashlib
import json
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .gateway import SECRET

HEADER = b"\x01" + hashlib.sha256(b"gatehouse/key-id/" + SECRET.encode()).digest()[:8]
PIECE = 3900


def crypt(salt, purpose):
    purpose = purpose.encode()
    key = HKDF(SHA256(), 32, salt, b"gatehouse/v1/" + purpose).derive(bytes(8) + SECRET.encode())
    return AESGCM(key), HEADER + salt + purpose


def seal(plain, purpose):
    salt = os.urandom(32)
    cipher, associated = crypt(salt, purpose)
    return HEADER + salt + cipher.encrypt(bytes(12), plain, associated)


def cookie_purpose(host):
    return f"session/cookie/{host}"


def opened(value, host="gate.localhost"):
    """The time of the last use and the session of a cookie; None if it does not open."""
    data = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
    cipher, associated = crypt(data[9:41], cookie_purpose(host))
    try:
        plain = cipher.decrypt(bytes(12), data[41:], associated)
    except InvalidTag:
        return None
    return int.from_bytes(plain[:8], "big"), json.loads(plain[8:])


def sealed(last_seen, session, host="gate.localhost"):
    """The value of a cookie."""
    data = seal(last_seen.to_bytes(8, "big") + json.dumps(session).encode(), cookie_purpose(host))
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def pieces(value):
    return [value[start:start + PIECE] for start in range(0, len(value), PIECE)]


def field(value):
    """The `Cookie` field of a value."""
    return "; ".join(f"gatehouse{f'_{index}' if index else ''}={piece}" for index, piece in enumerate(pieces(value)))


def value(jar):
    """The value in the cookies of a browser; None without a session."""
    if "gatehouse" not in jar:
        return None
    return jar["gatehouse"] + "".join(jar[name] for name in sorted(jar) if name.startswith("gatehouse_"))
