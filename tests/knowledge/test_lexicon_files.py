"""Lexicon files meet terms that their reader may not see, and other files at the same moment."""

import pytest
from django.db import transaction

from accounts.error_messages import error_message
from accounts.errors import NameTakenError
from knowledge.models import LexiconTerm
from knowledge.services.lexicon import term_save
from knowledge.services.lexicon.files import lexicon_import
from tests.factories import make_user, scope_of
from tests.knowledge.locks import Beside

FILE = "term,long_form,synonyms\nalpha,,first\nsecret,,\nomega,,last\n"


def put(person, home, content=FILE):
    return lexicon_import(scope=scope_of(person), actor=person, set_id=home.pk, content=content.encode())


@pytest.fixture
def editor(owner, common):
    person = make_user(tenant=owner.tenant, clearance=1)
    common.editors.add(person)
    return person


@pytest.fixture
def hidden(owner, common):
    """A term from a document above the editor's clearance."""
    term = term_save(scope=scope_of(owner), actor=owner, set_id=common.pk, values={"text": "secret"})
    LexiconTerm.objects.filter(pk=term.pk).update(clearance=3)
    return term


@pytest.mark.django_db
def test_a_line_whose_words_are_taken_is_a_fault_in_the_words_of_a_single_term(editor, common, hidden):
    done = put(editor, common)

    assert (done.added, [fault.line for fault in done.faults]) == (2, [3])
    assert set(LexiconTerm.objects.values_list("text", flat=True)) == {"alpha", "secret", "omega"}
    with pytest.raises(NameTakenError) as alone:
        term_save(scope=scope_of(editor), actor=editor, set_id=common.pk, values={"text": "secret"})
    assert error_message(done.faults[0].error) == error_message(alone.value)


@pytest.mark.django_db
def test_a_term_that_would_get_taken_words_stays_as_it_was_for_later_lines(editor, common, hidden):
    LexiconTerm.objects.filter(pk=hidden.pk).update(text="CA", key="ca", long_form="carrier aggregation")
    put(editor, common, "term\nCA\n")

    done = put(editor, common, "term,long_form,synonyms\nCA,carrier aggregation,hidden\nCA,,open\n")

    assert (done.changed, [fault.line for fault in done.faults]) == (1, [2])
    assert LexiconTerm.objects.exclude(pk=hidden.pk).values_list("long_form", "synonyms").get() == ("", ["open"])


@pytest.mark.django_db(transaction=True)
def test_two_files_for_one_lexicon_at_once_are_both_taken(owner, common, editor):
    later = Beside(lambda: put(editor, common))

    with transaction.atomic():
        put(owner, common, "term\nomega\nalpha\n")
        later.start_and_wait_for_lock()

    later.end()
    synonyms = dict(LexiconTerm.objects.values_list("text", "synonyms"))
    assert synonyms == {"alpha": ["first"], "omega": ["last"], "secret": []}
