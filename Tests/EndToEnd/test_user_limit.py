# SPDX-License-Identifier: Apache-2.0
"""`sessions.max_per_user`: one more sign-in ends the oldest of the user, at every gateway."""

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import Process, eventually, free_port
from support.raw import request
from support.upstream import Upstream


@pytest.fixture
def redis(tmp_path):
    """The URL of a Redis server."""
    port = free_port()
    process = Process(
        ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", tmp_path], tmp_path, "redis"
    )
    process.wait_listening(port)
    yield f"redis://127.0.0.1:{port}"
    process.stop()


@pytest.fixture
def start(tmp_path, realm):
    app = Upstream()
    made = []

    def make(store, **sessions):
        apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
        name = f"gateway-{len(made)}"
        settings = {"store": store, "max_per_user": 2, **sessions}
        one = Gateway(tmp_path / name, {"mock": oidc(realm.issuer)}, apps, name=name, sessions=settings)
        made.append(one)
        return one.start()

    yield make
    for one in made:
        one.leave()
    app.close()


def signed_in(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def status(gateway, browser):
    return request(
        gateway.port, "/x", host="gate.localhost", fields=[("Cookie", f"gatehouse={browser.ticket()}")]
    ).status


@pytest.mark.parametrize("store", ["memory:", "sqlite:sessions.db"])
def test_one_more_sign_in_ends_the_oldest(store, start, realm):
    gateway = start(store)
    browsers = [signed_in(gateway) for _ in range(2)]
    realm.user = {**realm.user, "sub": "eve"}
    eve = signed_in(gateway)
    realm.user = {**realm.user, "sub": "ada"}
    assert [status(gateway, one) for one in (*browsers, eve)] == [200, 200, 200]
    browsers.append(signed_in(gateway))
    assert sorted(status(gateway, one) for one in browsers) == [200, 200, 401]
    assert status(gateway, browsers[-1]) == 200 and status(gateway, eve) == 200
    lines = [line for line in gateway.log.splitlines() if "signed out" in line and "by=max_per_user" in line]
    assert len(lines) == 1 and "user=mock:ada" in lines[0] and "session=" in lines[0]


def test_a_new_sign_in_of_the_same_browser_ends_no_other(start):
    gateway = start("memory:")
    phone, laptop = signed_in(gateway), signed_in(gateway)
    for _ in range(3):
        assert laptop.sign_in("mock", "/x").status == 200
    assert status(gateway, phone) == status(gateway, laptop) == 200
    assert "by=max_per_user" not in gateway.log


def test_the_limit_holds_over_all_gateways(start, redis):
    one, two = start(redis), start(redis)
    first = signed_in(one)
    assert status(one, first) == status(two, first) == 200
    signed_in(two)
    eventually(lambda: signed_in(two) and status(one, first) == 401 and status(two, first) == 401, "the oldest has ended")
