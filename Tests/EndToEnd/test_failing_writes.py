# SPDX-License-Identifier: Apache-2.0
"""Failing writes never end the process: logs, standard output, the state folder, descriptors."""

import fcntl
import os
import re
import resource
import subprocess
import time

import pytest

from support.browser import Browser
from support.gateway import ENVIRONMENT, PROGRAM, Gateway, oidc, public_echo
from support.load import Load, descriptors
from support.processes import REPOSITORY, eventually
from support.raw import Wire, request
from support.upstream import Upstream

DROPPED = "gatehouse_log_lines_dropped_total"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (info|notice|warning|error|critical) [a-z]")


@pytest.fixture
def make(tmp_path, provider_server, realm):
    app = Upstream()
    made = []

    def start(wrapper=(), more=(), **gateway):
        apps = public_echo(app)
        one = Gateway(tmp_path, {"mock": oidc(realm.issuer)}, apps, gateway=gateway)
        made.append(one)
        return one.start(wrapper=wrapper, more=more)

    yield start
    for one in made:
        one.leave()
    app.close()


def to(target):
    """A wrapper that sends standard error somewhere else."""
    return ["bash", "-c", f'exec "$@" 2>{target}', "bash"]


def lost(gateway, reason):
    """How many lines of all streams were dropped for a reason."""
    return sum(value for name, value in gateway.metrics().items() if name.startswith(DROPPED) and f'"{reason}"' in name)


def make_lines(gateway, count):
    """Requests that each write a line to the log."""
    for _ in range(count):
        assert request(gateway.port, "/oauth2/callback/mock?code=x&state=y").status == 400


@pytest.mark.parametrize("target", ["/dev/full", " >(exec true)"], ids=["full", "closed"])
def test_y_03_a_log_that_cannot_be_written_does_not_end_the_gateway(make, target):
    """R-61: on a full disk the lines are dropped and counted, and requests, reloads and sign-ins go on."""
    gateway = make(to(target))
    make_lines(gateway, 20)
    eventually(lambda: lost(gateway, "write_failed") >= 20, "the lines are counted")
    gateway.reload()
    eventually(lambda: gateway.metric('gatehouse_reloads_total{result="ok"}') >= 2, "it reloads")
    assert Browser(gateway).sign_in("mock", "/public/x").status == 200


def test_y_03_a_log_whose_reader_stalls_delays_nothing(make, tmp_path):
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    gateway = make(to(pipe))
    make_lines(gateway, 100)
    # The file has two mistakes: what a reload prints must not wait either.
    gateway.path.write_text("gateway: {}\napps: 7\n")
    gateway.reload()
    eventually(lambda: gateway.metric('gatehouse_reloads_total{result="failed"}') >= 1, "the reload is rejected")
    assert request(gateway.port, "/public/x").status == 200
    began = time.monotonic()
    gateway.stop()
    assert time.monotonic() - began < 10
    os.close(reader)


def test_y_03_lines_of_the_log_stay_whole_when_the_disk_has_space_again(make):
    gateway = make()
    size = gateway.process.log_path.stat().st_size + 1000
    _, most = resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (size, most))
    make_lines(gateway, 20)
    eventually(lambda: lost(gateway, "write_failed") >= 10, "the lines are counted")
    assert gateway.process.log_path.stat().st_size == size, "the last line is cut"
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (most, most))
    make_lines(gateway, 3)
    eventually(lambda: "log lines dropped count=" in gateway.log, "their number is logged")
    lines = gateway.log.splitlines()
    assert sum(1 for line in lines if not LINE.match(line)) <= 1, "at most the line that was cut"
    dropped = int(re.search(r"log lines dropped count=(\d+)", gateway.log).group(1))
    assert dropped == gateway.metric(DROPPED)


