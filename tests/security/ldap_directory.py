"""A real OpenLDAP server with a few people and groups, for the tests of signing in with a directory."""

from __future__ import annotations

import datetime
import ipaddress
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ragsite.embedded.processes import free_port, wait_until

PACKAGES = Path(__file__).resolve().parents[2] / ".ldap-packages"  # where scripts/ensure_ldap.sh puts the extra
SLAPD = shutil.which("slapd", path="/usr/sbin:/usr/lib/openldap:/usr/local/libexec:/usr/bin")
SLAPADD = shutil.which("slapadd", path="/usr/sbin:/usr/bin:/usr/local/sbin")
SCHEMAS, MODULES = Path("/etc/ldap/schema"), Path("/usr/lib/ldap")
BASE = "dc=example,dc=org"
READER, READER_PASSWORD = f"cn=reader,{BASE}", "reads the directory"
PASSWORD = "a directory password 7"
START_SECONDS = 20.0

ENTRIES = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: {READER}
objectClass: applicationProcess
objectClass: simpleSecurityObject
cn: reader
userPassword: {READER_PASSWORD}

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{BASE}
objectClass: organizationalUnit
ou: groups
"""


def why_not() -> str:
    """What is missing for a directory here; empty: nothing."""
    if PACKAGES.is_dir() and find_spec("django_auth_ldap") is None:
        sys.path.append(str(PACKAGES))
    if SLAPD is None or SLAPADD is None:
        return "slapd is not installed"
    return "" if find_spec("django_auth_ldap") else "django-auth-ldap is not installed: scripts/ensure_ldap.sh"


@dataclass(frozen=True)
class Directory:
    """A running server. `url` asks for StartTLS with the certificate of `authority`."""

    url: str
    authority: Path
    folder: Path

    def connect(self) -> Any:
        """As the administrator of the directory, over its socket in the folder."""
        import ldap

        path = str(self.folder / "socket").replace("/", "%2F")
        connection = ldap.initialize(f"ldapi://{path}")
        connection.simple_bind_s(f"cn=admin,{BASE}", PASSWORD)
        return connection

    def add_person(self, uid: str, **attributes: str | list[str]) -> str:
        """The name (DN) of a new person whose password is PASSWORD."""
        name = f"uid={uid},ou=people,{BASE}"
        self._add(
            name, objectClass=["inetOrgPerson"], cn=uid, **{"sn": uid, "userPassword": PASSWORD, **attributes}, uid=uid
        )
        return name

    def add_group(self, cn: str, members: list[str]) -> str:
        name = f"cn={cn},ou=groups,{BASE}"
        self._add(name, objectClass=["groupOfNames"], cn=cn, member=members)
        return name

    def _add(self, name: str, **attributes: str | list[str]) -> None:
        listed = {key: [value] if isinstance(value, str) else value for key, value in attributes.items()}
        self.connect().add_s(name, [(key, [one.encode() for one in values]) for key, values in listed.items()])

    def change(self, name: str, **attributes: list[str]) -> None:
        """Other values instead of those of an entry; none: the attribute goes."""
        import ldap

        changes = [(ldap.MOD_REPLACE, key, [one.encode() for one in values]) for key, values in attributes.items()]
        self.connect().modify_s(name, changes)

    def remove(self, name: str) -> None:
        self.connect().delete_s(name)


@contextmanager
def directory(folder: Path) -> Iterator[Directory]:
    """Starts slapd on a free port, with its database below `folder`."""
    (folder / "database").mkdir()
    authority = certificates(folder)
    settings = folder / "slapd.conf"
    settings.write_text(configuration(folder))
    (folder / "entries.ldif").write_text(ENTRIES)
    subprocess.run([str(SLAPADD), "-f", str(settings), "-l", str(folder / "entries.ldif")], check=True, timeout=60)
    port = free_port()
    sockets = f"ldap://127.0.0.1:{port}/ ldapi://{str(folder / 'socket').replace('/', '%2F')}/"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(SLAPD), "-f", str(settings), "-h", sockets, "-d", "0"], stderr=log, stdout=log)
    try:
        found = Directory(f"ldap://127.0.0.1:{port}", authority, folder)
        is_up = wait_until(lambda: answers(found), seconds=START_SECONDS, unless=lambda: process.poll() is not None)
        assert is_up, (folder / "log").read_text()
        yield found
    finally:
        process.terminate()
        process.wait(30)


def answers(found: Directory) -> bool:
    import ldap

    try:
        found.connect().unbind_s()
    except ldap.SERVER_DOWN:
        return False
    return True


def configuration(folder: Path) -> str:
    """Nobody reads without a password, and passwords go over TLS or the socket only."""
    module = f"modulepath {MODULES}\nmoduleload back_mdb\n" if (MODULES / "back_mdb.so").exists() else ""
    schemas = "".join(f"include {SCHEMAS}/{name}.schema\n" for name in ("core", "cosine", "inetorgperson"))
    return f"""{schemas}{module}pidfile {folder}/pid
localSSF 128
security simple_bind=128
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
database mdb
suffix {BASE}
rootdn cn=admin,{BASE}
rootpw "{PASSWORD}"
directory {folder}/database
maxsize 16777216
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{READER}" read by * none
"""


def certificates(folder: Path) -> Path:
    """Writes server.pem and server.key for 127.0.0.1, and returns the certificate of their authority."""
    own, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of the test")])
    now = datetime.datetime.now(datetime.UTC)

    def build(subject: x509.Name, key: Any) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=2))
        )

    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    localhost = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    signed = build(localhost, server).add_extension(names, critical=False).sign(own, hashes.SHA256())
    root = (
        build(name, own)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(own, hashes.SHA256())
    )
    (folder / "authority.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key = server.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.key").write_bytes(key)
    return folder / "authority.pem"
