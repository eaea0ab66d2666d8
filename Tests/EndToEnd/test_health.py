# SPDX-License-Identifier: Apache-2.0
"""Health for probes: live, ready, started; with reasons, as a command, and for systemd."""

import json
import os
import signal
import socket

import time

import pytest
import requests
import yaml

from support.gateway import Gateway, oidc, public_echo, run
from support.processes import REPOSITORY, eventually, free_port
from support.threads import stopped_thread


@pytest.mark.parametrize(
    "path,name,checks", [
        ("/livez", "alive", ["event_loops"]), ("/startupz", "started", ["started"]),
        ("/readyz", "ready", ["started", "draining", "overload"]),
    ]
)
def test_a_probe_has_its_checks_as_json_when_asked(path, name, checks, gateway):
    """By Accept or by a parameter; text otherwise, for the simplest of clients."""
    url = f"http://127.0.0.1:{gateway.operations}{path}"
    assert requests.get(url, timeout=5).text == "ok\n"
    for response in (
        requests.get(url, headers={"Accept": "application/json"}, timeout=5), requests.get(url + "?verbose", timeout=5)
    ):
        body = response.json()
        assert response.status_code == 200 and body["version"] == 1 and body[name] is True
        assert [check["name"] for check in body["checks"]] == checks
        assert all(check["ok"] is True and check["failure"] is None for check in body["checks"])


def test_status_has_a_version(gateway):
    """For programs that read it: the version of the format, and of the gateway."""
    status = gateway.operation("/status").json()
    assert status["version"] == 1 and status["gateway_version"] in run("--version").stdout
    samples = gateway.metrics()
    assert samples[f'gatehouse_config_info{{hash="{status["configuration_hash"]}"}}'] == 1
    assert abs(samples["process_start_time_seconds"] - status["started_at"]) <= 1


@pytest.mark.parametrize("probe", ["ready", "live", "startup"])
def test_the_command_reports_that_all_is_well(probe, gateway):
    result = run("health", "--config", gateway.path, "--probe", probe)
    assert (result.returncode, result.stdout) == (0, "ok\n"), result


def test_a_gateway_that_drains_is_not_ready_but_alive(tmp_path, provider_server, app):
    """The reason is in the response, and in what the command prints."""
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(app))
    gateway.start(drain_delay=20)
    os.kill(gateway.process.pid, signal.SIGTERM)
    try:
        response = eventually(
            lambda: (one := gateway.operation("/readyz?verbose")).status_code == 503 and [one], "it is not ready"
        )[0]
        failures = {check["name"]: check["failure"] for check in response.json()["checks"]}
        assert response.json()["ready"] is False and failures["draining"] == "draining"
        assert gateway.operation("/readyz").text == "draining\n"
        result = run("health", "--config", gateway.path)
        assert result.returncode == 1 and result.stderr.endswith("gatehouse: ready: draining\n"), result
        assert run("health", "--config", gateway.path, "--probe", "live").returncode == 0
        assert gateway.operation("/livez").status_code == 200
    finally:
        os.kill(gateway.process.pid, signal.SIGINT)
        gateway.process.child.wait(20)


def test_the_command_prints_the_checks_as_json(tmp_path, provider_server, app, gateway):
    """With the failure of each check, and the same exit codes."""
    result = run("health", "--config", gateway.path, "--json")
    report = json.loads(result.stdout)
    assert result.returncode == 0 and report["ready"] is True and report["version"] == 1
    assert [(check["name"], check["failure"]) for check in report["checks"]] == [
        ("started", None), ("draining", None), ("overload", None)
    ]
    draining = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(app))
    draining.start(drain_delay=20)
    os.kill(draining.process.pid, signal.SIGTERM)
    try:
        eventually(lambda: draining.operation("/readyz").status_code == 503, "it is not ready")
        result = run("health", "--config", draining.path, "--json")
        report = json.loads(result.stdout)
        assert (result.returncode, result.stderr, report["ready"]) == (1, "", False)
        assert [check["failure"] for check in report["checks"]] == [None, "draining", None]
    finally:
        os.kill(draining.process.pid, signal.SIGINT)
        draining.process.child.wait(20)


def test_without_a_gateway_the_command_fails_with_the_address(tmp_path, provider_server, app):
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(app))
    gateway.write()
    result = run("health", "--config", gateway.path)
    assert result.returncode == 1 and "operations.unreachable" in result.stderr, result
    assert f"127.0.0.1:{gateway.operations}" in result.stderr


def test_another_process_at_the_address_is_not_healthy(tmp_path, provider_server, app):
    """It may have taken the port."""
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(app))
    gateway.write()
    with socket.create_server(("127.0.0.1", gateway.operations)) as server:
        server.listen()
        result = run("health", "--config", gateway.path, "--timeout", "1")
    assert result.returncode == 1 and "operations.unreachable" in result.stderr, result


def test_systemd_hears_that_the_gateway_is_alive(tmp_path, provider_server, app):
    """sd_watchdog_enabled(3): more often than it asks for; not if another process is meant."""
    name = f"\0gate-{os.getpid()}-{free_port()}"
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(app))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(10)
        env = {"NOTIFY_SOCKET": name.replace("\0", "@"), "WATCHDOG_USEC": "200000"}
        gateway.start(env=env)
        try:
            heard = [manager.recv(200) for _ in range(5)]
            assert heard[0].startswith(b"READY=1") or heard[1].startswith(b"READY=1")
            assert heard.count(b"WATCHDOG=1") == 4
        finally:
            gateway.stop()
        while not manager.recv(200).startswith(b"STOPPING=1"):
            pass


