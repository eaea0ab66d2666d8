# SPDX-License-Identifier: Apache-2.0
"""Clean roots of Debian: made by mmdebstrap, changed in an overlay, booted with systemd in namespaces."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from support.processes import REPOSITORY, eventually

#: systemd is there as on every server; the rest is what Debian installs at least.
INCLUDED = ["systemd-sysv"]
CACHE = REPOSITORY / ".build/packages-tests"
#: What dpkg, apt and systemd write for themselves.
BOOKKEEPING = re.compile(r"^/var/(cache|lib/(apt|dpkg|systemd)|log|tmp)/|^/etc/(ld\.so\.cache|.*-)$")

# The first process of the namespaces. Arguments: root, upper, work, merged folder, command.
ENTER = r"""
set -eu
root=$1 upper=$2 work=$3 merged=$4
shift 4
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$root,upperdir=$upper,workdir=$work" "$merged"
mount -t proc proc "$merged/proc"
mount --bind "$merged/proc/sys" "$merged/proc/sys"
mount -o remount,bind,ro "$merged/proc/sys"
mount -t sysfs -o ro sysfs "$merged/sys"
mount -t cgroup2 cgroup2 "$merged/sys/fs/cgroup"
mount -t tmpfs -o mode=755 run "$merged/run"
mount -t tmpfs -o mode=755 dev "$merged/dev"
for device in null zero full random urandom tty; do
    touch "$merged/dev/$device"
    mount --bind "/dev/$device" "$merged/dev/$device"
done
mkdir "$merged/dev/pts" "$merged/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$merged/dev/pts"
ln -s pts/ptmx "$merged/dev/ptmx"
mount -t tmpfs shm "$merged/dev/shm"
cd "$merged"
pivot_root . mnt
umount -l /mnt
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
"""


def own_sources():
    """The sources of this machine that are Debian's, of the release that it runs, as lines of sources.list."""
    fields = "$(ORIGIN)|$(CODENAME)|$(REPO_URI)|$(COMPONENT)"
    command = ["apt-get", "indextargets", "--format", fields, "Created-By: Packages"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = sorted({tuple(line.split("|")) for line in output.splitlines() if line.startswith("Debian|")})
    return [f"deb {uri} {codename} {component}" for _, codename, uri, component in rows]


def clean_root():
    """The folder of a clean root, with the lists of packages; made once for each set of sources."""
    sources = own_sources()
    key = hashlib.sha256("\n".join([*sources, *INCLUDED]).encode()).hexdigest()[:12]
    folder = CACHE / f"root-{key}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        making = folder.with_suffix(".new")
        shutil.rmtree(making, ignore_errors=True)
        suite = min((line.split()[2] for line in sources), key=len)
        command = [
            "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(INCLUDED)}",
            "--skip=cleanup/apt/lists", suite, str(making), *sources,
        ]
        subprocess.run(command, check=True, timeout=500)
        making.rename(folder)
    return folder


def cgroup2():
    """Where the unified hierarchy of control groups is mounted."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return next(Path(fields[1]) for fields in mounts if fields[2] == "cgroup2")


class DebianRoot:
    """A copy of the clean root; commands run in it, by themselves or beside its systemd."""
    def __init__(self, folder):
        self.folder, self.base = folder, clean_root()
        self.upper, self.work, self.merged = (folder / name for name in ("upper", "work", "merged"))
        for path in (self.upper, self.work, self.merged):
            path.mkdir(parents=True)
        self.group = cgroup2() / f"gatehouse-test-{os.getpid()}-{id(self)}"
        self.systemd = None

    def entering(self, *command):
        places = [self.base, self.upper, self.work, self.merged]
        kinds = ["--mount", "--pid", "--fork", "--cgroup", "--uts", "--ipc", "--kill-child"]
        return ["unshare", *kinds, "sh", "-c", ENTER, "sh", *map(str, places), *map(str, command)]

    def boot(self):
        """Starts systemd as the first process and waits until it has started everything."""
        self.group.mkdir()
        log = open(self.folder / "systemd.log", "ab")
        self.systemd = subprocess.Popen(
            self.entering("/lib/systemd/systemd", "--log-target=console", "--show-status=no"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: (self.group / "cgroup.procs").write_text(str(os.getpid())),
        )
        eventually(lambda: self.first_process(), "systemd runs", 20)
        started = ("running", "degraded")
        state = ("systemctl", "is-system-running")
        eventually(lambda: self.run(*state, check=False).stdout.strip() in started, "systemd has started", 60)
        return self

    def first_process(self):
        """The id of systemd on this machine, once it is systemd."""
        child = Path(f"/proc/{self.systemd.pid}/task/{self.systemd.pid}/children").read_text().split()
        is_systemd = child and Path(f"/proc/{child[0]}/comm").read_text().strip() == "systemd"
        return int(child[0]) if is_systemd else None

    def run(self, *command, check=True, text=None, timeout=180):
        """Runs a command: beside systemd if it runs, else as the only process."""
        command = list(map(str, command))
        if self.systemd:
            environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
            whole = ["nsenter", "--target", str(self.first_process()), "--all", *environment, *command]
        else:
            whole = self.entering(*command)
        result = subprocess.run(whole, capture_output=True, text=True, input=text or "", timeout=timeout)
        assert not check or result.returncode == 0, f"{command} ended with {result.returncode}:\n{result.stdout}{result.stderr}"
        return result

    def write(self, path, text):
        self.run("sh", "-c", f"mkdir -p $(dirname {path}) && cat > {path}", text=text)

    def copy_in(self, source, path):
        """Puts a file of this machine there; before the first command only."""
        target = self.upper / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)

    def shell(self, script, folder="/", text=None):
        """Runs a script of bash in a folder."""
        return self.run("env", f"--chdir={folder}", "bash", "-euc", script, text=text)

    def files(self):
        """The paths of all files but those that every use of dpkg, apt or systemd changes."""
        places = "/etc /usr /var /opt /home /root /srv"
        found = self.run("sh", "-c", f"find {places} -xdev").stdout.splitlines()
        return {path for path in found if not BOOKKEEPING.search(path)}

    def close(self):
        if self.systemd:
            try:
                os.kill(self.first_process(), signal.SIGRTMIN + 4)
                self.systemd.wait(20)
            except (subprocess.TimeoutExpired, OSError, TypeError):
                self.systemd.kill()
                self.systemd.wait()
            for folder in sorted(self.group.rglob("*/"), key=lambda path: -len(path.parts)):
                if folder.is_dir():
                    folder.rmdir()
            self.group.rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)
