import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.graph.model_extraction import extract_by_model, proven
from ragcore.llm.client import LlmClient
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.scripted_llm import Reply

PASSAGE = "The Control Unit belongs to the Base Station.\nIt does not support Mode B. 随机接入属于 MAC 层。"
GOOD = {
    "subject": "Control Unit",
    "relation": "is part of",
    "object": "Base Station",
    "quote": "The Control Unit belongs to the Base Station.",
}


def reply(*facts, before=""):
    return Reply(texts=(before + json.dumps({"facts": list(facts)}),))


async def extracted(llm):
    model = OpenAIChatModel(llm.url, "key", "scripted")
    client = LlmClient(model, seconds=60)
    facts = await extract_by_model(PASSAGE, title="Board", llm=client)
    return None if facts is None else [(f.triple.subject, f.triple.relation, f.triple.object) for f in facts]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"quote": "the control unit  belongs to\nthe base station"}, True),
        ({"quote": "The Control Unit is a part of the Base Station."}, False),
        ({"object": "Core Network"}, False),
        ({"subject": "Mode B", "object": "Mode A"}, False),
        ({"object": "Control Unit"}, False),
        ({"sure": 0.2}, False),
        ({"subject": "Mode B", "object": "Base Station", "quote": "does not support Mode B"}, False),
        ({"subject": "随机接入", "relation": "属于", "object": "MAC 层", "quote": "随机接入属于 MAC 层。"}, True),
    ],
)
def test_only_what_the_passage_says_is_kept(change, kept):
    fact = {"sure": 0.9, **GOOD, **change}
    found = proven(fact["subject"], fact["relation"], fact["object"], fact["quote"], fact["sure"], PASSAGE)

    assert (found is not None) == kept


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=60))
def test_a_fact_that_is_kept_has_its_quotation_and_its_ends_in_the_passage(subject, object_, quote):
    found = proven(subject, "is", object_, quote, 1.0, PASSAGE)

    assert found is None or (
        found.triple.subject.lower() in PASSAGE.lower() and found.sentence.lower() in PASSAGE.lower()
    )


async def test_a_model_that_invents_is_not_believed(llm):
    invented = {**GOOD, "object": "Moon", "quote": "The Control Unit belongs to the Moon."}
    llm.script(reply(invented, GOOD, GOOD, before="Here are the facts: "))

    assert await extracted(llm) == [("Control Unit", "is part of", "Base Station")]


@pytest.mark.parametrize("text", ["no facts", '{"facts": 3}', '{"facts": [{"subject": ""}]}', "[" * 2000])
async def test_a_reply_in_another_shape_is_no_reply(llm, text):
    llm.script(Reply(texts=(text,)))

    assert await extracted(llm) is None
