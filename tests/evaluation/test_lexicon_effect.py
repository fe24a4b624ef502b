"""What a published lexicon does for golden cases."""

import pytest

from evaluation.models import GoldenCase, GoldenSet
from evaluation.services.lexicon_effect import lexicons_measure
from knowledge.models import LexiconVersion
from knowledge.services.lexicon import lexicon_build, lexicon_publish, term_save
from tests.factories import ingest, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db

BEAMS = "Beam management keeps the narrow beams of terminal and base station aligned while the terminal moves."
CAKE = "A cake of apples needs flour, butter, sugar and forty minutes in the oven."


def test_cases_that_mention_a_term_are_compared_without_and_with_the_lexicon():
    owner = make_user()
    home = make_set(owners=[owner])
    ingest(owner, home, beams=BEAMS, cake=CAKE)
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
    assert (measured["cases"], measured["after"]) == (1, 1.0)
    assert list(measured["terms"]) == ["波束管理"]
