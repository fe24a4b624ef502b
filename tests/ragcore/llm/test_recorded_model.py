"""What a real small model said in its exam, recorded, against the judges, the profile and the guards."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.facts import figures, figures_offered, plain_figure
from ragcore.grounding.source_texts import MARKER
from ragcore.grounding.trusted_writing import TrustedWriting
from ragcore.llm.exam import profile_from
from ragcore.llm.exam_results import TaskResult
from ragcore.llm.exam_tasks import exam_tasks, is_right
from ragcore.llm.generators import EndEvent
from ragcore.llm.model_profile import ModelProfile
from ragcore.ports import ChatMessage, GenerationEvent, GenerationRequest
from ragcore.prompts.refusals import is_refusal
from ragcore.text.token_count import EstimateCounter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

RECORDED = json.loads((Path(__file__).parent / "recorded" / "qwen2.5-coder-1.5b.json").read_text(encoding="utf-8"))
TEXTS = json.loads((files("ragcore.llm") / "exam_tasks.json").read_text(encoding="utf-8"))["texts"]
RESULTS = [TaskResult(**result) for result in RECORDED["results"]]
WRITTEN = [
    (task, result.reply)
    for task, result in zip(exam_tasks(), RESULTS, strict=True)
    if task.skill in ("marks", "plain", "facts", "order", "refusal")
]


def sources_of(task):
    return tuple(
        Source(
            number=number,
            passage=Passage(
                chunk=number,
                document=number,
                version=number,
                text=text["text"],
                title=text["title"],
                external_id=f"d{number}",
            ),
            text=text["text"],
            score=0.9,
        )
        for number, text in enumerate(TEXTS[task.language], start=1)
    )


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_replies_are_judged_as_they_were(number):
    task, result = exam_tasks()[number], RESULTS[number]
    if result.problem:
        pytest.skip("it was not asked")
    if len(result.reply) >= 600:
        pytest.skip("recorded in part")

    assert is_right(task, result.reply) == result.is_right


def test_the_profile_says_what_it_can_do():
    profile = profile_from(RESULTS)

    assert (profile.way, profile.believes_refusals) == ("fill", False)
    assert (profile.json, profile.has_system_role, profile.thinks) == ("object", True, False)
    assert not profile.obeys_documents  # it refused, which is no obedience
    assert profile.context_tokens is not None
    assert 4_000 < profile.context_tokens < 8_192


@pytest.mark.parametrize("way", ["marks", "plain", "fill"])
@pytest.mark.parametrize("number", range(len(WRITTEN)))
async def test_nothing_is_shown_that_the_sources_do_not_say(number, way):
    """In every way, whatever the model said: figures are those of the sources, or have their note, and it is cited."""
    task, reply = WRITTEN[number]
    sources = sources_of(task)

    async def read(_request):
        for at in range(0, len(reply), 7):
            yield GenerationEvent(text=reply[at : at + 7])
        yield EndEvent(final=True)

    async def is_answerable():
        return True

    tokenizer = JiebaTokenizer()
    trust = TrustedWriting(
        profile=ModelProfile(way=way),
        extract=ExtractiveGenerator(tokenizer),
        tokenizer=tokenizer,
        counter=EstimateCounter(),
        is_answerable=is_answerable,
    )
    request = GenerationRequest(
        question=task.question,
        sources=sources,
        language=task.language,
        messages=(ChatMessage(role="user", content=task.question),),
    )
    text = "".join([event.text async for event in trust.stream(request, read)])

    known = figures_offered(" ".join(f"{source.passage.title} {source.text}" for source in sources) + task.question)
    unknown = [figure for figure in figures(MARKER.sub("", text)) if plain_figure(figure) not in known]
    assert unknown == [] or "not in the" in text or "来源中没有" in text
    assert not is_refusal(text)
    assert text.strip()
    if trust.way != "marks":
        assert MARKER.search(text)
