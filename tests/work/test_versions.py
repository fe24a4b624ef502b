"""Versions of every kind: brought into use, exchanged, taken back; one page for all. Each kind takes the contract."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from accounts.models import AuditEvent
from accounts.selectors import scope_for
from knowledge.model_setup import setup_forget
from knowledge.models import RerankerFit
from ragcore.reranking.linear import FEATURES
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_set, make_tenant, make_user
from tests.knowledge.test_query_adapters import towards
from work import versions
from work.errors import UnknownKindError
from work.versions import version_activate, version_kind_get, version_kinds, version_roll_back

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _forgotten():
    setup_forget()
    yield
    setup_forget()


@pytest.fixture
def admin():
    return make_admin("admin")


class VersionContract:
    """Subclasses name their kind, and make ready versions of one subject."""

    kind: str

    def make(self, admin: Any, number: int) -> Any:
        raise NotImplementedError

    def test_a_version_is_brought_into_use_exchanged_and_taken_back(self, admin) -> None:
        first, second = self.make(admin, 1), self.make(admin, 2)
        who = {"kind": self.kind, "scope": scope_for(admin), "actor": admin}
        kind = version_kind_get(self.kind)
        states = lambda: list(type(first).objects.order_by("number").values_list("state", flat=True))  # noqa: E731

        version_activate(**who, version_id=first.pk, reason="a test")
        with pytest.raises(kind.error) as refused:
            version_activate(**who, version_id=first.pk)
        assert refused.value.reason == "in_use"
        assert states() == ["live", "ready"]
        version_activate(**who, version_id=second.pk)
        assert states() == ["retired", "live"]
        version_activate(**who, version_id=first.pk)
        assert states() == ["live", "retired"]
        assert version_roll_back(**who, subject=kind.subject(first)).pk == first.pk
        assert states() == ["retired", "retired"]

        with pytest.raises(kind.error) as refused:
            version_roll_back(**who, subject=kind.subject(first))
        assert refused.value.reason == "not_in_use"
        acts = AuditEvent.objects.filter(action__startswith=f"{kind.acts}.").order_by("pk")
        assert [event.action.partition(".")[2] for event in acts] == [*["switch_on"] * 3, "switch_off"]
        assert acts[0].data["reason"] == "a test"

    @pytest.mark.parametrize("state", ["building", "dropped"])
    def test_what_is_not_built_or_given_up_does_not_come_into_use(self, admin, state) -> None:
        version = self.make(admin, 1)
        type(version).objects.filter(pk=version.pk).update(state=state)
        kind = version_kind_get(self.kind)

        with pytest.raises(kind.error) as refused:
            version_activate(kind=self.kind, scope=scope_for(admin), actor=admin, version_id=version.pk)

        assert refused.value.reason == "unusable"

    def test_a_gate_is_asked_for_what_was_never_in_use_only(self, admin, monkeypatch) -> None:
        version, asked = self.make(admin, 1), []
        monkeypatch.setitem(versions._GATES, self.kind, lambda row, actor: asked.append((row.pk, actor)))
        who = {"kind": self.kind, "scope": scope_for(admin), "actor": admin}

        version_activate(**who, version_id=version.pk, is_measured=True)
        version_roll_back(**who, subject=version_kind_get(self.kind).subject(version))
        version_activate(**who, version_id=version.pk)
        assert asked == []
        type(version).objects.filter(pk=version.pk).update(state="ready")
        version_activate(**who, version_id=version.pk)

        assert asked == [(version.pk, admin)]

    def test_the_pages_list_show_and_switch(self, admin) -> None:
        version, client = self.make(admin, 7), signed_in(admin)
        page = reverse("admin:work_version", args=[self.kind, version.pk])
        step = lambda name: client.post(reverse("admin:work_version_step", args=[self.kind, version.pk, name]))  # noqa: E731
        words = versions.version_words(self.kind, version)

        assert words in client.get(reverse("admin:work_versions"), {"kind": self.kind}).content.decode()
        assert words not in client.get(reverse("admin:work_versions"), {"kind": "other"}).content.decode()
        assert "Switch on" in client.get(page).content.decode()
        step("activate")
        assert "Switch off" in client.get(page).content.decode()
        step("roll_back")
        version.refresh_from_db()
        assert version.state == "retired"

        assert step("erase").status_code == 404
        assert (
            client.get(reverse("admin:work_version_step", args=[self.kind, version.pk, "activate"])).status_code == 405
        )
        assert client.get(reverse("admin:work_version", args=["no", version.pk])).status_code == 404
        other = signed_in(make_admin("other", tenant=make_tenant("other")))
        assert other.get(page).status_code == 404
        assert words not in other.get(reverse("admin:work_versions")).content.decode()
        assert signed_in(make_user("staff", tenant=admin.tenant, is_staff=True)).get(page).status_code == 403


class TestQueryAdapters(VersionContract):
    kind = "query_adapter"

    def make(self, admin, number):
        home = make_set("radio", owners=[admin]) if number != 2 else admin.owned_sets.get()
        return towards("anything", home=home, number=number)


class TestRerankerFits(VersionContract):
    kind = "reranker_fit"

    def make(self, admin, number):
        weights = [0.0] * (2 * len(FEATURES))
        return RerankerFit.objects.create(
            tenant=admin.tenant, number=number, state="ready", weights=weights, features=list(FEATURES)
        )


def test_each_kind_takes_the_contract():
    assert {kind.name for kind in version_kinds()} == {one.kind for one in VersionContract.__subclasses__()}
    with pytest.raises(UnknownKindError):
        version_kind_get("no")
