"""What every LLMGenerator must do. Subclass as TestX with a fixture `generator`."""

from ragcore.ports import ChatMessage, GenerationRequest
from ragcore.types import Passage, Source


def source(number, text, *, title="Handbook", score=0.9):
    passage = Passage(chunk=number, document=number, version=1, text=text, title=title)
    return Source(number=number, passage=passage, text=text, score=score)


REQUEST = GenerationRequest(
    question="When was the mast built?",
    sources=(source(1, "The mast stands in Ulm. It was built in 1987."), source(2, "The battery lasts four hours.")),
    messages=(ChatMessage(role="user", content="When was the mast built?"),),
    language="en",
)


class GeneratorContract:
    async def test_it_has_a_name(self, generator):
        assert generator.name

    async def test_text_comes_first_and_one_final_event_last(self, generator):
        events = [event async for event in generator.stream(REQUEST)]

        assert "".join(event.text for event in events).strip()
        assert [event.final for event in events] == [False] * (len(events) - 1) + [True]
        assert not events[-1].interrupted

    async def test_two_runs_do_not_disturb_each_other(self, generator):
        first, second = generator.stream(REQUEST), generator.stream(REQUEST)

        await anext(first)
        whole = [event async for event in second]
        rest = [event async for event in first]

        assert whole[-1].final
        assert rest[-1].final
