import json

import pytest

from ragcore.llm.client import fenced
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.options import RepresentationOptions
from ragcore.representations import represent
from ragcore.representations.entries import WINDOW_TOKENS
from ragcore.representations.writer import GIVE_UP_AFTER, read_strings
from ragcore.types import ChunkDraft
from tests.scripted_llm import Reply, serving

NOTHING = RepresentationOptions(tables=False, language_model=True)
SUMMARIES = RepresentationOptions(summaries=True)
QUESTIONS = RepresentationOptions(questions=True)

TEXT = " ".join(f"The cell number {n} serves slice {n} with timer T{n} of the network." for n in range(12))
GOOD_SUMMARY = "The cell of each number serves a slice with a timer of the network: T0, T1, T2, T3."
GOOD_QUESTIONS = {
    "factual": "Which slice serves the cell number?",
    "explanatory": "How is the timer of the network served?",
    "comparative": "How do timer T1 and timer T2 differ?",
}


@pytest.fixture
def llm():
    with serving() as scripted:
        yield scripted


@pytest.fixture
def model(llm):
    async def no_wait(seconds):
        return None

    return OpenAIChatModel(llm.url, "", "scripted", sleep=no_wait)


@pytest.fixture
def made(tokenizer, counter):
    def make(*drafts, options, model=None, alive=lambda: None):
        return represent(
            drafts, options=options, model=model, tokenizer=tokenizer, counter=counter, concurrency=2, alive=alive
        )

    return make


def body(ordinal: int = 0, text: str = TEXT, **more) -> ChunkDraft:
    return ChunkDraft(ordinal=ordinal, text=text, tokens=len(text.split()), **more)


def saying(data) -> Reply:
    return Reply(texts=(json.dumps(data, ensure_ascii=False),))


def kinds(made) -> list[tuple[int, str]]:
    return [(entry.ordinal, entry.kind) for entry in made.entries]


def test_without_options_every_chunk_is_its_body(made):
    result = made(body(0), body(1, "Short."), options=NOTHING)

    assert [(entry.ordinal, entry.kind, entry.text) for entry in result.entries] == [
        (0, "body", TEXT),
        (1, "body", "Short."),
    ]
    assert result.counts == {}


def test_a_model_writes_summaries_at_its_temperature(made, llm, model):
    llm.script(saying({"summary": GOOD_SUMMARY}))

    result = made(body(), options=SUMMARIES, model=model)

    assert [entry.text for entry in result.entries if entry.kind == "summary"] == [GOOD_SUMMARY]
    assert result.counts == {"summary.model": 1}
    request = llm.requests[0].body
    assert request["temperature"] == 0.3
    assert "<document>\n" + TEXT in request["messages"][-1]["content"]
    assert "English" in request["messages"][-1]["content"]


def test_a_short_chunk_is_its_own_summary(made, llm, model):
    result = made(body(text="Short."), options=SUMMARIES, model=model)

    assert kinds(result) == [(0, "body")]
    assert result.counts == {"summary.short": 1}
    assert llm.requests == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(texts=("no JSON",)), "model.invalid"),
        (Reply(texts=('{"summary": 5}',)), "model.invalid"),
        (Reply(texts=('{"other": "x"}',)), "model.invalid"),
        (Reply(texts=('{"summary": "half', ' more"}'), cut_after=1), "model.interrupted"),
        (saying({"summary": "Nothing to do with it."}), "model.refused"),
        (saying({"summary": TEXT}), "model.refused"),
        (Reply(status=400), "model.unavailable"),
    ],
)
def test_what_a_model_does_wrong_is_counted_and_replaced_by_sentences(made, llm, model, reply, reason):
    llm.script(reply, reply)

    result = made(body(), options=SUMMARIES, model=model)

    repeated = {"model.repeated": 1} if reason == "model.invalid" else {}
    assert result.counts == {"summary.extractive": 1, reason: 1, **repeated}
    assert len(llm.requests) == 1 + len(repeated)
    assert [entry.text for entry in result.entries if entry.kind == "summary"][0].startswith("The cell number")


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (Reply(texts=("no JSON",)), "invalid"),
        (Reply(texts=('{"summary": "half', ' more"}'), cut_after=1), "interrupted"),
        (saying({"summary": "Nothing to do with it."}), "refused"),
        (Reply(status=400), "rejected"),
        (Reply(status=401), "unavailable"),
        (Reply(status=503), "unavailable"),
    ],
)
def test_it_is_told_what_the_model_did_not_write_and_why(made, llm, model, reply, failure):
    llm.script(*[reply] * 5)

    result = made(body(3), body(4, "Short."), options=SUMMARIES, model=model)

    assert result.missed == {3: {"summary": failure}}


def test_nothing_is_missed_where_no_model_is_asked(made, llm, model):
    both = RepresentationOptions(summaries=True, questions=True)
    rules = RepresentationOptions(summaries=True, questions=True, language_model=False)

    assert made(body(), options=both, model=None).missed == {}
    assert made(body(), options=rules, model=model).missed == {}


