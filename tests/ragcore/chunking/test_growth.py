"""Reading any text costs in proportion to its length: no text holds a worker for long."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ragcore.chunking import HeadingTreeSplitter
from ragcore.cleaning import clean
from ragcore.options import ChunkingOptions, RepresentationOptions
from ragcore.parsing import parse
from ragcore.representations import represent
from ragcore.text.near_duplicates import sketch
from ragcore.text.sentences import split_sentences
from ragcore.text.token_count import EstimateCounter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import ParsedDocument
from tests.ragcore.long_texts import KINDS, MARKDOWN

TOKENIZER = JiebaTokenizer()
SIZE = 25_000  # characters
MOST_GROWTH = 2.5  # times the processor time, for twice the text
FLOOR_SECONDS = 0.05  # below it the clock and the garbage collector decide
TRIES = 3


def parsed(kind: str, size: int) -> ParsedDocument:
    return parse(KINDS[kind](size).encode(), name="a.md" if kind in MARKDOWN else "a.txt")


def read(document: ParsedDocument) -> None:
    """What ingestion does with a document between its parser and the embedding model."""
    counter = EstimateCounter()
    document = clean(document)
    for block in document.blocks:
        split_sentences(block.text)
    drafts = HeadingTreeSplitter(ChunkingOptions(), counter).split(document)
    made = represent(
        drafts,
        options=RepresentationOptions(),
        model=None,
        tokenizer=TOKENIZER,
        counter=counter,
        alive=lambda: None,
    )
    for entry in made.entries:
        TOKENIZER.terms(entry.text)
    sketch(document.markdown())


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_twice_the_text_costs_twice_the_time(kind):
    TOKENIZER.terms("预热")
    figures = []
    for _ in range(TRIES):
        short, long = (seconds(lambda size=size: read(parsed(kind, size))) for size in (SIZE, 2 * SIZE))
        figures.append((short, long))
        if long <= FLOOR_SECONDS + MOST_GROWTH * short:
            return
    pytest.fail(f"{kind}: {figures}")


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
def test_splitting_a_million_characters_takes_a_second(kind):
    splitter = HeadingTreeSplitter(ChunkingOptions(), EstimateCounter())
    documents = [clean(parsed(kind, size)) for size in (250_000, 1_000_000)]

    quarter, whole = (min(seconds(lambda one=one: splitter.split(one)) for _ in range(2)) for one in documents)

    assert whole <= 5 * quarter + FLOOR_SECONDS
    assert whole <= 1.5  # 1 s on a processor that nothing else uses


def test_a_long_text_is_cut_where_it_was_cut_when_all_of_it_was_counted():
    """Against the counter itself: each piece is the longest beginning that fits."""
    counter = EstimateCounter()
    text = KINDS["Chinese without ends"](3_000)
    [first, second, *_] = HeadingTreeSplitter(ChunkingOptions(overlap=0.0), counter).split(
        parse(text.encode(), name="a.txt")
    )

    assert first.text == counter.truncate(text, int(ChunkingOptions().max_tokens * 0.75))
    assert text.startswith(first.text + second.text)
