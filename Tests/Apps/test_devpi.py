# SPDX-License-Identifier: Apache-2.0
"""devpi as a Python package index, with pip and plain uploads."""

import hashlib
import io
import sys
import zipfile

import pytest
import requests

from harness.apps import devpi, run
from harness.clients import session as signed_in

#: pip sends no cookies; uploads and users of the API do.
ENTRY = {"public": ["GET /root/dev/", "HEAD /root/dev/"]}


@pytest.fixture(scope="module")
def app(started):
    return started(devpi)


def wheel(version, padding=0):
    """A wheel of a package with one module."""
    data = io.BytesIO()
    info = f"corpus_package-{version}.dist-info"
    with zipfile.ZipFile(data, "w") as archive:
        files = {
            "corpus_package.py": f"VERSION = {version!r}\n",
            "corpus_padding.txt": "x" * padding,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: corpus-package\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: corpus\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
        record = "".join(f"{name},,\n" for name in files) + f"{info}/RECORD,,\n"
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), record)
    return data.getvalue()


def packages(folder):
    """An index, two uploads as twine sends them, pip with a version, a JSON API, a missing page."""
    def client(url, fields):
        place = folder / ("through" if fields else "direct")
        place.mkdir()
        with signed_in(fields) as session:
            login = session.post(f"{url}/+login", json={"user": "root", "password": "secret"}).json()["result"]
            auth = ("root", login["password"])
            session.delete(f"{url}/root/dev", auth=auth)
            made = session.put(
                f"{url}/root/dev", json={"bases": [], "volatile": True}, headers={"Authorization": basic(auth)}
            )
            uploads = []
            for version, padding in (("1.0", 0), ("1.1+local.1", 3_000_000)):
                data = wheel(version, padding)
                form = {
                    ":action": "file_upload",
                    "name": "corpus-package",
                    "version": version,
                    "metadata_version": "2.1",
                    "filetype": "bdist_wheel",
                    "pyversion": "py3",
                    "sha256_digest": hashlib.sha256(data).hexdigest(),
                }
                files = {"content": (f"corpus_package-{version}-py3-none-any.whl", data, "application/octet-stream")}
                sent = session.post(f"{url}/root/dev/", data=form, files=files, auth=auth)
                uploads.append(sent.status_code)
            pip = lambda *command: run(
                sys.executable,
                "-m",
                "pip",
                "--disable-pip-version-check",
                "--no-input",
                "--isolated",
                *command,
                env={"PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null", "HOME": str(place)},
            )
            pip(
                "download", "--no-deps", "--no-cache-dir", "-d", place / "got", "-i", f"{url}/root/dev/+simple/",
                "corpus-package==1.0"
            )
            pip(
                "install", "--no-deps", "--no-cache-dir", "--target", place / "site", "-i", f"{url}/root/dev/+simple/",
                "corpus_package"
            )
            simple = session.get(
                f"{url}/root/dev/+simple/corpus-package/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
            )
            missing = session.get(f"{url}/root/dev/+simple/missing/")
            return {
                "made": made.status_code,
                "uploads": uploads,
                "got": sorted(path.name for path in (place / "got").iterdir()),
                "installed": (place / "site" / "corpus_package.py").read_text(),
                "missing": missing.status_code,
                "files": sorted(one["filename"] for one in simple.json()["files"]),
            }

    return client


def basic(pair):
    return requests.auth._basic_auth_str(*pair)


def test_pip_installs_what_was_uploaded(front, tmp_path):
    """Multipart uploads, `+` in paths, redirects to files, JSON by `Accept`."""
    seen = front.both(packages(tmp_path))
    assert seen["uploads"] == [200, 200] and seen["installed"] == "VERSION = '1.1+local.1'\n"
