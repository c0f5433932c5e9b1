"""Signs what it reads with psi.py. How drivers talk is said in tests/examples/languages.py."""

import sys

import psi

secret, *fields = sys.stdin.buffer.read().decode().split("\0")[:-1]
for method, target, timestamp, key, body in zip(*[iter(fields)] * 5, strict=True):
    try:
        canonical = psi.canonical_request(method, target, timestamp, key, body.encode())
    except UnicodeError:
        signed = "refused\0\0"
    else:
        signed = f"{canonical}\0{psi.sign(secret, canonical)}\0"
    sys.stdout.buffer.write(signed.encode())
