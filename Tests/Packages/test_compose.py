# SPDX-License-Identifier: Apache-2.0
"""`deploy/compose` with the image, by podman-compose, in a network of its own."""

import shlex
import shutil
import subprocess

import image
import pytest
import yaml
from support.processes import REPOSITORY

# Podman asks for more than a machine in a machine may have: this runtime takes its limits, and no control group.
RUNTIME = """#!/usr/bin/python3
import json, os, resource, sys
words = sys.argv[1:]
for option, name in {"--bundle": "/config.json", "--process": ""}.items():
    if option not in words:
        continue
    path = words[words.index(option) + 1] + name
    config = json.load(open(path))
    for limit in config.get("process", config).get("rlimits") or []:
        most = resource.getrlimit(getattr(resource, limit["type"]))[1]
        if most != resource.RLIM_INFINITY:
            limit["hard"], limit["soft"] = min(limit["hard"], most), min(limit["soft"], most)
    config.get("linux", {}).pop("resources", None)
    json.dump(config, open(path, "w"))
words = [word for word in words if word != "--systemd-cgroup"]
os.execv("/usr/bin/crun", ["crun", "--cgroup-manager=disabled", *words])
"""
PODMAN = """#!/bin/sh
exec /usr/bin/podman --root {0}/storage --runroot /run/podman --cgroup-manager cgroupfs --runtime {0}/runtime \
    --storage-driver vfs "$@"
"""
# The first process of the namespaces; the commands between are those of the page on installation.
SCRIPT = """
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run
ip link set lo up
{0}/podman load --quiet --input {1} >&2
podman_compose() {{ podman-compose --podman-path {0}/podman "$@" >&2; }}
podman_compose up --detach
name=$({0}/podman ps --format '{{{{.Names}}}}')
for attempt in $(seq 100); do
    curl --silent --fail http://127.0.0.1:9901/readyz && break
    sleep 0.1
done
curl --silent --output /dev/null --write-out '%{{http_code}}\\n' -H 'Host: wiki.example.com' http://127.0.0.1:8080/
{0}/podman exec "$name" {2} 2>/dev/null
{0}/podman inspect --format '{{{{.HostConfig.ReadonlyRootfs}}}} {{{{.Config.User}}}} {{{{len .EffectiveCaps}}}}' "$name"
ls "$({0}/podman volume inspect --format '{{{{.Mountpoint}}}}' $({0}/podman volume ls --quiet))" | tr '\\n' ' '
podman_compose down
"""


@pytest.fixture
def project(tmp_path):
    """A copy of the folder with the client secret, and Podman with folders of its own."""
    shutil.copytree(REPOSITORY / "deploy/compose", tmp_path / "gatehouse")
    secret = tmp_path / "gatehouse/secrets/google"
    secret.parent.mkdir()
    secret.write_text("a secret of the provider")
    shutil.chown(secret, image.USER, image.USER)
    secret.chmod(0o400)
    for name, text in {"runtime": RUNTIME, "podman": PODMAN.format(tmp_path)}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    yield tmp_path / "gatehouse"
    shutil.rmtree(tmp_path / "storage", ignore_errors=True)


def compose(project, script, **environment):
    namespaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return subprocess.run(
        [*namespaces, "env", *(f"{name}={value}" for name, value in environment.items()), "bash", "-euc", script],
        cwd=project, capture_output=True, text=True, timeout=110
    )


def test_the_project_starts_and_is_ready(project, built_image, release):
    """With the files as they are: read-only, without capabilities, as the user of the image, its state in the volume."""
    # Debian's podman-compose gives health checks to a shell, which the image does not have.
    kind, *check = yaml.safe_load((project / "compose.yaml").read_text())["services"]["gatehouse"]["healthcheck"]["test"]
    assert kind == "CMD"
    script = SCRIPT.format(project.parent, built_image, shlex.join(check))
    result = compose(project, script, GATEHOUSE_VERSION=release.tag)
    assert result.returncode == 0, result.stderr[-4000:]
    ready, status, health, container, state = result.stdout.splitlines()
    # 401, since a script without a session asks for a page of the app.
    assert (ready, status, health) == ("ok", "401", "ok")
    assert container == f"true {image.USER}:{image.USER} 0"
    assert {"keys", "sessions.db", "secret"} <= set(state.split())


def test_without_a_version_nothing_starts(project):
    """The message names what to set."""
    result = compose(project, f"podman-compose --podman-path {project.parent}/podman up --detach")
    assert result.returncode != 0 and "make image" in result.stdout + result.stderr
