# SPDX-License-Identifier: Apache-2.0
"""Who gains and who loses access under another file: `policy diff`, and reloads that `serve --guard` refuses."""

import copy
import json
import re

import pytest

from support.browser import Browser
from support.documents import blocks
from support.gateway import Gateway, oidc, run
from support.operations import call
from support.processes import eventually
from support.redis import Redis
from support.upstream import Upstream

USERS = ("ada", "bob", "cyd", "dan")


@pytest.fixture(scope="module")
def app():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def realm(provider_server):
    with provider_server.realm("mock").fresh() as realm:
        yield realm


class GuardedGateway(Gateway):
    def place(self, text, path=None):
        """The file and the line of the entry that has a text; its brace is on the line before."""
        path = path or self.path
        lines = path.read_text().splitlines()
        return f"{path}:{next(number for number, line in enumerate(lines) if text in line)}"

    def edited(self, name, change):
        """Another file beside the one in force, with a change."""
        configuration = copy.deepcopy(self.configuration)
        change(configuration["apps"])
        path = self.folder / name
        path.write_text(json.dumps(configuration, indent=1))
        return path

    def diff(self, new, *more):
        return run("policy", "diff", new, "--config", self.path, *more, cwd=self.folder)

    def policy(self, *words):
        return run("policy", *words, "--config", self.path, cwd=self.folder)

    def reloads(self, result):
        return self.metric(f'gatehouse_reloads_total{{result="{result}"}}')


def signed_in(gateway, realm, subject):
    realm.user = {**realm.user, "sub": subject, "email": f"{subject}@example.com"}
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/").status == 200
    return browser


@pytest.fixture
def start(tmp_path, app, realm):
    gateways = []

    def start(sessions=None, more=()):
        allowed = [{"user": f"mock:{name}"} for name in USERS]
        apps = {
            "wiki": {"path": "/", "upstream": app.address, "allow": allowed},
            "ledger": {"path": "/ledger", "upstream": app.address, "allow": allowed[:2]},
            "docs": {"path": "/docs", "upstream": app.address, "allow": "signed_in"},
        }
        gateway = GuardedGateway(tmp_path / "gateway", {"mock": oidc(realm.issuer)}, apps, sessions=sessions)
        gateways.append(gateway)
        return gateway.start(more=more)

    yield start
    for gateway in gateways:
        gateway.leave()


@pytest.fixture(params=["sqlite", "redis"])
def sessions(request, tmp_path):
    if request.param == "sqlite":
        yield None
        return
    redis = Redis(tmp_path / "redis").start()
    yield {"store": f"redis://127.0.0.1:{redis.port}"}
    redis.end()


def changes(text):
    """The changes of each app in the JSON of a difference."""
    found = {}
    for app in json.loads(text)["apps"]:
        rows = [(row["change"], row["users"], row["request"]["method"], row["request"]["path"]) for row in app["changes"]]
        found[app["app"]] = rows
    return found


