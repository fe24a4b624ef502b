"""Which lexicons a question is read with: those that its searches use."""

import pytest

from chat.answering.answer_config import resolve_answer_config
from chat.answering.context import _lexicon
from chat.types import AnswerRequest
from knowledge.options_draft import NO_DRAFT, OptionsDraft
from knowledge.services.lexicon import lexicon_publish, term_save
from tests.factories import make_set, make_user, scope_of
from tests.knowledge.lexicons import lexicon_build

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_user()


@pytest.fixture
def home(owner):
    return make_set("radio", owners=[owner])


@pytest.fixture
def published(owner, home):
    """A version of the lexicon of one set, in which CA has a meaning of its own."""
    values = {"text": "CA", "long_form": "conditional access"}
    term_save(scope=scope_of(owner), actor=owner, set_id=home.pk, values=values)
    version = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=home.pk)
    lexicon_build(version_id=version.pk)
    return version


def terms_of(person, *sets, draft=NO_DRAFT):
    request = AnswerRequest(query="What is CA?", sets=tuple(one.pk for one in sets), draft=draft)
    scope = scope_of(person)
    return _lexicon(scope, request, resolve_answer_config(scope=scope, request=request))


def test_a_question_to_one_set_is_not_read_with_the_terms_of_another(owner, home, published):
    other = make_set("other", owners=[owner])

    assert terms_of(owner, home).alternatives("ca") == ("conditional access",)
    assert terms_of(owner) is not None
    assert terms_of(owner, other) is None


def test_the_option_of_the_set_holds_for_the_question_too(owner, home, published):
    home.options = {"retrieval": {"lexicon": False}}
    home.save(update_fields=["options"])

    assert terms_of(owner, home) is None


def test_a_lexicon_that_is_tried_reads_the_question(owner, home, published):
    assert terms_of(owner, home, draft=OptionsDraft(lexicons={home.pk: None})) is None
