"""Certificates for servers on loopback, which sign themselves."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path


def certificate(folder: Path, *names: str) -> Path:
    """Write a certificate that signs itself, and its key, to one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    known: list[x509.GeneralName] = [
        x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
        for name in names
    ]
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(known), critical=False)
        .sign(key, hashes.SHA256())
    )
    place = folder / "server.pem"
    place.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return place
