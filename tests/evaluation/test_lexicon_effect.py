"""What a published lexicon does for golden cases."""

import pytest

from evaluation.models import GoldenCase, GoldenSet
from evaluation.services import lexicon_effect
from evaluation.services.lexicon_effect import lexicons_measure
from knowledge.models import LexiconVersion
from knowledge.services.lexicon import lexicon_publish, term_save
from tests.factories import ingest, make_admin, make_set, make_user, scope_of
from tests.knowledge.lexicons import lexicon_build

pytestmark = pytest.mark.django_db

BEAMS = "Beam management keeps the narrow beams of terminal and base station aligned while the terminal moves."
OTHER = "项目管理怎么做：先做计划，再看进度。"
CAKE = "A cake of apples needs flour, butter, sugar and forty minutes in the oven."


def test_cases_that_mention_a_term_are_compared_without_and_with_the_lexicon():
    owner = make_user()
    home = make_set(owners=[owner])
    ingest(owner, home, beams=BEAMS, cake=CAKE, other=OTHER)
    golden = GoldenSet.objects.create(tenant=owner.tenant, name="g", guards=False)
    golden.sets.set([home])
    for question, relevant in (("波束管理怎么做", "beams"), ("How is a cake made?", "cake")):
        GoldenCase.objects.create(golden_set=golden, question=question, relevant=[relevant])
    values = {"text": "波束管理", "translations": ["beam management"]}
    term_save(scope=scope_of(owner), actor=owner, set_id=home.pk, values=values)
    version = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=home.pk)
    lexicon_build(version_id=version.pk)

    assert (lexicons_measure(), lexicons_measure()) == (1, 0)

    measured = LexiconVersion.objects.get(pk=version.pk).measured
    assert measured["cases"] == 1
    assert measured["before"] < measured["after"]
    assert list(measured["terms"]) == ["波束管理"]

    # the next version is compared with this one, not with no lexicon at all
    term_save(scope=scope_of(owner), actor=owner, set_id=home.pk, values={"text": "oven"})
    following = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=home.pk)
    lexicon_build(version_id=following.pk)
    assert lexicons_measure() == 1
    assert LexiconVersion.objects.get(pk=following.pk).measured["before"] == 1.0


def test_an_administrator_who_is_no_member_measures_with_the_rights_of_an_owner():
    owner = make_user()
    home = make_set(owners=[owner], visibility="members")
    admin = make_admin(tenant=owner.tenant)
    ingest(owner, home, beams=BEAMS)
    golden = GoldenSet.objects.create(tenant=owner.tenant, name="g", guards=False)
    golden.sets.set([home])
    GoldenCase.objects.create(golden_set=golden, question="波束管理怎么做", relevant=["beams"])
    values = {"text": "波束管理", "translations": ["beam management"]}
    term_save(scope=scope_of(admin), actor=admin, set_id=None, values=values)
    version = lexicon_publish(scope=scope_of(admin), actor=admin, set_id=None)
    lexicon_build(version_id=version.pk)

    lexicons_measure()

    measured = LexiconVersion.objects.get(pk=version.pk).measured
    assert (measured["cases"], measured["after"]) == (1, 1.0)


def test_a_version_that_cannot_be_measured_leaves_the_others(monkeypatch):
    owner = make_user()
    versions = []
    for code in ("one", "two"):
        home = make_set(owners=[owner], code=code)
        term_save(scope=scope_of(owner), actor=owner, set_id=home.pk, values={"text": "oven"})
        version = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=home.pk)
        lexicon_build(version_id=version.pk)
        versions.append(version)
    measure = lexicon_effect.lexicon_measure

    def broken(version):
        if version.pk == versions[0].pk:
            raise ValueError("no")
        return measure(version)

    monkeypatch.setattr(lexicon_effect, "lexicon_measure", broken)

    assert lexicons_measure() == 1
