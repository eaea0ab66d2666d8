#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the container image of a built program, without a network and without privileges: `make image`.

    deploy/build/image.py [--output FOLDER]

The result is an archive of an OCI image layout, as `podman load`, `docker load` and `skopeo copy oci-archive:…` read it.
It holds the program, the libraries that it loads, the certificates of authorities, and what vulnerability scanners read:
no shell, no package manager, no interpreter. The same program and the same libraries make the same bytes.
"""

import argparse
import gzip
import hashlib
import io
import json
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from release import OUTPUT, DebianPackage, Release, lines

USER = 65532
STATE = "/var/lib/gatehouse"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
ACCOUNTS = {
    "/etc/passwd": f"root:x:0:0:root:/:/usr/sbin/nologin\ngatehouse:x:{USER}:{USER}:gatehouse:{STATE}:/usr/sbin/nologin\n",
    "/etc/group": f"root:x:0:\ngatehouse:x:{USER}:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
LINKS = {"/lib": "usr/lib", "/lib64": "usr/lib64"}
#: Libraries of protocols that libcurl can speak and the gateway never does.
UNUSED_PROTOCOLS = ("libldap", "liblber", "librtmp", "libssh2", "libgssapi_krb5")


@dataclass
class Layer:
    """A layer of the image: files and folders, in an order that depends on their names only."""
    epoch: int
    entries: dict = field(default_factory=dict)

    def add(self, path, data=None, mode=0o644, owner=0, link=None):
        """A file, a link, or without both a folder; the folders above it are added as well."""
        path = path.strip("/")
        parent = path.rpartition("/")[0]
        if parent and parent not in self.entries:
            self.add(parent, mode=0o755)
        entry = tarfile.TarInfo(path)
        entry.mtime, entry.uid, entry.gid, entry.mode = self.epoch, owner, owner, mode
        if link:
            entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, link, 0o777
        elif data is None:
            entry.type = tarfile.DIRTYPE
        else:
            entry.size = len(data)
        self.entries[path] = entry, data

    @property
    def archive(self):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for path in sorted(self.entries):
                entry, data = self.entries[path]
                archive.addfile(entry, io.BytesIO(data) if data is not None else None)
        return buffer.getvalue()


def status(package):
    """What scanners read to know which version of a package is in an image without dpkg's database."""
    return (
        f"Package: {package.name}\nStatus: install ok installed\nArchitecture: {package.architecture}\n"
        f"Source: {package.source} ({package.source_version})\nVersion: {package.version}\n"
    )


def packages_of(release):
    """The packages of Debian whose files are in the image."""
    files = [path.resolve() for path in release.libraries]
    found = {package.name: package for package in map(DebianPackage.owning, files)}
    found["ca-certificates"] = DebianPackage.named("ca-certificates")
    return [found[name] for name in sorted(found)]


def system_layer(release):
    """What changes with Debian: libraries, certificates, accounts."""
    layer = Layer(release.epoch)
    for path in ("/dev", "/proc", "/sys", "/run", "/etc/gatehouse"):
        layer.add(path, mode=0o755)
    layer.add("/tmp", mode=0o1777)
    layer.add(STATE, mode=0o700, owner=USER)
    for path, target in LINKS.items():
        layer.add(path, link=target)
    for path, text in ACCOUNTS.items():
        layer.add(path, text.encode())
    layer.add(CERTIFICATES, Path(CERTIFICATES).read_bytes())
    for path in release.libraries:
        layer.add(str(path), path.resolve().read_bytes(), mode=0o755)
    for package in packages_of(release):
        layer.add(f"/var/lib/dpkg/status.d/{package.name}", status(package).encode())
        layer.add(str(package.copyright_file), package.copyright_file.read_bytes())
    return layer


def program_layer(release):
    layer = Layer(release.epoch)
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "gatehouse"
        release.strip(stripped)
        layer.add("/usr/bin/gatehouse", stripped.read_bytes(), mode=0o755)
    return layer


class Layout:
    """The blobs of an OCI image layout: image-spec, image-layout.md."""
    def __init__(self):
        self.blobs = {}

    def add(self, media_type, data, **more):
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data), **more}

    def add_json(self, media_type, value, **more):
        return self.add(media_type, json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), **more)

    def write(self, path, index, epoch):
        """Writes the layout as an archive; its entries have no other time than the image."""
        archive = Layer(epoch)
        archive.add("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        archive.add("index.json", json.dumps(index, sort_keys=True).encode())
        for name, data in self.blobs.items():
            archive.add(name, data)
        path.write_bytes(archive.archive)


def annotations(release):
    return {
        "org.opencontainers.image.title": "gatehouse",
        "org.opencontainers.image.description": "Reverse proxy that signs users in with their identity provider",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.revision": release.report["commit"],
        "org.opencontainers.image.created": created(release),
    }


def created(release):
    return lines("date", "--utc", f"--date=@{release.epoch}", "+%Y-%m-%dT%H:%M:%SZ")[0]


def configuration(release, layers):
    """The configuration of the image: what runs, as whom, and with which folders."""
    return {
        "architecture": release.architecture,
        "os": "linux",
        "created": created(release),
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/gatehouse"],
            "Cmd": ["serve"],
            "Env": ["PATH=/usr/bin", f"STATE_DIRECTORY={STATE}"],
            "WorkingDir": "/etc/gatehouse",
            "ExposedPorts": {"8080/tcp": {}, "9901/tcp": {}},
            "Volumes": {STATE: {}},
            "StopSignal": "SIGTERM",
            "Labels": annotations(release),
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(data).hexdigest()}" for data in layers]},
        "history": [
            {"created": created(release), "created_by": text}
            for text in ("libraries of Debian", f"gatehouse {release.version}")
        ],
    }


def build(release, output):
    """Writes the image and returns its path and the layers."""
    output.mkdir(parents=True, exist_ok=True)
    layers = [system_layer(release), program_layer(release)]
    archives = [layer.archive for layer in layers]
    layout, vendor = Layout(), "application/vnd.oci.image"
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{vendor}.manifest.v1+json",
        "config": layout.add_json(f"{vendor}.config.v1+json", configuration(release, archives)),
        "layers": [
            layout.add(f"{vendor}.layer.v1.tar+gzip", gzip.compress(data, compresslevel=9, mtime=0)) for data in archives
        ],
        "annotations": annotations(release),
    }
    name = {"org.opencontainers.image.ref.name": release.tag, "io.containerd.image.name": f"localhost/gatehouse:{release.tag}"}
    platform = {"architecture": release.architecture, "os": "linux"}
    entry = layout.add_json(manifest["mediaType"], manifest, annotations=name, platform=platform)
    index = {"schemaVersion": 2, "mediaType": f"{vendor}.index.v1+json", "manifests": [entry]}
    path = output / f"gatehouse-{release.tag}-{release.architecture}.oci.tar"
    layout.write(path, index, release.epoch)
    return path, layers


def size(paths):
    return sum(path.resolve().stat().st_size for path in paths)


def main():
    parser = argparse.ArgumentParser(description="Writes the container image of a built program.")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    release = Release.current()
    path, layers = build(release, parser.parse_args().output)
    unpacked = sum(len(data) for layer in layers for _, data in layer.entries.values() if data)
    unused = set(release.libraries) - release.libraries_without(UNUSED_PROTOCOLS)
    unused = {path for path in unused if not path.name.startswith("ld-")}
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB, unpacked {unpacked / 1e6:.1f} MB")
    print(f"of that {size(unused) / 1e6:.1f} MB in {len(unused)} libraries for protocols of libcurl that are never used")


if __name__ == "__main__":
    main()
