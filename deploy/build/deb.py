#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the Debian package of a built program: `make deb`.

    deploy/build/deb.py [--revision N] [--level N] [--output FOLDER]

The program is .build/release/gatehouse, or what GATEHOUSE_PROGRAM names. The same program and the same commit make the
same bytes. DEBFULLNAME and DEBEMAIL, as Debian's tools read them, name the maintainer.
"""

import argparse
import email.utils
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import manual
from release import OUTPUT, REPOSITORY, Release, lines

DEPLOY = REPOSITORY / "deploy"
UNITS = ["gatehouse.service", "gatehouse.socket", "gatehouse-activated.service"]
SHELLS = {"bash": "gatehouse", "zsh": "_gatehouse", "fish": "gatehouse.fish"}
EXAMPLES = {"providers.yaml": "providers.yaml", "deploy/nginx/gatehouse.conf": "nginx.conf"}


def packaged_unit(text):
    """A unit as the package installs it: the program in /usr/bin, and the user that the package creates.

    Without a user whom systemd makes up at each start, files can be readable by the service alone.
    """
    text = re.sub(r" To install:\n#\n(?:#   .*\n)+", "\n", text)
    text = text.replace("/usr/local/bin/gatehouse", "/usr/bin/gatehouse").replace("DynamicUser=yes\n", "")
    return text.replace("a separate user, which systemd creates at the start", "the user gatehouse")


def maintainer():
    name = os.environ.get("DEBFULLNAME", "Gatehouse maintainers")
    return f"{name} <{os.environ.get('DEBEMAIL', 'gatehouse@packages.example.com')}>"


def changelog(release, revision):
    """Debian's changelog: one entry, since the changes are in the project's own."""
    unfinished = "-dev" in release.version
    return (
        f"gatehouse ({release.debian_version}-{revision}) {'UNRELEASED' if unfinished else 'unstable'}; urgency=medium\n\n"
        f"  * Commit {release.report['commit']}.\n"
        "  * The changes are in /usr/share/doc/gatehouse/changelog.gz.\n\n"
        f" -- {maintainer()}  {email.utils.formatdate(release.epoch)}\n"
    )


def fill(folder, release, revision):
    """Puts the program and all other files of the package into the folder that debhelper packs."""
    debian = folder / "debian"
    shutil.copytree(DEPLOY / "debian", debian)
    (debian / "providers.yaml").rename(folder / "providers.yaml")
    control = debian / "control"
    control.write_text(control.read_text().replace("@MAINTAINER@", maintainer()))
    (debian / "changelog").write_text(changelog(release, revision))
    for name in UNITS:
        prefix = "" if name.partition(".")[0] == "gatehouse" else "gatehouse."
        (debian / f"{prefix}{name}").write_text(packaged_unit((DEPLOY / name).read_text()))

    shutil.copy(release.program, folder / "gatehouse")
    (folder / "gatehouse").chmod(0o755)
    for name, page in manual.PAGES.items():
        (folder / name).write_text("\n".join(page(release)) + "\n")
    (folder / "completions").mkdir()
    for shell, name in SHELLS.items():
        script = lines(release.program, "--generate-completion-script", shell)
        # It is read by a shell, not run.
        code = script[1:] if script[0].startswith("#!") else script
        (folder / "completions" / name).write_text("\n".join(code).lstrip("\n") + "\n")

    shutil.copy(REPOSITORY / "CHANGELOG.md", folder)
    shutil.copytree(REPOSITORY / "docs", folder / "docs", ignore=shutil.ignore_patterns("pictures"))
    shutil.copy(REPOSITORY / "SECURITY.md", folder / "docs")
    (folder / "examples").mkdir()
    for source, name in EXAMPLES.items():
        shutil.copy(REPOSITORY / source, folder / "examples" / name)
    shutil.copytree(DEPLOY / "forward-auth", folder / "examples/forward-auth")
    for path in folder.rglob("*"):
        os.utime(path, (release.epoch, release.epoch))


def build(release, revision, level, output):
    """Writes the package and returns its path."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gatehouse-deb-") as parent:
        folder = Path(parent) / "gatehouse"
        fill(folder, release, revision)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch), "LC_ALL": "C.UTF-8", "LEVEL": level}
        command = ["dpkg-buildpackage", "--build=binary", "--unsigned-changes", "--unsigned-buildinfo"]
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed with {result.returncode}:\n{result.stdout}{result.stderr}")
        package = next(Path(parent).glob("*.deb"))
        return Path(shutil.copy(package, output))


def main():
    parser = argparse.ArgumentParser(description="Writes the Debian package of a built program.")
    parser.add_argument("--revision", default="1", help="the revision of the package of one version")
    parser.add_argument("--level", default="6", help="how much to compress: 0 is fast, 9 is small")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    path = build(Release.current(), arguments.revision, arguments.level, arguments.output)
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
