"""A model writes as far as it can be trusted."""

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.trusted_writing import TrustedWriting, is_structured
from ragcore.llm.generators import EndEvent
from ragcore.llm.model_profile import ModelProfile
from ragcore.ports import ChatMessage, GenerationEvent, GenerationRequest
from ragcore.prompts.refusals import refusal
from ragcore.text.token_count import EstimateCounter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

TOKENIZER = JiebaTokenizer()
TEXTS = (
    "The seal of the pump is replaced every 4,000 operating hours. Valve V3 is closed before that.",
    "The pump weighs 18.5 kg without its bracket. Its rated flow is 62 litres per minute.",
)
QUESTION = "How often is the seal of the pump replaced?"


def source(number, text):
    passage = Passage(chunk=number, document=number, version=number, text=text, title="", external_id=f"d{number}")
    return Source(number=number, passage=passage, text=text, score=0.9)


SOURCES = tuple(source(number, text) for number, text in enumerate(TEXTS, start=1))
REQUEST = GenerationRequest(
    question=QUESTION, sources=SOURCES, language="en", messages=(ChatMessage(role="user", content="marks prompt"),)
)


class Model:
    """Replies in turn; each is a text or a list of pieces."""

    def __init__(self, *replies):
        self.replies, self.prompts, self.ended = list(replies), [], 0

    async def read(self, request):
        self.prompts.append(request.messages[-1].content)
        reply = self.replies.pop(0)
        try:
            for piece in [reply] if isinstance(reply, str) else reply:
                yield GenerationEvent(text=piece)
            yield EndEvent(final=True, model="m")
        finally:
            self.ended += 1


async def written(model, way, *, answerable=True, request=REQUEST, states=None):
    async def is_answerable():
        return answerable

    trust = TrustedWriting(
        profile=ModelProfile(way=way),
        extract=ExtractiveGenerator(TOKENIZER),
        tokenizer=TOKENIZER,
        counter=EstimateCounter(),
        is_answerable=is_answerable,
        states=states,
    )
    events = [event async for event in trust.stream(request, model.read)]
    assert [event.final for event in events].count(True) == 1
    return "".join(event.text for event in events), trust, events[-1]


async def test_a_trusted_model_writes_and_marks_by_itself():
    text, trust, end = await written(Model("Every 4,000 hours [1]. It is closed first [1]."), "marks")

    assert text == "Every 4,000 hours [1]. It is closed first [1]."
    assert (trust.way, end.is_quoted) == ("marks", False)


async def test_plain_sentences_get_the_marks_of_their_sources():
    model = Model(["The seal is replaced every 4,000 opera", "ting hours. It costs 20 euros."])

    text, trust, _end = await written(model, "plain")

    assert text == "The seal is replaced every 4,000 operating hours. [1]"
    assert trust.counts["unsupported"] + trust.counts["facts"] == 1
    assert "Copy names" in model.prompts[0]


async def test_a_model_that_writes_from_chosen_statements_is_shown_only_them():
    model = Model("The seal of the pump is replaced every 4,000 operating hours.")

    text, trust, _end = await written(model, "fill")

    assert text == "The seal of the pump is replaced every **4,000** operating hours. [1]"
    assert trust.way == "fill"
    assert "4,000" in model.prompts[0]
    assert "[1]" not in model.prompts[0]


async def test_a_model_without_trust_is_not_asked():
    model = Model()

    text, trust, end = await written(model, "quote")

    assert "**4,000** operating hours" in text
    assert "[1]" in text
    assert (model.prompts, trust.way, end.is_quoted) == ([], "quote", True)


@pytest.mark.parametrize(
    "reply",
    [
        refusal("report", "en"),
        "The context does not mention how often the seal is replaced.",
        "[1]",
        " [1][2] ",
    ],
    ids=["refusal", "own words", "mark only", "marks only"],
)
async def test_a_useless_text_against_good_sources_is_tried_once_more_and_then_quoted(reply):
    model = Model(reply, "Nothing is known of it.")

    text, trust, end = await written(model, "marks")

    assert "**4,000** operating hours" in text
    assert (len(model.prompts), trust.way, end.is_quoted) == (2, "quote", True)
    assert model.ended == 2


@pytest.mark.parametrize("way", ["marks", "plain", "fill"])
async def test_a_model_that_says_nothing_gives_no_text(way):
    """Whoever asked says that the model has failed."""
    text, _trust, end = await written(Model(""), way)

    assert (text, end.is_quoted) == ("", False)


async def test_the_second_way_is_shown_where_it_is_of_use():
    model = Model(refusal("report", "en"), "The seal is replaced every 4,000 operating hours.")

    text, trust, end = await written(model, "marks")

    assert text == "The seal of the pump is replaced every **4,000** operating hours. [1]"
    assert (trust.way, end.is_quoted) == ("fill", False)


