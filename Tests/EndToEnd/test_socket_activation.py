# SPDX-License-Identifier: Apache-2.0
"""Sockets that systemd opens: `serve --listen-fds`, sd_listen_fds(3), sd_notify(3)."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from support.gateway import ENVIRONMENT, PROGRAM, Gateway, oidc, public_echo
from support.load import Load
from support.processes import Process, eventually, free_port
from support.raw import Wire, request
from support.upstream import Upstream

# Hands the descriptors it has inherited over as 3, 4, … and becomes the gateway, as systemd does it.
HAND_OVER = """
import fcntl, os, sys
count = int(sys.argv[1]); given = [int(one) for one in sys.argv[2:2 + count]]
high = [fcntl.fcntl(one, fcntl.F_DUPFD, 100) for one in given]
for index, one in enumerate(high):
    os.dup2(one, 3 + index)
os.environ["LISTEN_FDS"] = str(count); os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDNAMES"] = ":".join(f"socket-{index}" for index in range(count))
os.execv(sys.argv[2 + count], sys.argv[2 + count:])
"""


def listening(port, host="127.0.0.1"):
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    sock.listen(4096)
    return sock


class Handed(Process):
    """The gateway, started with sockets of ours."""
    def __init__(self, gateway, sockets, name, env=None, more=()):
        self.name, self.log_path = name, gateway.folder / f"{name}.log"
        self._log = open(self.log_path, "ab")
        numbers = [str(sock.fileno()) for sock in sockets]
        command = [
            sys.executable, "-c", HAND_OVER, str(len(numbers)), *numbers, str(PROGRAM), "serve", "--config",
            str(gateway.path), "--listen-fds", *more,
        ]
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=[sock.fileno() for sock in sockets],
            env={**os.environ, **ENVIRONMENT, **(env or {})},
            cwd=gateway.folder,
        )


@pytest.fixture
def own_gateway(tmp_path, provider_server, realm):
    app = Upstream()
    apps = public_echo(app)
    gateway = Gateway(tmp_path, {"mock": oidc(realm.issuer)}, apps)
    gateway.app = app
    gateway.write()
    gateway.sockets = [listening(gateway.operations), listening(gateway.port)]
    yield gateway
    gateway.kill()
    for sock in gateway.sockets:
        sock.close()
    app.close()


def serve(gateway, name="gateway", **more):
    gateway.process = Handed(gateway, gateway.sockets, name, more=["--drain-delay", "0"], **more)
    gateway.wait_ready()
    return gateway.process


def test_sockets_find_their_listeners_by_address(own_gateway):
    """Inherited sockets are matched by address in any order; the operations listener's too."""
    serve(own_gateway)
    assert request(own_gateway.port, "/public/x").status == 200
    assert own_gateway.operation("/status").json()["draining"] is False
    assert own_gateway.process.stop() == 0
    own_gateway.process = None


def test_a_restart_rejects_no_client(own_gateway):
    """With the sockets held by another process, new connections wait while one gateway ends and the next begins."""
    first = serve(own_gateway, "first")
    load = Load(own_gateway.port, clients=8, each=1)
    kept = Load(own_gateway.port, clients=4)
    eventually(lambda: load.count > 50, "the load runs")
    for name in ("second", "third"):
        os.kill(first.pid, signal.SIGTERM)
        assert first.child.wait(25) == 0, first.log[-2000:]
        first = serve(own_gateway, name)
        done = load.count
        eventually(lambda: load.count > done + 50, "the load goes on", 20)
    load.end()
    kept.end()
    assert load.failed == [] and kept.failed == []
    assert load.refused == kept.refused == 0, "a connection was refused"