def test_what_was_not_asked_for_any_more_is_missed_as_well(made, llm, model):
    llm.default = Reply(status=503)

    result = made(*(body(n) for n in range(6)), options=QUESTIONS, model=model)

    assert result.missed == {n: {"question": "unavailable"} for n in range(6)}


def test_a_model_may_be_left_alone_after_its_first_silence_but_not_after_a_prompt_that_it_refuses(
    tokenizer, counter, llm, model
):
    def asked(status):
        llm.requests.clear()
        llm.default = Reply(status=status)
        represent(
            [body(n) for n in range(6)],
            options=SUMMARIES,
            model=model.with_short_retries(),
            tokenizer=tokenizer,
            counter=counter,
            concurrency=1,
            silences=1,
            alive=lambda: None,
        )
        return len(llm.requests)

    assert (asked(503), asked(400)) == (2, GIVE_UP_AFTER)


def test_some_chunks_are_described_as_they_are_among_all(tokenizer, counter, llm, model):
    head = "| Timer | Value |\n| --- | --- |\n"
    rows = [head + "\n".join(f"| T{n} | {n} |" for n in range(start, start + 3)) for start in (0, 3)]
    drafts = [
        ChunkDraft(ordinal=0, text="Timers", tokens=1, kind="section", heading_path=("Timers",)),
        body(1, rows[0], parent=0),
        body(2, rows[1], parent=0, is_continuation=True),
    ]
    llm.default = Reply(status=400)
    options = RepresentationOptions(summaries=True, questions=True)
    common = {"options": options, "tokenizer": tokenizer, "counter": counter, "alive": lambda: None}

    every = represent(drafts, model=model, **common)
    llm.requests.clear()
    some = represent(drafts, model=model, ordinals={2}, **common)

    assert some.entries == tuple(entry for entry in every.entries if entry.ordinal == 2)
    assert any("row 4" in entry.text for entry in some.entries)
    assert some.drafts == every.drafts
    assert set(some.missed) == {2}
    assert "T5" in llm.requests[0].body["messages"][-1]["content"]


def test_a_model_that_stays_away_is_not_asked_for_every_chunk(made, llm, model):
    llm.default = Reply(status=400)

    result = made(*(body(n) for n in range(10)), options=SUMMARIES, model=model)

    asked = result.counts["model.unavailable"]
    assert GIVE_UP_AFTER <= asked <= GIVE_UP_AFTER + 1  # two chunks at a time
    assert result.counts["model.skipped"] == 10 - asked
    assert result.counts["summary.extractive"] == 10


def test_a_model_writes_questions_at_its_temperature(made, llm, model):
    llm.script(saying(GOOD_QUESTIONS))

    result = made(body(heading_path=("Cells",)), options=QUESTIONS, model=model)

    assert [entry.text for entry in result.entries if entry.kind == "question"] == list(GOOD_QUESTIONS.values())
    assert result.counts == {"question.model": 1}
    assert llm.requests[0].body["temperature"] == 0.6


def test_questions_about_something_else_are_replaced_by_rules(made, llm, model):
    llm.script(saying(dict.fromkeys(GOOD_QUESTIONS, "Who won the football championship?")))

    result = made(body(heading_path=("Cells and slices of the network",)), options=QUESTIONS, model=model)

    assert result.counts == {"model.refused": 1, "question.rules": 1}
    assert "What does Cells and slices of the network cover?" in [entry.text for entry in result.entries]


def test_no_model_is_asked_where_the_options_forbid_it(made, llm, model):
    options = RepresentationOptions(summaries=True, questions=True, language_model=False)

    result = made(body(), options=options, model=model)

    assert result.counts == {"summary.extractive": 1, "question.rules": 1}
    assert llm.requests == []


def section() -> list[ChunkDraft]:
    outline = "Cells\n\n- Cells of the north: they serve slices\n- Cells of the south: they have timers"
    return [
        ChunkDraft(ordinal=0, text=outline, tokens=20, kind="section", heading_path=("Cells",)),
        body(1, parent=0, heading_path=("Cells", "Cells of the north")),
        body(2, parent=0, heading_path=("Cells", "Cells of the south")),
    ]


def test_a_section_gets_a_written_summary_in_the_index_and_in_its_text(made, llm, model, counter):
    llm.script(
        saying({"summary": "The cells of north and south serve a slice; each number has a timer of the network."})
    )

    result = made(*section(), options=RepresentationOptions(), model=model)

    assert kinds(result) == [(0, "summary"), (1, "body"), (2, "body")]
    assert result.drafts[0].text.startswith("The cells of north and south")
    assert "- Cells of the south" in result.drafts[0].text
    assert result.drafts[0].tokens == counter.count(result.drafts[0].text)
    assert result.drafts[1:] == tuple(section()[1:])
    assert result.counts == {"section.model": 1}
    assert "The cell number 0 serves" in llm.requests[0].body["messages"][-1]["content"]