async def test_a_refusal_is_believed_where_the_sources_do_not_answer():
    model = Model(refusal("report", "en"))

    text, _trust, end = await written(model, "marks", answerable=False)

    assert text == refusal("report", "en")
    assert (len(model.prompts), end.is_quoted) == (1, False)


async def test_a_number_that_no_source_has_is_never_shown():
    model = Model("The seal of the pump is replaced every 9,000 operating hours.", "Every 5 hours it is replaced.")

    text, trust, _end = await written(model, "plain")

    assert text == "The seal of the pump is replaced every **4,000** operating hours. [1]"
    assert trust.way == "fill"


async def test_a_model_that_never_ends_is_given_up():
    model = Model(["The same sentence again and again here. "] * 400)

    text, _trust, end = await written(model, "marks")

    assert len(text) < 1000
    assert end.is_cut
    assert model.ended == 1


@pytest.mark.parametrize(("rows", "is_cut"), [(15, False), (400, True)])
async def test_rows_of_a_table_may_be_equal_but_not_for_ever(rows, is_cut):
    model = Model(["| Mast | Power |\n|---|---|\n", *["| not measured | not measured |\n"] * rows])

    text, _trust, end = await written(model, "marks")

    assert end.is_cut == is_cut
    assert (text.count("not measured") == 2 * rows) == (not is_cut)


async def test_marks_of_other_forms_are_read_before_figures_are_compared():
    text, _trust, _end = await written(Model("Every 4,000 hours (Source 1). It weighs 18.5 kg [1, 2]."), "marks")

    assert text == "Every 4,000 hours [1]. It weighs 18.5 kg [1][2]."


async def test_what_is_held_back_is_there_when_the_reader_stops():
    trust = TrustedWriting(
        profile=ModelProfile(),
        extract=ExtractiveGenerator(TOKENIZER),
        tokenizer=TOKENIZER,
        counter=EstimateCounter(),
    )
    events = trust.stream(REQUEST, Model(["The seal of the pump is replaced every 4,000 hours [1].", " More"]).read)
    text = (await anext(events)).text
    await events.aclose()

    assert text + trust.pending() == "The seal of the pump is replaced every 4,000 hours [1]."


async def test_a_refusal_that_is_believed_keeps_what_the_model_said_of_its_end():
    text, _trust, end = await written(Model(refusal("report", "en")), "marks", answerable=False)

    assert (text, end.model) == (refusal("report", "en"), "m")


async def test_a_table_stays_as_it_is_quoted():
    table = "| Unit | Power |\n|---|---|\n| Tarn 40 | 0.55 kW |\n| Tarn 60 | 1.1 kW |"
    request = GenerationRequest(
        question="Compare the power of the Tarn 40 and the Tarn 60", sources=(source(1, table),), language="en"
    )
    model = Model("It is less.")

    text, trust, _end = await written(model, "fill", request=request)

    assert "1.1 kW" in text
    if is_structured(text):
        assert (model.prompts, trust.way) == ([], "quote")


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("One sentence [1]. Another one [2].", False),
        ("- a [1]\n- b [1]\n- c [1]", True),
        ("| a | b |\n|---|---|\n| 1 | 2 |", True),
        ("**Part one**\n\nText [1].", True),
    ],
)
def test_more_than_sentences_is_structured(text, is_so):
    assert is_structured(text) is is_so


class Doubter:
    """Says of each quoted text the same, and keeps what it was given."""

    def __init__(self, says):
        self.says, self.texts = says, []

    async def __call__(self, text):
        self.texts.append(text)
        return self.says


@pytest.mark.parametrize("way", ["marks", "plain", "fill", "quote"])
@pytest.mark.parametrize(("says", "is_headed"), [(False, True), (True, False), (None, False)])
async def test_what_does_not_state_the_answer_is_headed_as_the_passage_that_fits_best(way, says, is_headed):
    doubter = Doubter(says)
    reply = "The seal of the pump is replaced every 4,000 operating hours [1]."

    text, trust, _end = await written(Model(reply), way, states=doubter)

    assert text.count("**The passage that fits best**") == is_headed
    assert text.startswith("**The passage that fits best**\n\n") == is_headed
    assert trust.is_doubted == is_headed
    assert len(doubter.texts) == 1
    assert "4,000 operating hours" in doubter.texts[0]
    assert "[1]" not in doubter.texts[0]


async def test_a_refusal_is_not_headed():
    text, trust, _end = await written(Model(refusal("report", "en")), "marks", answerable=False, states=Doubter(False))

    assert text == refusal("report", "en")
    assert not trust.is_doubted