def test_b_18_the_next_gateway_serves_while_this_one_drains(own_gateway):
    """systemd starts the next process when the one that it watches has ended; streams that are open go on."""
    first = serve(own_gateway, "first")
    gateway = child_of(first.pid)
    go = own_gateway.app.hold("/public/stream")
    with Wire(own_gateway.port, timeout=30) as stream:
        stream.send(b"GET /public/stream HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        own_gateway.app.wait_for("/public/stream")
        os.kill(first.pid, signal.SIGTERM)
        began = time.monotonic()
        with Wire(own_gateway.port) as early:
            early.send(b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
            assert first.child.wait(5) == 0, first.log[-2000:]
            second = serve(own_gateway, "second")
            assert early.response().status == 200
        # The start of a debug build is in it.
        assert time.monotonic() - began < 5
        for _ in range(20):
            assert request(own_gateway.port, "/public/x").status == 200
            assert own_gateway.operation("/readyz").status_code == 200
        assert os.path.exists(f"/proc/{gateway}"), "the first one drains"
        go.set()
        assert stream.response().body == b"done"
    eventually(lambda: not os.path.exists(f"/proc/{gateway}"), "the first one has drained")
    assert second.child.poll() is None


def child_of(process):
    """The gateway that a service process runs."""
    return eventually(lambda: open(f"/proc/{process}/task/{process}/children").read().split(), "the gateway runs")[0]


def test_b_18_signals_reach_the_gateway_and_it_ends_with_the_process_that_systemd_watches(own_gateway):
    """SIGHUP reloads; a watched process that is killed takes its gateway along, also one that does not respond."""
    first = serve(own_gateway)
    gateway = child_of(first.pid)
    done = own_gateway.metric('gatehouse_reloads_total{result="ok"}')
    own_gateway.reload()
    eventually(lambda: own_gateway.metric('gatehouse_reloads_total{result="ok"}') > done, "it has reloaded")
    os.kill(first.pid, signal.SIGKILL)
    first.child.wait(5)
    eventually(lambda: not os.path.exists(f"/proc/{gateway}"), "the gateway has ended")
    second = serve(own_gateway, "second")
    os.kill(int(child_of(second.pid)), signal.SIGKILL)
    assert second.child.wait(5) == 128 + signal.SIGKILL, "systemd restarts it"


def test_systemds_own_tool_starts_it(own_gateway):
    """sd_listen_fds(3) as systemd speaks it."""
    tool = shutil.which("systemd-socket-activate")
    if not tool:
        pytest.skip("systemd is not installed")
    for sock in own_gateway.sockets:
        sock.close()
    names = [f"--setenv={name}" for name in ENVIRONMENT]
    command = [
        tool, *names, "-l", f"127.0.0.1:{own_gateway.port}", "-l", f"127.0.0.1:{own_gateway.operations}", PROGRAM, "serve",
        "--listen-fds", "--drain-delay", "0", "--config", own_gateway.path,
    ]
    own_gateway.process = Process(command, own_gateway.folder, "activated", ENVIRONMENT)
    # The first connection is what makes systemd start it.
    eventually(lambda: request(own_gateway.port, "/public/x").status == 200, "it responds", 20)
    assert own_gateway.process.stop() == 0
    own_gateway.process = None


def failure(gateway, sockets, env=None):
    process = Handed(gateway, sockets, "failing", env)
    code = process.child.wait(20)
    return code, process.log


def test_a_listener_without_a_socket_is_an_error(own_gateway):
    code, log = failure(own_gateway, own_gateway.sockets[:1])
    assert code == 1 and "listener.no_socket" in log and f":{own_gateway.port}" in log, log


def test_an_unused_socket_is_an_error(own_gateway):
    port = free_port()
    with listening(port) as extra:
        code, log = failure(own_gateway, [*own_gateway.sockets, extra])
    assert code == 1 and "listener.unwanted_socket" in log, log
    assert f"socket-2) at 127.0.0.1:{port}" in log, log


def test_another_address_is_not_the_same(own_gateway):
    """A socket for all addresses is not the one for loopback that the file names."""
    own_gateway.sockets[1].close()
    with eventually(lambda: listening(own_gateway.port, "0.0.0.0"), "the port is free") as other:
        code, log = failure(own_gateway, [own_gateway.sockets[0], other])
    assert code == 1 and "listener.no_socket" in log and f"0.0.0.0:{own_gateway.port}" in log, log


@pytest.mark.parametrize("env", [{}, {"LISTEN_FDS": "2", "LISTEN_PID": "1"}, {"LISTEN_FDS": "x", "LISTEN_PID": "1"}])
def test_without_sockets_the_flag_is_an_error(env, own_gateway):
    """Sockets of another process are not ours."""
    result = subprocess.run(
        [PROGRAM, "serve", "--config", own_gateway.path, "--listen-fds"],
        env={**os.environ, **ENVIRONMENT, **env},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert result.returncode == 1 and "listener.no_sockets" in result.stderr, result.stderr


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_is_notified(abstract, own_gateway, tmp_path):
    """sd_notify(3): ready, reloading with the time, ready again, stopping."""
    name = f"\0gate-{os.getpid()}-{free_port()}" if abstract else f"/tmp/gate-notify-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(15)
        serve(own_gateway, env={"NOTIFY_SOCKET": name.replace("\0", "@")})
        serving = b"READY=1\nSTATUS=serving, apps: %d" % len(own_gateway.configuration["apps"])
        assert manager.recv(200) == serving
        own_gateway.reload()
        reloading = manager.recv(200).decode()
        assert reloading.startswith("RELOADING=1\nMONOTONIC_USEC=") and reloading.split("=")[2].isdigit()
        assert manager.recv(200) == serving
        own_gateway.path.write_text("no: gateway")
        own_gateway.reload()
        assert manager.recv(200).startswith(b"RELOADING=1")
        failed = b"; the last reload failed, the old configuration stays in force"
        assert manager.recv(200) == serving + failed
        os.kill(own_gateway.process.pid, signal.SIGTERM)
        assert manager.recv(200) == b"STOPPING=1\nSTATUS=draining"
        assert own_gateway.process.child.wait(20) == 0
    if not abstract:
        os.remove(name)
