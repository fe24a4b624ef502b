import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.compression.extraction import extracted, importance, similarities, units_of
from ragcore.text.token_count import EstimateCounter
from tests.ragcore.compression.stage_ports import CountingEmbedder, tokenizer

COUNTER = EstimateCounter()
SENTENCES = [
    "The random access procedure has four steps in total. ",
    "A preamble is sent on the physical channel PRACH. ",
    "Handover moves a terminal from one cell to another. ",
    "It is so. ",
    "载波聚合把多个载波合并使用，可以明显提高峰值速率。",
    "天线很高。",
    "\n## Heading of a part\n",
    "\nThe values are these:\n",
    "- the first value is 12 milliseconds long\n",
    "- the second one is 40\n",
    "\n| timer | value |\n|---|---|\n| T300 | 400 ms |\n",
    "\n```\nstart(cell)\n```\n",
]
TEXTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12).map("".join)


def extract(text, query, budget, *, embedder=None, start=0):
    return extracted(
        [text], query, budgets=[budget], tokenizer=tokenizer(), embedder=embedder, counter=COUNTER, starts=[start]
    )[0]


@given(TEXTS, st.floats(0.05, 1), st.sampled_from(["steps of random access", "T300 是多少", ""]))
def test_an_extract_has_at_most_its_budget_or_one_unit_and_is_never_empty(text, ratio, query):
    budget = int(COUNTER.count(text) * ratio)
    units = [unit.text.strip() for unit in units_of(text)]

    result = extract(text, query, budget)

    assert result.tokens == COUNTER.count(result.text)
    assert result.tokens <= budget or result.text in units
    assert bool(result.text.strip()) == bool(text.strip())


@given(TEXTS, st.floats(0.1, 1))
def test_units_stay_whole_and_in_order(text, ratio):
    result = extract(text, "steps of random access", int(COUNTER.count(text) * ratio))

    at = 0
    rest = result.text.lstrip()
    for unit in units_of(text):
        piece = unit.text.strip()
        if piece and rest.startswith(piece):
            rest = rest[len(piece) :].lstrip()
            at += 1
    assert rest == ""
    assert at


def test_the_sentence_that_answers_is_kept_from_the_middle():
    text = (
        "The manual describes the product in general terms. Its cover shows a picture of the factory. "
        "The timer T300 of the random access procedure lasts 400 milliseconds. The paper is recycled and quite heavy. "
        "The index at the end lists all figures of the book."
    )

    result = extract(text, "How long does timer T300 last?", 20)

    assert "400 milliseconds" in result.text
    assert "picture" not in result.text


def test_a_heading_is_not_the_first_sentence():
    body = "The first sentence speaks of the weather. The middle one speaks of the weather. The last one as well."

    plain, headed = (extract(text, "turbine", 9).text for text in (body, f"# Chapter of the book\n\n{body}"))

    assert plain.startswith("The first sentence")
    assert "The first sentence" in headed  # 0.2 for the first sentence, whatever stands above it


def test_sentences_up_to_twenty_characters_are_not_taken():
    text = (
        "T300 is 400 ms here. The timer T300 starts when the request was sent to the cell. Nothing else is said of it."
    )

    result = extract(text, "T300", 30)

    assert "T300 is 400 ms here." not in result.text
    assert "The timer T300 starts" in result.text


def test_a_list_item_brings_its_head():
    text = (
        "This chapter is about something else and goes on for long. It says many things that nobody asked about here. "
        "The restart takes these steps:\n- Disconnect the power supply of the radio unit.\n- Drink some coffee.\n"
    )

    result = extract(text, "power supply of the radio unit", 32)

    assert result.text.startswith("The restart takes these steps:\n- Disconnect the power")


def test_a_text_within_its_budget_stays_as_it_is_and_is_not_embedded():
    embedder = CountingEmbedder(trust=1.0)

    result = extract("  Short.  ", "q", 50, embedder=embedder)

    assert result.text == "  Short.  "
    assert embedder.calls == []


def test_all_sentences_are_embedded_in_one_call():
    embedder = CountingEmbedder(trust=1.0)
    text = "".join(SENTENCES[:3])

    extracted([text, text], "unheard", budgets=[20, 20], tokenizer=tokenizer(), embedder=embedder, counter=COUNTER)

    assert embedder.calls == [1, 6]


def test_an_embedder_that_cannot_read_the_script_is_not_asked():
    embedder = CountingEmbedder(trust=0.0)

    extract("".join(SENTENCES[:3]), "unheard", 20, embedder=embedder)

    assert embedder.calls == []


def test_the_offset_of_the_own_text_is_followed():
    text = "".join(SENTENCES[:3])
    start = text.index("A preamble")

    result = extract(text, "preamble PRACH", 12, start=start)

    assert result.text[result.start :].startswith("A preamble")


def test_the_formula_of_importance():
    assert importance(similarity=0.5, is_edge=True, words=10) == pytest.approx(0.7 * 0.5 + 0.2 + 0.05)
    assert importance(similarity=1.0, is_edge=False, words=50) == pytest.approx(0.8)


def test_similarity_is_the_higher_of_words_and_trusted_meaning():
    embedder = CountingEmbedder(trust=0.5)
    groups = [["cab", "zzz"], ["the abc", "cab"], ["zzz"]]

    found = similarities("abc", groups, tokenizer=tokenizer(), embedder=embedder)

    assert found == [[pytest.approx(0.5), 0.0], [pytest.approx(1.0), 0.0], [0.0]]
    assert embedder.calls == [1, 3]  # the question, and the texts of the groups that words do not decide
