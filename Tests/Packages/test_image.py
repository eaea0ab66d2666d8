# SPDX-License-Identifier: Apache-2.0
"""The container image: read by other programs, and run with a read-only root as another user."""

import hashlib
import json
import subprocess
import tarfile
import time
from pathlib import Path

import image
import pytest
from support.processes import Process, eventually
from support.raw import request

#: Seconds from the start of the container to the first response of an app.
MAX_START = 0.3
SHELLS_AND_TOOLS = {"sh", "bash", "dash", "busybox", "env", "perl", "python3", "apt", "dpkg", "ldconfig", "curl", "openssl"}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def output(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="session")
def unpacked(built_image, tmp_path_factory):
    """The bundle that umoci makes of the image: its root and the configuration of the container."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(built_image) as archive:
        archive.extractall(folder / "layout", filter="tar")
    tag = json.loads((folder / "layout/index.json").read_text())["manifests"][0]["annotations"]
    name = f"{folder / 'layout'}:{tag['org.opencontainers.image.ref.name']}"
    subprocess.run(["umoci", "unpack", "--image", name, folder / "bundle"], check=True, capture_output=True)
    return folder / "bundle"


def test_the_same_program_makes_the_same_image(release, built_image, tmp_path):
    assert digest(image.build(release, tmp_path)[0]) == digest(built_image)


def test_other_programs_read_it(release, built_image):
    """Its version, its commit, and a user whom Kubernetes can see not to be root."""
    shown = json.loads(output("skopeo", "inspect", "--config", f"oci-archive:{built_image}"))
    labels = shown["config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == release.version
    assert labels["org.opencontainers.image.revision"] == release.report["commit"]
    assert shown["config"]["User"] == "65532:65532" and shown["architecture"] == release.architecture


def test_it_contains_the_program_its_libraries_and_nothing_to_work_with(unpacked):
    root = unpacked / "rootfs"
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    names = {path.name for path in files}
    assert not names & SHELLS_AND_TOOLS
    programs = {str(path.relative_to(root)) for path in files if path.stat().st_mode & 0o111 and ".so" not in path.name}
    assert programs == {"usr/bin/gatehouse"}
    assert not [path for path in root.rglob("*") if path.lstat().st_mode & 0o6000], "nothing changes the user"
    writable = [path for path in root.rglob("*") if not path.is_symlink() and path.stat().st_uid == image.USER]
    assert writable == [root / "var/lib/gatehouse"]


def test_scanners_find_the_packages_in_it(unpacked):
    """Each library is of a package whose version the image names."""
    folder = unpacked / "rootfs/var/lib/dpkg/status.d"
    packages = {path.name: path.read_text() for path in folder.iterdir()}
    assert {"libc6", "libcurl4", "libssl3", "libsqlite3-0", "ca-certificates"} <= set(packages)
    for name, text in packages.items():
        version = output("dpkg-query", "--show", "--showformat=${Version}", name)
        assert f"Package: {name}\n" in text and f"Version: {version}\n" in text
        assert (unpacked / f"rootfs/usr/share/doc/{name}/copyright").exists(), "its licence comes with it"


# crun accepts the unified hierarchy of control groups only, and some machines have both kinds.
UNIFIED = ["unshare", "--mount", "sh", "-c", 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"', "sh"]


class Container:
    """A container of the image, as Kubernetes runs it: read-only root, no capability, the user of the image."""
    def __init__(self, bundle, folder, configuration):
        self.folder = folder
        folder.mkdir()
        (folder / "providers.yaml").write_text(json.dumps(configuration))
        (folder / "providers.yaml").chmod(0o644)
        settings = json.loads((bundle / "config.json").read_text())
        settings["root"] = {"path": str(bundle / "rootfs"), "readonly": True}
        process = settings["process"]
        process["terminal"], process["noNewPrivileges"], process["capabilities"] = False, True, {}
        # The network of the test, whose ports the configuration has.
        settings["linux"]["namespaces"] = [
            one for one in settings["linux"]["namespaces"] if one["type"] not in ("network", "cgroup")
        ]
        settings["mounts"] = [one for one in settings["mounts"] if one["type"] not in ("cgroup", "sysfs")] + [
            {
                "destination": "/etc/gatehouse/providers.yaml", "type": "bind", "source": str(folder / "providers.yaml"),
                "options": ["bind", "ro"],
            },
            {
                "destination": image.STATE, "type": "tmpfs", "source": "state",
                "options": ["nosuid", "nodev", f"uid={image.USER}", "mode=0700"],
            },
        ]
        (folder / "config.json").write_text(json.dumps(settings))
        self.name = f"gatehouse-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"

    @property
    def command(self):
        return [*UNIFIED, "crun", "--cgroup-manager=disabled", "run", "--bundle", self.folder, self.name]

    def start(self):
        return Process(self.command, self.folder, "container")


def first_response(container, port):
    """Seconds until a request reaches the app; stops the container."""
    begin = time.monotonic()
    process = container.start()
    try:
        def responds():
            assert process.child.poll() is None, process.log
            return request(port, "/public/first").status == 200

        eventually(responds, "the container responds", 20)
        return time.monotonic() - begin
    finally:
        assert process.stop(40) == 0, process.log


def test_it_runs_with_a_read_only_root_and_starts_fast(unpacked, configuration, ports, tmp_path):
    """Kubernetes starts it to serve at once: a client waits for less than 0.3 s. The fastest of five starts counts,
    since other programs run on the machine."""
    configuration["gateway"]["drain"] = {"delay": "0s"}
    times = [
        first_response(Container(unpacked, tmp_path / str(number), configuration), ports[0]) for number in range(5)
    ]
    print("start to first response:", " ".join(f"{one * 1000:.0f} ms" for one in times))
    assert min(times) < MAX_START, times


def test_its_process_is_not_root_and_has_a_read_only_root(unpacked, configuration, ports, tmp_path):
    """The account of the image is in force, without capabilities; only the state can be written."""
    configuration["gateway"]["drain"] = {"delay": "0s"}
    process = Container(unpacked, tmp_path / "container", configuration).start()
    try:
        eventually(lambda: request(ports[0], "/public/first").status == 200, "the container responds", 20)
        gateway = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
        status = dict(line.split(":", 1) for line in Path(f"/proc/{gateway}/status").read_text().splitlines())
        assert status["Uid"].split() == status["Gid"].split() == [str(image.USER)] * 4
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0 and status["NoNewPrivs"].strip() == "1"
        mounts = [line.split() for line in Path(f"/proc/{gateway}/mounts").read_text().splitlines()]
        writable = {place for _, place, kind, options, *_ in mounts if "rw" in options.split(",") and kind != "proc"}
        assert "/" not in writable and image.STATE in writable
        assert not [place for place in writable if not place.startswith(("/dev", "/proc", image.STATE))]
    finally:
        assert process.stop(40) == 0, process.log
