"""Sources without a database."""

import pytest

from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

TEXTS = {
    1: "The random access procedure has four steps. The preamble is sent on PRACH with 64 sequences.",
    2: "载波聚合把多个载波合并使用，最多支持 32 个载波。",
    3: "Handover moves a terminal from one cell to another.",
}


@pytest.fixture(scope="session")
def tokenizer():
    return JiebaTokenizer()


@pytest.fixture
def sources():
    return [
        Source(
            number=number,
            passage=Passage(
                chunk=number, document=40 + number, version=number, text=text, title="", external_id=f"ts-38.{number}"
            ),
            text=text,
            score=0.9,
        )
        for number, text in TEXTS.items()
    ]
