# SPDX-License-Identifier: Apache-2.0
"""Sign-ins with the password of a local account, beside the hash alone."""

import ctypes
import html
import os
import re
import time
from urllib.parse import urlencode

from client import Browser
from measure import cost_of, ratio, rounds
from processes import Trouble, run
from report import Row, milliseconds
from servers import ENVIRONMENT

NAME, PASSWORD = "bench@example.com", b"a password of the benchmark"
#: Of the CPU that the hash alone takes, with memory that is fresh for each, as in a program that gives it back between sign-ins.
MOST = 1.2
#: `M_MMAP_THRESHOLD` of mallopt(3), and the size from which memory is fresh.
THRESHOLD, FRESH = -3, 1 << 17
#: The cost of the gateway's hashes (docs/accounts.md): passes, KiB, lanes; and the lengths of salt and hash.
PASSES, MEMORY, LANES, SALT, HASH = 2, 19456, 1, b"0123456789abcdef", 32


def argon2():
    """Debian's libargon2, as the gateway uses it; to be called before the first hash."""
    ctypes.CDLL(None).mallopt(THRESHOLD, FRESH)
    try:
        library = ctypes.CDLL("libargon2.so.1")
    except OSError as error:
        raise Trouble(f"libargon2-1 is missing: {error}") from error
    cost, text, size = ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t
    library.argon2id_hash_encoded.argtypes = [cost, cost, cost, text, size, text, size, size, text, size]
    return library


def encoded(library):
    """The hash of the password as a PHC string."""
    text = ctypes.create_string_buffer(128)
    code = library.argon2id_hash_encoded(
        PASSES, MEMORY, LANES, PASSWORD, len(PASSWORD), SALT, len(SALT), HASH, text, len(text)
    )
    if code:
        raise Trouble(f"libargon2 fails with {code}")
    return text.value.decode()


def hashes(library, count):
    """CPU seconds for each hash in this process, and hashes in each second."""
    began, before = time.monotonic(), time.process_time()
    for _ in range(count):
        encoded(library)
    return (time.process_time() - before) / count, count / (time.monotonic() - began)


def add_account(gateway, library):
    """Adds the account by a command, as an operator does."""
    file = gateway.folder / "accounts.csv"
    file.write_text(f"email,password\n{NAME},\"{encoded(library)}\"\n")
    command = [gateway.program, "users", "import", file, "--config", gateway.folder / "providers.yaml"]
    code, output = run(command, 30, env={**os.environ, **ENVIRONMENT})
    if code:
        raise Trouble(f"`gatehouse users import` fails: {output}")


def sign_ins(port, count):
    """The user signs in with the password, each time in another browser."""
    origin = f"http://127.0.0.1:{port}"
    for _ in range(count):
        with Browser(port) as browser:
            form = browser.send("GET", f"{origin}/oauth2/start/staff?rd=/page").body.decode()
            state = html.unescape(re.search(r'name="state" value="([^"]+)"', form).group(1))
            body = urlencode({"state": state, "username": NAME, "password": PASSWORD.decode()}).encode()
            fields = {
                "Origin": origin, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"
            }
            response = browser.send("POST", f"{origin}/oauth2/password/staff", body, fields)
            if response.status != 303:
                raise Trouble(f"the sign-in with a password ended with {response.status}: {response.body[:300]}")
    return count


def beside_hash(environment):
    """a sign-in with the password of a local account beside Argon2id alone"""
    library, count = argon2(), max(20, environment.options.sign_ins // 10)
    with environment.gateway(local=True) as gateway:
        add_account(gateway, library)
        sign_ins(gateway.port, 10)
        found = rounds({
            "ours": lambda: cost_of(gateway.pid, lambda: sign_ins(gateway.port, count)),
            "hash": lambda: hashes(library, count),
        }, environment.options.rounds)
    ours, alone = found["ours"], found["hash"]
    yield Row(
        "passwords", "CPU for each sign-in with a password, form and session included", milliseconds(ours.cost),
        f"Argon2id alone {milliseconds(alone.cost)}", ratio(ours.costs, alone.costs), "of Argon2id", most=MOST
    )