def test_a_manager_that_does_not_read_delays_neither_reload_nor_stop(tmp_path, provider_server, app):
    """The queue of its socket is full after some notices of the watchdog; unix(7)."""
    name = f"\0gate-{os.getpid()}-{free_port()}"
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(app))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        manager.bind(name)
        gateway.start(env={"NOTIFY_SOCKET": name.replace("\0", "@"), "WATCHDOG_USEC": "2000"})
        probe.setblocking(False)

        def is_full():
            try:
                probe.sendto(b"x", name)
            except BlockingIOError:
                return True
            return False

        try:
            eventually(is_full, "the queue is full")
            gateway.reload()
            eventually(lambda: gateway.metric('gatehouse_reloads_total{result="ok"}') >= 2, "it reloads")
            began = time.monotonic()
            gateway.stop()
            assert time.monotonic() - began < 10
        finally:
            gateway.kill()


def test_r_24_a_blocked_loop_is_reported_and_systemd_hears_no_more(tmp_path, provider_server, app):
    """Liveness fails, the watchdog stays silent, and what operators read still responds; until the loop runs again."""
    name = f"\0gate-{os.getpid()}-{free_port()}"
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(app))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(10)
        gateway.start(env={"NOTIFY_SOCKET": name.replace("\0", "@"), "WATCHDOG_USEC": "200000"})
        try:
            with stopped_thread(gateway.process.pid, "loop-0"):
                began = time.monotonic()
                eventually(lambda: gateway.operation("/livez").status_code == 503, "it is not alive", 10)
                assert 4.5 < time.monotonic() - began < 8, "after five seconds without a tick"
                assert gateway.operation("/livez").text == "an event loop is stuck\n"
                result = run("health", "--config", gateway.path, "--probe", "live")
                assert result.returncode == 1 and result.stderr.endswith("gatehouse: live: an event loop is stuck\n")
                asked = time.monotonic()
                status, samples = gateway.operation("/status").json(), gateway.metrics()
                assert time.monotonic() - asked < 5
                assert status["stuck_loops"] == [0]
                assert samples['gatehouse_loop_heartbeat_age_seconds{loop="0"}'] > 5
                manager.settimeout(0)
                with pytest.raises(BlockingIOError):
                    while manager.recv(200):
                        pass
                # Ten times the interval of the notices.
                manager.settimeout(1)
                with pytest.raises(TimeoutError):
                    manager.recv(200)
                manager.settimeout(10)
            eventually(lambda: gateway.operation("/livez").status_code == 200, "it is alive again", 10)
            while manager.recv(200) != b"WATCHDOG=1":
                pass
        finally:
            gateway.stop()


#: What is wrong with a file that the running gateway ignores.
ERRORS = {
    "an unknown key": lambda text: text.replace('"upstream"', '"upstreem"'),
    "no YAML": lambda text: text[:-2] + ",\n }: {",
    "a variable that is not set": lambda text: text.replace("TEST_CLIENT_SECRET", "NOT_SET_AT_ALL"),
    "a misspelled section": lambda text: text.replace('"providers"', '"provider"'),
    "a misspelled section of the gateway itself": lambda text: text.replace('"gateway": {', '"gatewy": {'),
    "a wrong limit": lambda text: text.replace('"limits": {', '"limits": {\n"requests": "many",'),
    "a malformed address": lambda text: text.replace('"operations": "127.0.0.1:', '"operations": "127.0.0.1:9'),
}


@pytest.mark.parametrize("name", ERRORS)
def test_n_01_an_error_of_the_file_hides_no_running_gateway(name, gateway, tmp_path):
    """N-01: the file is checked by `check`; other commands only look up where the gateway is."""
    text = json.dumps(gateway.configuration, indent=1)
    file = tmp_path / "providers.yaml"
    file.write_text(ERRORS[name](text))
    assert file.read_text() != text and run("check", "--config", file).returncode == 1
    for command in (["health"], ["sessions", "list"], ["users", "list"], ["keys", "list"], ["passkeys", "list"]):
        result = run(*command, "--config", file)
        assert result.returncode == 0 or "passkeys" in result.stderr, (command, result)
    assert "reached" not in run("explain", "an-id-of-no-request", "--config", file).stdout


def test_n_01_health_needs_no_file_with_a_socket(gateway, tmp_path):
    socket_file = gateway.folder / "state" / "operations.sock"
    result = run("health", "--socket", socket_file, "--json", cwd=tmp_path)
    assert result.returncode == 0 and json.loads(result.stdout)["ready"] is True
    result = run("health", "--socket", tmp_path / "none", cwd=tmp_path)
    assert result.returncode == 1 and "operations.unreachable" in result.stderr


def test_n_01_without_a_gateway_the_message_names_the_option_and_the_missing_file(tmp_path):
    for command in (["health"], ["sessions", "list"]):
        result = run(*command, "--config", tmp_path / "nothing.yaml", cwd=tmp_path)
        assert result.returncode == 1 and "--socket" in result.stderr and "there is no file" in result.stderr, result


def test_n_01_the_health_check_of_compose_does_not_read_the_file():
    """A gateway that ignores a wrong file is healthy."""
    folder = REPOSITORY / "deploy/compose"
    service = yaml.safe_load((folder / "compose.yaml").read_text())["services"]["gatehouse"]
    state = yaml.safe_load((folder / "providers.yaml").read_text())["gateway"]["state"]
    assert service["healthcheck"]["test"] == ["CMD", "/usr/bin/gatehouse", "health", "--socket", f"{state}/operations.sock"]