def test_the_outline_of_a_section_without_a_written_summary_stays_out_of_the_index(made, llm, model):
    llm.script(Reply(status=400))

    failed = made(*section(), options=RepresentationOptions(), model=model)
    without = made(*section(), options=RepresentationOptions(), model=None)

    assert kinds(failed) == kinds(without) == [(1, "body"), (2, "body")]
    assert failed.drafts == without.drafts == tuple(section())
    assert failed.counts == {"section.outline": 1, "model.unavailable": 1}
    assert without.counts == {}


def test_the_outline_is_indexed_in_the_place_of_its_section_where_summaries_are_wanted(made):
    result = made(*section(), options=RepresentationOptions(summaries=True), model=None)

    (outline,) = [entry for entry in result.entries if entry.ordinal == 0]
    assert (outline.kind, outline.text) == ("summary", section()[0].text)
    assert result.counts["section.outline"] == 1


def test_tables_and_pictures_of_a_chunk_are_entries_of_their_own(made):
    text = "The mast.\n\n![mast](picture:a.png)\n\n| Timer | Value |\n| --- | --- |\n| T300 | 100 |"

    result = made(body(text=text), options=RepresentationOptions())

    assert [(entry.kind, entry.text) for entry in result.entries[1:]] == [
        ("table", "In the table, row 1: Timer = T300; Value = 100."),
        ("caption", "mast\nThe mast."),
    ]
    assert kinds(made(body(text=text), options=NOTHING)) == [(0, "body"), (0, "caption")]


def test_a_long_document_that_is_one_chunk_is_found_through_windows(made, counter):
    text = " ".join(f"Sentence number {n} stands here." for n in range(600))
    whole = ChunkDraft(ordinal=0, text=text, tokens=counter.count(text), kind="whole")

    result = made(whole, options=NOTHING)

    assert len(result.entries) > 2
    assert {entry.kind for entry in result.entries} == {"window"}
    assert all(f"number {n} stands" in " ".join(entry.text for entry in result.entries) for n in range(600))


def test_a_short_document_that_is_one_chunk_is_its_body(made):
    assert kinds(made(body(kind="whole"), options=NOTHING)) == [(0, "body")]


def test_a_definition_of_source_code_is_found_by_its_signature_besides_its_body(made):
    code = "### `rrc_setup`\n\n```python lines=4-5\n@cached\ndef rrc_setup(cellId):\n    pass\n```"

    result = made(body(0, code), options=NOTHING)

    assert [(entry.kind, entry.text) for entry in result.entries] == [
        ("body", code),
        ("window", "rrc setup\ndef rrc setup cell id"),
    ]


def test_signs_of_life_are_given_while_a_model_writes(made, llm, model, monkeypatch):
    monkeypatch.setattr("ragcore.representations.entries.HEARTBEAT_SECONDS", 0.01)
    llm.script(Reply(texts=(json.dumps({"summary": GOOD_SUMMARY}),), hold_before=0))
    signs = []

    def alive():
        signs.append(1)
        if len(signs) == 3:
            llm.release.set()

    result = made(body(), options=SUMMARIES, model=model, alive=alive)

    assert len(signs) >= 3
    assert result.counts == {"summary.model": 1}


def test_a_lost_lease_ends_the_work(made, llm, model, monkeypatch):
    monkeypatch.setattr("ragcore.representations.entries.HEARTBEAT_SECONDS", 0.01)
    llm.default = Reply(hold_before=0)

    def alive():
        raise RuntimeError("somebody else has taken over")

    with pytest.raises(RuntimeError, match="taken over"):
        made(body(), options=SUMMARIES, model=model, alive=alive)


def test_a_document_cannot_end_its_fence():
    assert fenced("a </document> b < / DOCUMENT >") == "a &lt;/document> b &lt; / DOCUMENT >"


@pytest.mark.parametrize(
    "reply", ['{"a": "x"}', '```json\n{"a": "x"}\n```', 'Here it is: {"a": " x ", "b": 1} I hope it helps. {}']
)
def test_a_json_object_is_found_in_what_models_write(reply):
    assert read_strings(reply, ("a",)) == {"a": "x"}


@pytest.mark.parametrize("reply", ["", "a", "{", "[1]", '{"a": ""}', '{"a": null}', '{"b": "x"}', '"{}"'])
def test_anything_else_is_no_reply(reply):
    assert read_strings(reply, ("a",)) is None


def test_a_long_chunk_is_found_through_windows_besides_its_body(made, counter):
    text = " ".join(f"Sentence number {n} stands here." for n in range(300))
    long = ChunkDraft(ordinal=0, text=text, tokens=counter.count(text))

    first, *others = made(long, options=NOTHING).entries

    assert (first.kind, first.text) == ("body", text)
    assert {entry.kind for entry in others} == {"window"}
    assert all(counter.count(entry.text) <= WINDOW_TOKENS for entry in others)
    assert all(f"number {n} stands" in " ".join(entry.text for entry in others) for n in range(300))
