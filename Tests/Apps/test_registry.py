# SPDX-License-Identifier: Apache-2.0
"""The Docker registry, with skopeo, which sends no cookies, and the `oras` library with a session."""

import gzip
import hashlib
import io
import json
import random
import shutil
import tarfile

import oras.client
import pytest

from harness.apps import registry, run


@pytest.fixture(scope="module")
def app(started):
    return started(registry)


def image(folder):
    """An OCI image of two layers, one of them of 20 MB that do not compress."""
    (folder / "blobs" / "sha256").mkdir(parents=True)

    def add(data):
        digest = hashlib.sha256(data).hexdigest()
        (folder / "blobs" / "sha256" / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    layers, plain = [], []
    for size in (1000, 20_000_000):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            entry = tarfile.TarInfo(f"file-{size}")
            entry.size = size
            tar.addfile(entry, io.BytesIO(random.Random(size).randbytes(size)))
        plain.append("sha256:" + hashlib.sha256(archive.getvalue()).hexdigest())
        layer = add(gzip.compress(archive.getvalue(), 1, mtime=0))
        layers.append({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **layer})
    config = add(
        json.dumps({
            "architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": plain}
        }).encode()
    )
    manifest = add(
        json.dumps({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config},
            "layers": layers,
        }).encode()
    )
    index = {
        "schemaVersion":
        2,
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            **manifest,
            "annotations": {"org.opencontainers.image.ref.name": "one"},
        }],
    }
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    return manifest["digest"]


def copies(app, folder):
    """A push, an inspection, a pull and a second push, of which all blobs are there."""
    def client(url, fields):
        place = folder / ("through" if fields else "direct")
        digest = image(place / "image")
        shutil.rmtree(app.folder / "store", ignore_errors=True)
        remote = "docker://" + url.partition("://")[2] + "/team/deep/app"
        skopeo = lambda *command: run("skopeo", "--insecure-policy", "--tmpdir", place, *command).stdout.decode()
        verify = [] if url.startswith("https") else ["--tls-verify=false"]
        to = [] if url.startswith("https") else ["--dest-tls-verify=false"]
        source = [] if url.startswith("https") else ["--src-tls-verify=false"]
        skopeo("copy", *to, f"oci:{place}/image:one", f"{remote}:one")
        skopeo("copy", *to, f"oci:{place}/image:one", f"{remote}:two")
        pulled = skopeo("copy", *source, f"{remote}:one",
                        f"oci:{place}/pulled:one") and (place / "pulled" / "index.json")
        tags = json.loads(skopeo("list-tags", *verify, remote))["Tags"]
        inspected = json.loads(skopeo("inspect", *verify, f"{remote}@{digest}"))
        return {
            "tags": sorted(tags),
            "digest": inspected["Digest"],
            "layers": inspected["Layers"],
            "pulled": json.loads(pulled.read_text())["manifests"][0]["digest"],
        }

    return client


@pytest.fixture(scope="module", params=[False, True], ids=["http1", "http2"])
def public(request, fronts, app):
    return fronts("registry-public", app.port, {"public": ["/"]}, http2=request.param)


def test_skopeo_pushes_and_pulls(public, app, tmp_path):
    """Uploads of 20 MB by chunked PATCH, `Location` of uploads, HEAD of blobs, digests."""
    public.both(copies(app, tmp_path))


def artifacts(app, folder):
    """An artifact that is pushed and pulled with a session cookie."""
    def client(url, fields):
        place = folder / ("through" if fields else "direct")
        place.mkdir()
        shutil.rmtree(app.folder / "store", ignore_errors=True)
        (place / "artifact.bin").write_bytes(random.Random(3).randbytes(3_000_000))
        authority = url.partition("://")[2]
        oras_client = oras.client.OrasClient(hostname=authority, insecure=not url.startswith("https"))
        oras_client.session.headers.update(fields)
        target = f"{authority}/files/artifact:v1"
        pushed = oras_client.push(target, files=[str(place / "artifact.bin")], disable_path_validation=True)
        pulled = oras_client.pull(target, outdir=str(place / "out"))
        digest = hashlib.sha256(open(pulled[0], "rb").read()).hexdigest()
        return {
            "pushed": pushed.status_code, "digest": digest, "tags": oras_client.get_tags(f"{authority}/files/artifact")
        }

    return client


def test_oras_pushes_and_pulls_with_a_session(front, app, tmp_path):
    """An upload in one PUT to the `Location` that the registry gave."""
    front.both(artifacts(app, tmp_path))
