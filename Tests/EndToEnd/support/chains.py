# SPDX-License-Identifier: Apache-2.0
"""A factory of keys, certificates and chains, right ones and odd ones."""

import base64
import hashlib
import ipaddress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

SERVER_AUTH, CLIENT_AUTH = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH

# When a certificate begins and ends, in days from now.
VALID, EXPIRED, NOT_YET, LONG = (-1, 90), (-60, -1), (1, 90), (-30, 3650)

USAGES = [
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
]


def new_key(kind="ec"):
    """A new key: `ec` is ECDSA on P-256, `rsa` has 2048 bits."""
    assert kind in ("ec", "rsa"), kind
    return ec.generate_private_key(ec.SECP256R1()) if kind == "ec" else rsa.generate_private_key(65537, 2048)


def sha256_text(data):
    """The SHA-256 of bytes in base64, as pins are written."""
    return base64.b64encode(hashlib.sha256(data).digest()).decode()


def key_pin(public_key):
    """The pin of a public key: over its SubjectPublicKeyInfo."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return sha256_text(public_key.public_bytes(serialization.Encoding.DER, form))


def general_name(text):
    """The DER of one alternative name: an IP address, a URI, an email address or a host name."""
    try:
        tag, value = 0x87, ipaddress.ip_address(text).packed
    except ValueError:
        tag = 0x86 if "://" in text else 0x81 if "@" in text else 0x82
        value = text.encode("ascii")
    return element(tag, value)


def element(tag, value):
    """One element of DER."""
    size, length = len(value), b""
    if size >= 0x80:
        length = size.to_bytes((size.bit_length() + 7) // 8, "big")
        size = 0x80 + len(length)
    return bytes([tag, size]) + length + value


def subject(name):
    """A subject of a common name and of nothing else."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def builder(name, public_key, valid):
    """What all certificates have in common."""
    begins, ends = (datetime.now(timezone.utc) + timedelta(days=days) for days in valid)
    return (
        x509.CertificateBuilder().subject_name(subject(name)).public_key(public_key).serial_number(
            x509.random_serial_number()
        ).not_valid_before(begins).not_valid_after(ends).add_extension(
            x509.SubjectKeyIdentifier.from_public_key(public_key), False
        )
    )


def write(path, data, mode=0o644):
    """Replaces a file atomically; returns its path."""
    temporary = Path(f"{path}.new")
    temporary.touch(mode)
    temporary.write_text(data)
    temporary.replace(path)
    return str(path)


def bundle(folder, name, *certificates):
    """Writes certificates to one PEM file and gives its path."""
    return write(Path(folder) / f"{name}.pem", "".join(certificate.pem for certificate in certificates))


def revocation_list(authority, *revoked, valid=(-1, 30), signer=None, delta=False):
    """A revocation list of an authority in PEM; `signer` is another key that signs it, `delta` has only what has changed."""
    begins, ends = (datetime.now(timezone.utc) + timedelta(days=days) for days in valid)
    built = x509.CertificateRevocationListBuilder().issuer_name(authority.certificate.subject)
    built = built.last_update(begins).next_update(ends)
    for one in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(one.certificate.serial_number)
        built = built.add_revoked_certificate(entry.revocation_date(begins).build())
    if delta:
        built = built.add_extension(x509.DeltaCRLIndicator(1), critical=True)
    made = built.sign(signer or authority.key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


class Certificate:
    """One certificate; `issuer` is the authority that signed it, None for a root."""
    def __init__(self, certificate, issuer=None):
        self.certificate, self.issuer = certificate, issuer

    @property
    def pem(self):
        """Itself as text."""
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def der(self):
        """Itself as bytes."""
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def pin(self):
        """The pin of its public key."""
        return key_pin(self.certificate.public_key())

    @property
    def certificate_pin(self):
        """The pin of the whole certificate."""
        return sha256_text(self.der)

    @property
    def chain(self):
        """The intermediates from its issuer up, without the root: what a correct server sends after it."""
        found, above = [], self.issuer
        while above and above.issuer:
            found.append(above)
            above = above.issuer
        return found


class Authority(Certificate):
    """A root, or an intermediate when it has a parent; `is_ca` False makes one that may sign nothing."""
    def __init__(self, name, key="ec", parent=None, valid=LONG, is_ca=True):
        self.name, self.key = name, new_key(key) if isinstance(key, str) else key
        signer = parent or self
        super().__init__(signer._signed_authority(name, self.key.public_key(), valid, is_ca), parent)

    def _signed_authority(self, name, public_key, valid, is_ca=True):
        built = builder(name, public_key, valid).add_extension(x509.BasicConstraints(is_ca, None), True)
        usage = dict.fromkeys(USAGES, False) | {"digital_signature": True, "key_cert_sign": is_ca, "crl_sign": is_ca}
        return self._sign(built.add_extension(x509.KeyUsage(**usage), True))

    def _sign(self, built):
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return built.issuer_name(subject(self.name)).add_extension(identifier, False).sign(self.key, hashes.SHA256())

    def cross_sign(self, other, valid=LONG):
        """A certificate of the other authority's name and key that this one has signed."""
        return Certificate(self._signed_authority(other.name, other.key.public_key(), valid), self)

    def issue(self, *names, key="ec", common_name="a server", valid=VALID, usages=(SERVER_AUTH, )):
        """A leaf for these alternative names; without any it has none, without `usages` no extended key usage."""
        return Leaf(self, names, new_key(key) if isinstance(key, str) else key, common_name, valid, usages)

    def file(self, folder):
        """Writes its certificate for use as a `ca_file` and gives the path."""
        return bundle(folder, self.name.replace(" ", "-"), self)


class Leaf(Certificate):
    """A certificate of a server with its key."""
    def __init__(self, issuer, names, key, common_name, valid, usages):
        self.key, self._rest = key, (names, common_name, valid, usages)
        built = builder(common_name, key.public_key(), valid)
        built = built.add_extension(x509.BasicConstraints(False, None), True)
        if names:
            names = element(0x30, b"".join(general_name(name) for name in names))
            extension = x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, names)
            built = built.add_extension(extension, False)
        if usages:
            built = built.add_extension(x509.ExtendedKeyUsage(usages), False)
        super().__init__(issuer._sign(built), issuer)

    @property
    def key_pem(self):
        """Its private key."""
        form, nothing = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return self.key.private_bytes(serialization.Encoding.PEM, form, nothing).decode()

    def chain_pem(self, *certificates):
        """Itself and after it exactly these, in this order, whether they belong to it or not."""
        return "".join(certificate.pem for certificate in (self, *certificates))

    def renew(self, same_key=True, issuer=None, valid=None):
        """The next certificate for the same names, with the same key or a new one of its kind."""
        names, common_name, old_valid, usages = self._rest
        kind = "rsa" if isinstance(self.key, rsa.RSAPrivateKey) else "ec"
        key = self.key if same_key else new_key(kind)
        return Leaf(issuer or self.issuer, names, key, common_name, valid or old_valid, usages)

    def files(self, folder, name="server", chain=None):
        """Writes itself with `chain` (by default its own) and its key; returns both paths."""
        folder = Path(folder)
        certificates = self.chain if chain is None else chain
        return (
            write(folder / f"{name}.pem", self.chain_pem(*certificates)),
            write(folder / f"{name}.key", self.key_pem, 0o600),
        )
