# SPDX-License-Identifier: Apache-2.0
"""RS256 by OpenSSL's library, since Python's own library cannot sign."""

import base64
import ctypes
import ctypes.util
import json
import re
import subprocess


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def library():
    """libcrypto with the few functions that are used here declared."""
    found = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    signatures = {
        "BIO_new_mem_buf": (pointer, [text, ctypes.c_int]),
        "PEM_read_bio_PrivateKey": (pointer, [pointer] * 4),
        "EVP_sha256": (pointer, []),
        "EVP_MD_CTX_new": (pointer, []),
        "EVP_MD_CTX_free": (None, [pointer]),
        "EVP_DigestSignInit": (ctypes.c_int, [pointer] * 5),
        "EVP_DigestSign": (ctypes.c_int, [pointer, text, ctypes.POINTER(size), text, size]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


class SigningKey:
    """An RSA key of 2048 bits that signs tokens."""

    def __init__(self, key_id="bench"):
        command = ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
        pem = subprocess.run(command, check=True, capture_output=True).stdout
        self.crypto = library()
        self.key = self.crypto.PEM_read_bio_PrivateKey(self.crypto.BIO_new_mem_buf(pem, len(pem)), None, None, None)
        if not self.key:
            raise RuntimeError("libcrypto does not read the key")
        show = ["openssl", "rsa", "-noout", "-modulus"]
        shown = subprocess.run(show, input=pem, check=True, capture_output=True).stdout
        modulus = bytes.fromhex(re.search(rb"Modulus=([0-9A-F]+)", shown)[1].decode())
        self.jwk = {
            "kty": "RSA", "kid": key_id, "alg": "RS256", "use": "sig", "n": base64url(modulus).decode(), "e": "AQAB"
        }
        self.head = base64url(json.dumps({"alg": "RS256", "kid": key_id, "typ": "JWT"}).encode())

    def signature(self, data):
        crypto, length = self.crypto, ctypes.c_size_t(256)
        context, output = crypto.EVP_MD_CTX_new(), ctypes.create_string_buffer(256)
        try:
            begun = crypto.EVP_DigestSignInit(context, None, crypto.EVP_sha256(), None, self.key)
            if begun != 1 or crypto.EVP_DigestSign(context, output, ctypes.byref(length), data, len(data)) != 1:
                raise RuntimeError("libcrypto does not sign")
        finally:
            crypto.EVP_MD_CTX_free(context)
        return output.raw[:length.value]

    def token(self, claims):
        """A JSON Web Token, as text."""
        signed = self.head + b"." + base64url(json.dumps(claims).encode())
        return (signed + b"." + base64url(self.signature(signed))).decode()