def test_three_edited_files_have_the_changes_that_they_describe_for_real_users(start, realm, sessions):
    gateway = start(sessions)
    for name in USERS[:3]:
        signed_in(gateway, realm, name)
    same = gateway.diff(gateway.edited("same.yaml", lambda apps: None))
    assert same.returncode == 0 and "3 users compared, 0 gain or lose access; apps: 0 differ, 3 do not" in same.stdout, same

    fewer = gateway.edited("fewer.yaml", lambda apps: apps["wiki"]["allow"].pop(1))
    result = gateway.diff(fewer)
    assert result.returncode == 1 and not result.stderr, result
    text = result.stdout
    assert "wiki: 1 of 3 users lose access, 0 gain it" in text and "lose: mock:bob" in text
    assert f"allowed by {gateway.place('mock:bob')}" in text
    assert f"denied (no entry of 'allow' matches, {gateway.place('mock:ada', fewer)})" in text
    assert "ledger" not in text and "3 users compared, 1 gain or lose access; apps: 1 differ, 2 do not" in text
    print(text)

    def close_admin(apps):
        apps["wiki"]["deny"] = [{"path": "/admin/**", "not": {"user": "mock:ada"}}]
        apps["ledger"]["allow"].append({"user": "mock:cyd", "method": ["GET"]})

    admin = gateway.edited("admin.yaml", close_admin)
    text = gateway.diff(admin).stdout
    assert "wiki: 2 of 3 users lose access, 0 gain it" in text and "ledger: 0 of 2 users lose access, 1 gain it" in text
    print(text)
    result = gateway.diff(admin, "--json")
    # Bob and Cyd were admitted by entries of their own.
    lost = [("lose", 1, "GET", "/admin/x")] * 2
    assert changes(result.stdout) == {"wiki": lost, "ledger": [("gain", 1, "GET", "/ledger")]}

    def replace(apps):
        apps["notes"] = {**apps.pop("docs"), "path": "/notes"}

    notes = gateway.edited("notes.yaml", replace)
    print(gateway.diff(notes).stdout)
    result = gateway.diff(notes, "--json", "--export", gateway.folder / "users.jsonl")
    assert changes(result.stdout) == {"docs": [("lose", 3, "GET", "/docs")], "notes": [("gain", 3, "GET", "/notes")]}
    users = (gateway.folder / "users.jsonl").read_text()
    assert len(users.splitlines()) == 3 and "name" not in users and "token" not in users
    # The saved users give the same without a gateway, as in CI.
    command = ["policy", "diff", "notes.yaml", "--with", gateway.path, "--users", "users.jsonl", "--json"]
    alone = run(*command, cwd=gateway.folder)
    assert alone.returncode == 1 and json.loads(alone.stdout) == json.loads(result.stdout), alone
    assert run(*command, "--guard", "100%", cwd=gateway.folder).returncode == 0
    assert run(*command, "--guard", "50%", cwd=gateway.folder).returncode == 1


# What docs/policy.md shows


def shown_on_the_page(command):
    """The lines that the page shows of a command."""
    block, = [block for block in blocks("docs/policy.md", "text") if block.startswith(f"$ gatehouse policy {command}")]
    return block.splitlines()[1:]


def test_the_page_shows_what_diff_prints(tmp_path):
    """Twelve users and one who is excepted; the file of the page against the same without the entry about `/admin/**`."""
    new, *_ = blocks("docs/policy.md", "yaml")
    old, count = re.subn(r"^    deny:\n      - path: /admin.*\n.*\n", "", new, flags=re.M)
    assert count == 1
    (tmp_path / "new.yaml").write_text(new)
    (tmp_path / "providers.yaml").write_text(old)
    users = [
        {
            "user": f"google:{number}", "email": f"u{number}@example.com", "email_verified": True, "email_authoritative": True,
            "groups_complete": True
        } for number in (*range(1047, 1059), 104729384756102938475)
    ]
    (tmp_path / "users.jsonl").write_text("\n".join(map(json.dumps, users)))
    secrets = {name: "a secret of at least 32 bytes in all" for name in re.findall(r"\$\{env:(\w+)\}", new)}
    command = ["policy", "diff", "new.yaml", "--with", "providers.yaml", "--users", "users.jsonl"]
    result = run(*command, cwd=tmp_path, env=secrets)
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.splitlines() == shown_on_the_page("diff")


def test_the_page_shows_what_confirm_prints(start, realm):
    """Its times, numbers, places and names of content aside."""
    gateway = start(more=("--guard", "5%"))
    for name in USERS[:2]:
        signed_in(gateway, realm, name)
    gateway.configuration["apps"]["wiki"]["deny"] = [{"path": "/admin/**", "not": {"user": "mock:ada"}}]
    gateway.write()
    eventually(lambda: gateway.reloads("refused") == 1, "it is refused")
    printed = gateway.policy("confirm").stdout.splitlines()

    def form(line):
        for pattern, name in (
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"), (r"\d+ of \d+", "N of M"), (r"\S*\.yaml:\d+", "PLACE"),
            (r"(?<=--content )[0-9a-f]{12}", "CONTENT"), (r" from [\d.]+", ""),
        ):
            line = re.sub(pattern, name, line)
        return line

    shown = [form(line) for line in shown_on_the_page("confirm")]
    printed = [form(line) for line in printed]
    cut = shown.index("...")
    assert printed[:cut] == shown[:cut] and printed[cut - len(shown) + 1:] == shown[cut + 1:]
    assert len(printed) > len(shown)


