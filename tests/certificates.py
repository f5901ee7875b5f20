"""Makes certificates for a cluster of tests: an authority, and one certificate by it that every process has."""

from __future__ import annotations

import datetime
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificates:
    authority: Path
    certificate: Path
    key: Path

    def environment(self) -> dict[str, str]:
        """Gives the variables that Ray reads."""
        return {
            "RAY_USE_TLS": "1",
            "RAY_TLS_CA_CERT": str(self.authority),
            "RAY_TLS_SERVER_CERT": str(self.certificate),
            "RAY_TLS_SERVER_KEY": str(self.key),
        }


def make_certificates(folder: Path) -> Certificates:
    """Writes them as PEM files, for this machine: Ray's processes connect by addresses, and check that the certificate has them."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("authority", authority_key, "authority", authority_key)
    certificate = _certificate("node", key, "authority", authority_key)
    made = Certificates(folder / "ca.crt", folder / "node.crt", folder / "node.key")
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    made.key.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return made


def _certificate(
    subject: str, key: ec.EllipticCurvePrivateKey, issuer: str, issuer_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), *(x509.IPAddress(address) for address in _addresses())]
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LIFETIME)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=subject == issuer, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def _addresses() -> set[ipaddress.IPv4Address]:
    found = [one for interface in psutil.net_if_addrs().values() for one in interface if one.family == socket.AF_INET]
    return {ipaddress.IPv4Address(one.address) for one in found}


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
