"""Sources in the other language that are not about the thing of the question."""

import pytest

from ragcore.answerability.across import lacks_thing
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source


class Dictionary:
    """A glossary of a few words."""

    CHINESE = {
        "显微镜": ("microscop",),
        "打印机": ("printer",),
        "交换机": ("switch",),
        "标准": ("standard",),
        "支持": ("support",),
    }

    def translations(self, word):
        return {}

    def meanings(self, word):
        return [frozenset({stem}) for stem in self.CHINESE.get(word, ())]


TOKENIZER = JiebaTokenizer(glossary=Dictionary())
PRINTERS = (source(1, "Hold your badge to the printer. It stands on the second floor."),)


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ("显微镜放在哪里", True),
        ("打印机放在哪里", False),
        ("交换机支持哪种标准，标准支持谁", False),  # the thing is a small part of the question
        ("where is the microscope", False),  # of English words too little is known
    ],
)
def test_a_question_that_is_mostly_one_thing_needs_a_source_that_speaks_of_it(question, lacks):
    assert lacks_thing(question, PRINTERS, tokenizer=TOKENIZER) == lacks
