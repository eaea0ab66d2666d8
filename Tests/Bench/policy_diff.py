#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `gatehouse policy diff` for many users and apps.

    policy_diff.py                              100,000 users and 1,000 apps, with the program in .build/release
    policy_diff.py --users 1000 --apps 100      fewer
    policy_diff.py --program .build/debug/gatehouse
    policy_diff.py --store                      asks a running gateway, whose SQLite file has the users and 1,000 sessions
    policy_diff.py --check                      exits with 1 if it takes more than 10 seconds

Each app has ten rules, about its own groups, about one that most users have, and about a path; the other file has another
group in each of them, so that no app can be skipped. The users come from a saved list, as `--users` reads it, and nothing
listens; with `--store` they come from the operations API of a gateway on 127.0.0.1, which reads them from its store. That
needs the Python of `make venv`.
"""
import argparse
import base64
import hashlib
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests/EndToEnd"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from processes import Children, Trouble, free_ports  # noqa: E402

SECRET = "0123456789abcdefghijklmnopqrstuvwxyz"
ENVIRONMENT = {"BENCH_SECRET": SECRET}
LIMIT = 10.0
#: Sessions in the store beside the users.
SESSIONS = 1000


def profiles(count, apps):
    """Users with twenty groups of the apps each, and one that nine of ten have."""
    source = random.Random(1)
    for number in range(count):
        groups = {f"app-{source.randrange(apps)}-{source.randrange(4)}" for _ in range(20)}
        if number % 10:
            groups.add("staff")
        yield {
            "user": f"corp:{number:08}", "provider": "corp", "email": f"user{number}@example.com", "email_verified": True,
            "email_authoritative": True, "groups": sorted(groups), "groups_complete": True, "roles_complete": True,
            "auth_time": int(time.time()) - source.randrange(86_400),
        }


def configuration(folder, apps, operations, port, changed):
    """A file of apps with ten rules each; the changed one has another group in each app."""
    entries = {}
    for number in range(apps):
        allow = [{"group": f"app-{number}-{part}"} for part in range(4)]
        if changed:
            allow[0] = {"group": f"app-{(number + 1) % apps}-0"}
        allow += [
            {"group": "staff", "path": "/open/**"}, {"group": "staff", "method": ["HEAD"]},
            {"email": f"user{number}@example.com"}, {"user": f"corp:{number:08}"},
        ]
        deny = [{"group": f"app-{number}-9"}, {"path": "/admin/**", "not": {"group": f"app-{number}-0"}}]
        entries[f"app{number}"] = {
            "host": f"app{number}.localhost", "upstream": "http://127.0.0.1:9", "allow": allow, "deny": deny
        }
    return {
        "gateway":
            {
                "public_url": f"http://gate.localhost:{port}", "listeners": [{"address": f"127.0.0.1:{port}"}],
                "operations": f"127.0.0.1:{operations}", "state": str(folder / "state"), "secret": "${env:BENCH_SECRET}",
            },
        "providers":
            {
                "corp":
                    {
                        "type": "oidc", "issuer": "http://127.0.0.1:9", "client_id": "gatehouse", "client_secret":
                            "${env:BENCH_SECRET}", "profile": {"groups": ["id_token:/groups"]},
                    }
            },
        "sessions": {"store": f"sqlite:{folder}/sessions.db"},
        "apps": entries,
    }


def register(profile, now):
    """The entry of a user in the store, as a gateway writes it at a sign-in (`UserRegister`)."""
    from support.sealed import seal

    provider, _, subject = profile["user"].partition(":")
    kept = {name: profile[name] for name in ("email", "email_verified", "email_authoritative", "groups", "groups_complete", "auth_time")}
    entry = {
        "v": 1, "profile": {"provider": provider, "issuer": "http://127.0.0.1:9", "subject": subject, **kept}, "first": now,
        "last": now, "seen": now
    }
    key = hashlib.sha256(f"gatehouse/user/{profile['user']}".encode()).digest()
    purpose = f"user/{base64.urlsafe_b64encode(key).rstrip(b'=').decode()}"
    return "user", key, seal(json.dumps(entry).encode(), purpose), now + 400 * 86_400


def session(now):
    """A live session; without its ticket, random bytes cannot be distinguished from a real one."""
    return os.urandom(32), os.urandom(32), os.urandom(700), now, now, now + 36_000, os.urandom(96), os.urandom(200)


def fill(database, users, apps):
    """Writes users and sessions into the store of a gateway that does not run."""
    now = int(time.time())
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany("INSERT INTO entry VALUES (?, ?, ?, ?)", (register(one, now) for one in profiles(users, apps)))
        connection.executemany(
            "INSERT INTO session (key, family, sealed, created, seen, expires, labels, card) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (session(now) for _ in range(SESSIONS))
        )


def from_store(options, program, folder, port):
    """What `policy diff` takes that asks a running gateway about its users."""
    serve = [program, "serve", "--config", "providers.yaml", "--log-level", "error", "--drain-delay", "0"]
    children = Children(folder)
    try:
        # The first start makes the tables.
        for number in range(2):
            # The paths of the command are relative to the folder.
            child = children.start("gateway", ["env", "-C", folder, *serve], None, ENVIRONMENT)
            child.wait_listening(port, seconds=60)
            if number == 0:
                children.stop(child)
                fill(folder / "sessions.db", options.users, options.apps)
        return measured([program, "policy", "diff", "new.yaml", "--config", "providers.yaml", "--json"], folder)
    finally:
        children.stop_all()


def from_list(options, program, folder):
    """What `policy diff` takes for a saved list of users."""
    with open(folder / "users.jsonl", "w", encoding="utf-8") as file:
        for profile in profiles(options.users, options.apps):
            file.write(json.dumps(profile) + "\n")
    saved = [program, "policy", "diff", "new.yaml", "--with", "providers.yaml", "--users", "users.jsonl", "--json"]
    return measured(saved, folder)


def measured(command, folder):
    """Wall seconds, CPU seconds, peak memory in MiB, exit code and output of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    environment = {**os.environ, **ENVIRONMENT}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if result.returncode not in (0, 1):
        raise Trouble(f"{command} ended with {result.returncode}: {result.stderr[-2000:]}")
    return wall, cpu, after.ru_maxrss / 1024, result


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--users", type=int, default=100_000)
    arguments.add_argument("--apps", type=int, default=1000)
    arguments.add_argument("--program", default=str(REPOSITORY / ".build/release/gatehouse"))
    arguments.add_argument("--store", action="store_true", help="the users of a running gateway instead of a saved list")
    arguments.add_argument("--check", action="store_true", help="exit with 1 if it takes more than 10 seconds")
    options = arguments.parse_args()
    program = str(Path(options.program).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        port, operations = free_ports(2)
        for file, changed in (("providers.yaml", False), ("new.yaml", True)):
            text = json.dumps(configuration(folder, options.apps, operations, port, changed))
            (folder / file).write_text(text)
        checked, _, _, _ = measured([program, "check", "--config", "providers.yaml"], folder)
        if options.store:
            wall, cpu, memory, result = from_store(options, program, folder, port)
        else:
            wall, cpu, memory, result = from_list(options, program, folder)
        difference = json.loads(result.stdout)
        apps = difference["apps"]
        if difference["users"] != options.users:
            raise Trouble(f"{difference['users']} users were compared instead of {options.users}")
        where = f"in a store with {SESSIONS} sessions" if options.store else "in a list"
        print(
            f"{difference['users']} users {where}, {options.apps} apps: {wall:.2f} s, {cpu:.2f} s of CPU, {memory:.0f} MiB; of that "
            f"{2 * checked:.2f} s to read the two files"
        )
        print(f"{len(apps)} apps differ; {sum(app['losers'] for app in apps)} losses, {sum(app['gainers'] for app in apps)} gains")
        if len(apps) < options.apps * 0.9:
            raise Trouble("too few apps differ: the users do not have the groups of the rules")
        return 1 if options.check and wall > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