def test_y_03_a_gateway_without_standard_descriptors_serves(make):
    """What is written to the log must not go to a file or a client that got the number 2."""
    gateway = make(["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash"])
    assert [os.readlink(f"/proc/{gateway.process.pid}/fd/{number}") for number in range(3)] == ["/dev/null"] * 3
    with Wire(gateway.port) as wire:
        wire.send(b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.response().status == 200
        make_lines(gateway, 3)
        wire.send(b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.response().status == 200


COMMANDS = [
    ["--help"],
    ["check", "--config", "{file}"],
    ["schema"],
    ["schema", "--reference"],
    ["profile", "--table"],
    ["demo", "--quirk", "list"],
    ["check", "--help"],
    ["policy", "--help"],
]


def shell(command, redirection, file):
    """Runs a command with its output redirected; the exit code, standard output and standard error."""
    words = " ".join([str(PROGRAM), *command]).format(file=file)
    return subprocess.run(
        ["bash", "-c", f"{words} {redirection}"],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=REPOSITORY,
        env={**os.environ, **ENVIRONMENT},
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("commands") / "providers.yaml"
    path.write_text(
        "gateway: {public_url: 'http://localhost:8080', secret: '${env:TEST_GATEWAY_SECRET}'}\n"
        "providers: {mock: {type: oidc, issuer: 'http://localhost:1', client_id: a, client_secret: '${env:TEST_CLIENT_SECRET}'}}\n"
        "apps: {a: {path: /, upstream: 'http://127.0.0.1:1', allow: [{email: a@example.com}]}}\n"
    )
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_y_03_a_command_survives_a_reader_that_closes(command, file):
    """The exit code is that of the command's own work, as `${PIPESTATUS[0]}` shows it."""
    result = shell(command, '| head -c 1 >/dev/null; exit "${PIPESTATUS[0]}"', file)
    assert (result.returncode, result.stderr) == (0, "")
    result = shell(command, '> >(exec true); exit "$?"', file)
    assert (result.returncode, result.stderr) == (0, "")
    result = shell(command, ">&-", file)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_y_03_a_command_reports_that_its_output_is_incomplete(command, file):
    result = shell(command, ">/dev/full", file)
    assert result.returncode == 1
    assert result.stderr == "gatehouse: error: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    "redirection",
    ["2>/dev/full", '2> >(exec true)', "2>&-"],
    ids=["full", "closed pipe", "closed"],
)
def test_y_03_an_invalid_file_exits_with_1_even_if_nothing_can_be_printed(redirection, tmp_path):
    path = tmp_path / "providers.yaml"
    path.write_text("".join(f"unknown{number}: 1\n" for number in range(90)))
    for command in ("check", "serve"):
        result = shell([command, "--config", str(path)], f"{redirection} >/dev/null", path)
        assert result.returncode == 1
    assert shell(["--wrong"], f"{redirection} >/dev/null", path).returncode == 2


# Under load, with the log, the state folder and the descriptors exhausted.


class FullDisk:
    """A small file system, visible to this process and the gateway."""
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True, capture_output=True)
        self.filler = folder / "filler"

    def fill(self):
        with self.filler.open("wb", buffering=0) as file:
            for size in (4096, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    continue

    def clear(self):
        self.filler.unlink(missing_ok=True)

    def close(self):
        subprocess.run(["umount", "--lazy", self.folder], check=True)


@pytest.fixture
def disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system; the size limit below is tested all the same")
    disk = FullDisk(tmp_path / "disk")
    yield disk
    disk.close()


def under_load(gateway, ada):
    """Clients that go on for the whole test: one signed in, one not."""
    cookie = "; ".join(f"{name}={value}" for name, value in ada.cookies[gateway.host].items())
    return [Load(gateway.port, clients=2), Load(gateway.port, clients=2, path="/x", fields=f"Cookie: {cookie}\r\n")]


def goes_on(loads):
    """Waits until each load got further responses, none of which failed."""
    before = [load.count for load in loads]
    eventually(lambda: all(load.count > count + 50 for load, count in zip(loads, before)), "the load goes on")
    assert [load.failed for load in loads] == [[], []]


def sign_in_status(gateway):
    return Browser(gateway).sign_in("mock", "/x").status


def test_y_03_a_full_disk_for_log_and_state_does_not_end_the_gateway(make, disk, tmp_path):
    """A tmpfs that holds the log and the state folder is filled, cleared, and made read-only under load."""
    gateway = make(to(disk.folder / "log"), state=str(disk.folder / "state"))
    ada = Browser(gateway)
    assert ada.sign_in("mock", "/x").status == 200
    loads = under_load(gateway, ada)
    goes_on(loads)
    disk.fill()
    make_lines(gateway, 50)
    eventually(lambda: lost(gateway, "write_failed") > 0, "lines are dropped")
    assert sign_in_status(gateway) == 503
    gateway.reload()
    eventually(lambda: gateway.metric("gatehouse_reloads_total") >= 2, "it reloads")
    goes_on(loads)
    disk.clear()
    eventually(lambda: sign_in_status(gateway) == 200, "sign-ins work again")
    make_lines(gateway, 1)
    eventually(lambda: "log lines dropped count=" in (disk.folder / "log").read_text(), "the log goes on")
    # Whatever is opened from here on is read-only.
    subprocess.run(["mount", "--bind", "-o", "ro", disk.folder, disk.folder], check=True)
    try:
        gateway.reload()
        eventually(lambda: gateway.metric("gatehouse_reloads_total") >= 3, "it reloads")
        assert sign_in_status(gateway) == 200, "the database is open"
        goes_on(loads)
    finally:
        subprocess.run(["umount", disk.folder], check=True)
    for load in loads:
        load.end()


def test_y_03_files_that_cannot_grow_do_not_end_the_gateway(make):
    """RLIMIT_FSIZE: what cannot be written raises SIGXFSZ, which ends a program that does not expect it."""
    gateway = make()
    ada = Browser(gateway)
    assert ada.sign_in("mock", "/x").status == 200
    loads = under_load(gateway, ada)
    goes_on(loads)
    _, most = resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (0, most))
    make_lines(gateway, 20)
    assert sign_in_status(gateway) == 503
    gateway.reload()
    eventually(lambda: gateway.metric("gatehouse_reloads_total") >= 2, "it reloads")
    goes_on(loads)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (most, most))
    eventually(lambda: sign_in_status(gateway) == 200, "sign-ins work again")
    for load in loads:
        load.end()


def test_y_03_exhausted_descriptors_do_not_end_the_gateway(make, realm):
    gateway = make()
    ada = Browser(gateway)
    assert ada.sign_in("mock", "/x").status == 200
    loads = under_load(gateway, ada)
    goes_on(loads)
    soft, most = resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE)
    with Wire(gateway.operations) as operations:
        operations.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert operations.response().status == 200
        resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (descriptors(gateway), most))
        gateway.reload()
        eventually(lambda: "reload failed" in gateway.process.log, "the file cannot be read")
        for _ in range(5):
            operations.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert operations.response().status == 200
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (soft, most))
    for load in loads:
        load.end()
    eventually(lambda: gateway.operation("/readyz").status_code == 200, "ready again", 15)
    assert sign_in_status(gateway) == 200
    # Nothing has changed in the file, but what could not be read must be read again.
    gateway.reload()
    eventually(lambda: gateway.metric('gatehouse_reloads_total{result="ok"}') >= 2, "it reloads")
