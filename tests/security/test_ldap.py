"""Signing in with the password of a directory: a real slapd, over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEvent, User
from accounts.sign_in.ldap_settings import ldap_settings
from tests.factories import make_admin, make_user
from tests.security.ldap_directory import BASE, PASSWORD, READER, READER_PASSWORD, Directory, directory, why_not

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db,
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.timeout(300),
]
BACKEND = "accounts.sign_in.ldap.LdapBackend"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directory]:
    with directory(tmp_path_factory.mktemp("slapd")) as found:
        mei = found.add_person("mei", mail="mei@example.org", givenName="Mei", sn="Chen", departmentNumber="Radio")
        found.add_person("li")
        core = found.add_group("core", [mei])
        found.add_group("engineers", [core])  # with the members of the group core
        yield found


@pytest.fixture
def used(running: Directory, settings: Any, redis_client: Any) -> Directory:
    """The product with this directory."""
    use(settings, running.url)
    trust(running)
    return running


def use(settings: Any, url: str) -> None:
    values = ldap_settings(
        url=url,
        bind_dn=READER,
        bind_password=READER_PASSWORD,
        user_base=f"ou=people,{BASE}",
        user_filter="(uid=%(user)s)",
        group_base=f"ou=groups,{BASE}",
        group_filter="(objectClass=groupOfNames)",
    )
    settings.LDAP_URL, settings.LDAP_GROUP_BASE, settings.LDAP_ATTRIBUTES = url, f"ou=groups,{BASE}", {}
    settings.AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend", BACKEND]
    for name, value in values.items():
        setattr(settings, name, value)


def trust(found: Directory | None) -> None:
    """As TLS_CACERT of ldap.conf; None: the authorities of the system."""
    import ldap

    ldap.set_option(ldap.OPT_X_TLS_CACERTFILE, str(found.authority) if found else "/etc/ssl/certs/ca-certificates.crt")
    ldap.set_option(ldap.OPT_X_TLS_NEWCTX, 0)


def sign_in(name: str, password: str = PASSWORD, client: Client | None = None) -> Client:
    client = client or Client()
    client.post("/sign-in", {"username": name, "password": password})
    return client


def is_in(client: Client) -> bool:
    return client.get("/profile").status_code == 200


def groups(person: User) -> list[str]:
    return sorted(person.user_groups.values_list("name", flat=True))


def test_a_person_of_the_directory_gets_an_account_that_follows_it(used: Directory) -> None:
    first = sign_in("mei")
    mei = User.objects.get()
    fields = (mei.username, mei.email, mei.first_name, mei.last_name, mei.department)
    listed = groups(mei)
    used.change(f"uid=mei,ou=people,{BASE}", departmentNumber=["Core network"])
    extra = used.add_group("radio", [f"uid=mei,ou=people,{BASE}"])
    again = sign_in("mei")
    mei.refresh_from_db()
    joined = groups(mei)
    used.remove(extra)
    sign_in("mei")

    assert is_in(first)
    assert is_in(again)
    assert fields == ("mei", "mei@example.org", "Mei", "Chen", "Radio")
    assert (mei.clearance, mei.is_staff, mei.has_usable_password()) == (0, False, False)
    assert (listed, joined, groups(mei)) == (["core", "engineers"], ["core", "engineers", "radio"], listed)
    assert mei.department == "Core network"
    assert User.objects.count() == 1
    assert AuditEvent.objects.filter(action="sign_in.done").first().data["method"] == "ldap"  # type: ignore[union-attr]


def test_the_name_may_be_written_as_the_directory_takes_it(used: Directory) -> None:
    assert is_in(sign_in("MEI"))
    assert is_in(sign_in(" Mei "))
    assert [person.username for person in User.objects.all()] == ["mei"]


@pytest.mark.parametrize(
    ("name", "password"),
    [
        *(("mei", "wrong"), ("mei", ""), ("nobody", PASSWORD), ("", PASSWORD), ("*", PASSWORD), ("m*", PASSWORD)),
        *(("mei)(uid=*", PASSWORD), ("mei)(|(uid=*", PASSWORD), ("mei\\2a", PASSWORD), ("mei\x00", PASSWORD)),
        *((f"uid=mei,ou=people,{BASE}", PASSWORD), ("reader", READER_PASSWORD), ("admin", PASSWORD)),
    ],
)
def test_what_is_wrong_is_refused_and_makes_no_account(used: Directory, name: str, password: str) -> None:
    assert not is_in(sign_in(name, password))
    assert not User.objects.exists()


def test_accounts_that_are_here_are_not_taken_over(used: Directory) -> None:
    root = make_admin("li")
    User.objects.create(username="mei", tenant=root.tenant, is_service=True, service_owner=root, password="!")

    assert not is_in(sign_in("li"))
    assert not is_in(sign_in("mei"))
    assert is_in(sign_in("li", "correct horse battery"))  # the own password still works
    assert User.objects.get(username="li").is_superuser


def test_somebody_who_was_deactivated_here_stays_out_and_open_pages_close(used: Directory) -> None:
    client = sign_in("mei")
    was_in = is_in(client)
    User.objects.filter(username="mei").update(is_active=False)

    assert was_in
    assert not is_in(client)
    assert not is_in(sign_in("mei"))


def test_a_server_that_another_authority_vouches_for_gets_no_password(
    used: Directory, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: trust(used))
    trust(None)

    assert not is_in(sign_in("mei"))
    assert not User.objects.exists()


def test_own_passwords_work_while_the_directory_is_away(used: Directory, settings: Any) -> None:
    make_user("eve")
    use(settings, "ldap://127.0.0.1:1")

    assert is_in(sign_in("eve", "correct horse battery"))
    assert not is_in(sign_in("mei"))
