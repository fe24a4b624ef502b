import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.graph.mentions import (
    ATTRIBUTE,
    MOST_ATTRIBUTES,
    MOST_MENTIONS,
    OUTSIDE,
    MentionFinder,
    attribute_names,
    question_names,
)
from ragcore.graph.term_spans import TermSpans
from tests.forms_plugin import examples

PLAIN = MentionFinder()


def keys(text, finder=PLAIN, **about):
    return [one.key for one in finder.find(text, **about)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The film was made by Bojan Hladek in Ljuba.", {"bojan hladek", "ljuba"}),
        ("She met J.R.R. Tolkien there.", {"j.r.r. tolkien"}),
        ('They sang "Dear Brother" twice.', {"dear brother"}),
        ("It needs 20 MHz and TS 38.331 on the gNodeB.", {"20 mhz", "ts 38.331", "gnodeb"}),
        ("The AMF talks to it.", {"amf"}),
        ("王小明在北京大学学习。", {"王小明", "北京大学"}),
        ("《红楼梦》很长。", {"红楼梦"}),
    ],
)
def test_names_are_found(text, wanted):
    assert wanted <= set(keys(text))


@pytest.mark.parametrize("text", ["However, nothing was said.", "During it all went well.", "这是一个。", "", "\n\n"])
def test_usual_words_are_none(text):
    assert keys(text) == []


def test_the_title_is_an_entity_with_and_without_its_bracket():
    found = PLAIN.find("It was made in 1961.", title="Rain (film)")

    assert [(one.key, one.start) for one in found][:2] == [("rain", OUTSIDE), ("rain (film)", OUTSIDE)]
    assert (found[0].sentence_start, found[0].sentence_end) == (0, 20)


def test_names_among_the_attributes_of_a_document_lead_to_its_passages():
    metadata = {
        "source": "The Harbour Post", "author": ["Ana Breg", "陈红"], "published_at": "2024-01-02T10:00:00Z",
        "url": "https://x.example/A", "category": "business", "size": 3, "file": "Report.pdf", "title": "Kolm",
    }  # fmt: skip
    found = PLAIN.find("Rain fell.", title="Kolm", attributes=attribute_names(metadata))

    assert [one.key for one in found if one.start == ATTRIBUTE] == ["the harbour post", "ana breg", "陈红"]
    assert (found[1].sentence_start, found[1].sentence_end) == (0, 10)
    assert attribute_names({"x": [f"Name {n}" for n in range(30)]}) == [f"Name {n}" for n in range(MOST_ATTRIBUTES)]


def test_a_person_is_called_by_the_last_name_later():
    assert keys("Bojan Hladek made films. Hladek died in Ljuba.") == ["bojan hladek", "bojan hladek", "ljuba"]


def test_terms_of_the_lexicon_count_in_small_letters():
    finder = MentionFinder((TermSpans.of(["user plane", "波束管理", "AS"]),))

    assert keys("The user plane is set up as usual.", finder) == ["user plane"]
    assert keys("采用波束管理。", finder) == ["波束管理"]
    assert keys("traffic of the AS", finder) == ["as"]


def test_names_of_a_question():
    asked = "Who lived longer, Hubert Mordek or Levon Grigorian?"
    assert question_names(asked) == ["Hubert Mordek", "Levon Grigorian"]


@settings(max_examples=examples(12), deadline=None)
@given(st.text(alphabet=st.sampled_from("Ab Cé.王北京12-/()《》\"'\n|*"), max_size=120), st.text(max_size=30))
def test_every_mention_stands_in_its_sentence(text, title):
    found = PLAIN.find(text, title=title)

    assert len(found) <= MOST_MENTIONS
    for one in found:
        assert one.name.strip()
        assert 0 <= one.sentence_start <= one.sentence_end <= len(text)
        if one.start != OUTSIDE:
            assert one.sentence_start <= one.start < one.end <= one.sentence_end