def test_a_failure_is_not_reported_as_a_difference(start, tmp_path):
    """Exit codes: 2 for what cannot be compared."""
    gateway = start()
    broken = gateway.edited("broken.yaml", lambda apps: apps["wiki"].update(allow="anyone"))
    assert gateway.diff(broken).returncode == 2
    new = gateway.edited("new.yaml", lambda apps: None)
    assert gateway.diff(new, "--socket", tmp_path / "none.sock").returncode == 2
    (gateway.folder / "users.jsonl").write_text('{"user": "mock:ada"}\n{"sub":\n')
    result = gateway.diff(new, "--users", "users.jsonl")
    assert result.returncode == 2 and "users.jsonl:2" in result.stderr
    assert gateway.diff(new, "--guard", "five").returncode == 2


def test_a_reload_that_takes_too_much_is_refused_until_it_is_confirmed(start, realm):
    gateway = start(more=("--guard", "50%"))
    # Before the first sign-in, no user can lose access.
    gateway.configuration["apps"]["docs"]["deny"] = [{"user": "mock:absent"}]
    gateway.write()
    gateway.reload()
    eventually(lambda: gateway.reloads("ok") >= 2, "it is loaded")
    browsers = {name: signed_in(gateway, realm, name) for name in USERS}
    before = gateway.configuration["apps"]["wiki"]["allow"]

    # Half of the users is no more than the share.
    gateway.configuration["apps"]["ledger"]["allow"] = before[:1]
    gateway.write()
    eventually(lambda: gateway.reloads("ok") >= 3, "half of the users may lose access")
    assert browsers["bob"].send("GET", "/ledger").status == 403

    gateway.configuration["apps"]["wiki"]["allow"] = before[:1]
    gateway.write()
    eventually(lambda: gateway.reloads("refused") >= 1, "it is refused")
    assert browsers["bob"].send("GET", "/").status == 200
    assert gateway.metric("gatehouse_config_last_reload_success") == 0
    status = gateway.operation("/status").json()
    refused = status["refused_reload"]
    assert status["last_reload_failed"] and "3 of 4 users of wiki would lose access, more than 50%" in refused["detail"]
    line = next(line for line in gateway.log.splitlines() if "reload refused" in line)
    assert refused["content"] in line and gateway.place("mock:ada") in line
    assert "gatehouse policy confirm" in line

    shown = gateway.policy("confirm")
    assert shown.returncode == 0 and "wiki: 3 of 4 users lose access" in shown.stdout
    assert f"--content {refused['content']}" in shown.stdout
    assert gateway.policy("confirm", "--content", "abc").returncode == 1
    # A signal does not confirm it.
    gateway.reload()
    eventually(lambda: gateway.reloads("refused") >= 2, "it is refused again")

    # The confirmation is for these files, not for what is written afterwards.
    gateway.configuration["apps"]["wiki"]["allow"] = [{"user": "mock:absent"}]
    gateway.write()
    eventually(lambda: gateway.reloads("refused") >= 3, "other files are refused too")
    stale = gateway.policy("confirm", "--content", refused["content"])
    assert stale.returncode == 1 and "have changed since" in stale.stderr
    assert browsers["bob"].send("GET", "/").status == 200

    content = gateway.operation("/status").json()["refused_reload"]["content"]
    confirmed = gateway.policy("confirm", "--content", content)
    assert confirmed.returncode == 0 and confirmed.stdout == "loaded\n", confirmed
    assert browsers["bob"].send("GET", "/").status == 403
    status = gateway.operation("/status").json()
    assert status["refused_reload"] is None and status["last_reload"]["by"] == "confirm"
    assert gateway.policy("confirm").returncode == 1
    assert "reload confirmed" in gateway.log


def test_sessions_in_cookies_are_compared_as_far_as_this_process_has_seen_them(start, realm):
    gateway = start({"store": "cookie:"}, more=("--guard", "0%"))
    browser = signed_in(gateway, realm, "ada")
    path = gateway.folder / "state" / "operations.sock"
    status, page = call(path, "GET", "/v1/policy/users")
    assert status == 200 and [user["user"] for user in page["users"]] == ["mock:ada"]
    gateway.configuration["apps"]["wiki"]["deny"] = [{"user": "mock:ada"}]
    gateway.write()
    eventually(lambda: gateway.reloads("refused") == 1, "it is refused")
    assert browser.send("GET", "/").status == 200
    # Back to the file in force: nothing is left to confirm.
    del gateway.configuration["apps"]["wiki"]["deny"]
    gateway.write()
    eventually(lambda: gateway.operation("/status").json()["refused_reload"] is None, "it is loaded")
