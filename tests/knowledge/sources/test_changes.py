"""Who may make, change and remove sources, and what happens to credentials."""

from __future__ import annotations

import pytest

from accounts.errors import MissingRightError, NameTakenError, NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from knowledge.errors import (
    ClearanceTooHighError,
    CredentialsUnreadableError,
    SourceInUseError,
    SourceSettingsError,
    UnknownPeopleError,
)
from knowledge.models import Document, Source
from knowledge.selectors.sets import source_list, sources_usable
from knowledge.services.sources import credentials_set, source_create, source_delete, source_update
from knowledge.services.sources.credentials import credentials_decrypt, credentials_encrypt
from ragcore.errors import InvalidOptionsError
from tests.factories import make_admin, make_set, make_tenant, make_user, scope_of
from tests.knowledge.sources.building import folder_source, here, run

pytestmark = pytest.mark.django_db

SECRET = "a secret of enough length"


@pytest.fixture
def keeper(db):
    user = make_user("keeper", clearance=2)
    make_set("own", owners=[user])
    return user


def made(person, **values):
    return source_create(scope=scope_of(person), actor=person, values={"name": "hook", "kind": "webhook", **values})


def changed(person, source, **values):
    return source_update(scope=scope_of(person), actor=person, source_id=source.pk, values=values)


def test_owners_of_sets_make_sources_and_own_them(keeper):
    assert made(keeper).owner == keeper


def test_others_make_none(db):
    with pytest.raises(MissingRightError):
        made(make_user("reader"))


def test_a_name_is_taken_once(keeper):
    made(keeper)

    with pytest.raises(NameTakenError):
        made(keeper)


def test_only_its_owner_and_administrators_change_a_source(owner, keeper):
    source = made(keeper)
    other = make_user("other")
    make_set("another", owners=[other])

    with pytest.raises(NotFoundError):
        changed(other, source, name="mine")
    changed(keeper, source, options={"shared": True})
    with pytest.raises(NotAllowedError):
        changed(other, source, name="mine")
    assert changed(owner, source, name="theirs").name == "theirs"


def test_people_see_what_they_may_use(owner, keeper):
    made(owner, name="private")
    made(owner, name="shared", options={"shared": True})
    stranger = make_admin("stranger", tenant=make_tenant("elsewhere"))

    assert [s.name for s in source_list(scope=scope_of(keeper))] == ["shared"]
    assert [s.name for s in sources_usable(scope=scope_of(keeper))] == ["shared"]
    assert not source_list(scope=scope_of(stranger)).exists()
    assert not source_list(scope=scope_of(make_user("reader"))).exists()


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "url"},
        {"kind": "webhook", "location": "/etc"},
        {"kind": "webhook", "schedule": "daily"},
        {"handler": "no-such"},
        {"credentials": {"secret": "short"}},
        {"credentials": {"password": SECRET}},
        {"kind": "upload", "credentials": {"secret": SECRET}},
        {"owner": ""},
    ],
)
def test_settings_that_do_not_fit_are_refused(keeper, values):
    with pytest.raises(SourceSettingsError):
        made(keeper, **values)


@pytest.mark.parametrize("options", [{"unknown": 1}, {"max_documents": 0}, {"include": "*.md"}, {"delete_missing": 1}])
def test_options_are_checked(keeper, options):
    with pytest.raises(InvalidOptionsError):
        made(keeper, options=options)


def test_nobody_classifies_above_their_own_clearance(keeper):
    with pytest.raises(ClearanceTooHighError):
        made(keeper, options={"clearance": 3})


def test_a_source_is_handed_over_within_its_tenant(keeper):
    source = made(keeper)
    make_user("stranger", tenant=make_tenant("elsewhere"))

    with pytest.raises(UnknownPeopleError):
        changed(keeper, source, owner="stranger")
    other = make_user("other")
    assert changed(keeper, source, owner="other").owner == other


def test_options_are_stored_without_what_is_as_by_default(keeper):
    source = made(keeper, options={"max_documents": 100_000, "tags": ["a"]})

    assert source.options == {"tags": ["a"]}


# ── credentials ─────────────────────────────────────────────────────────────────────────────────


def test_credentials_rest_encrypted_and_are_replaced_and_removed(keeper):
    source = made(keeper, credentials={"secret": SECRET})
    stored = Source.objects.get(pk=source.pk).credentials
    assert SECRET not in stored
    assert credentials_decrypt(stored) == {"secret": SECRET}

    credentials_set(scope=scope_of(keeper), actor=keeper, source_id=source.pk, credentials={"": SECRET + "!"})
    assert credentials_decrypt(Source.objects.get(pk=source.pk).credentials) == {"secret": SECRET + "!"}
    credentials_set(scope=scope_of(keeper), actor=keeper, source_id=source.pk, credentials={})
    assert Source.objects.get(pk=source.pk).credentials == ""
    assert not any(SECRET in str(event.data) for event in AuditEvent.objects.all())


def test_another_secret_key_makes_credentials_unreadable_and_says_so(settings):
    stored = credentials_encrypt({"secret": SECRET})
    settings.SECRET_KEY = "another key of the site, as long as it must be"

    with pytest.raises(CredentialsUnreadableError):
        credentials_decrypt(stored)


def test_the_same_credentials_look_different_each_time(settings):
    assert credentials_encrypt({"secret": SECRET}) != credentials_encrypt({"secret": SECRET})


# ── removing ────────────────────────────────────────────────────────────────────────────────────


def test_a_source_with_documents_is_removed_only_together_with_them(owner, shelf):
    (shelf / "a.txt").write_text("one")
    source = folder_source(owner, shelf)
    run(owner, source)

    with pytest.raises(SourceInUseError):
        source_delete(scope=scope_of(owner), actor=owner, source_id=source.pk)
    assert here(source) == ["a.txt"]
    source_delete(scope=scope_of(owner), actor=owner, source_id=source.pk, with_documents=True)

    assert not Source.objects.filter(pk=source.pk).exists()
    assert Document.objects.get(external_id="a.txt").state == "deleted"
