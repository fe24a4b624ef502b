"""Names, abbreviations and things that a question asks about and no passage speaks of."""

from pathlib import Path

import pytest

from ragcore.answerability.unknown_things import unknown_things
from ragcore.text.glossary import CedictGlossary
from ragcore.text.tokenise import JiebaTokenizer

TEXTS = (
    "# Leave\n\nHoliday is 28 days. The pump PX-4 has a mean time between failures of 9,000 hours. The NEF is exposed.",
    "年休假按司龄给：不满三年 8 天。产假按国家规定。体检在三月，由行政部安排。澳大利亚的客户由悉尼办事处负责。",
)
KNOWN = {"holiday", "capit", "休假"}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return JiebaTokenizer(glossary=CedictGlossary(Path(tmp_path_factory.mktemp("words"))))


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("whats the capital of norway", "norway"),
        ("What is the holiday allowance in Portugal?", "Portugal"),
        ("who wrote the biography of galileo", "galileo"),
        ("which pumps come from toledo", "toledo"),
        ("what is the SLA of the PX-4", "SLA"),
        ("PX-4 ROHS or WEEE, is it registered", "WEEE"),
        ("PX-4的RPO是多少", "RPO"),
        ("PX-4过了CSA认证没有", "CSA"),
        ("探亲假一年几天", "探亲假"),
        ("请问托儿所怎么报名", "托儿所"),
        ("年终奖什么时候发", "年终奖"),
        ("健身房几点开门", "健身房"),
    ],
)
def test_a_name_that_nothing_speaks_of_is_unknown(question, name, tokenizer):
    assert name in unknown_things(question, TEXTS, KNOWN, tokenizer)


@pytest.mark.parametrize(
    "question",
    [
        "MTBF of the PX-4",  # its words stand there
        "What does the NEFT expose?",  # a slip
        "what do we sell in australia",  # in the other language
        "年休假一年几天",
        "产假怎么算",
        "体检什么时候做",
        "what is the allowance of holidays",
        "how many days of holiday do I get",
        "WHAT IS THE HOLIDAY ALLOWANCE",  # no acronyms
        "事假一年顶多能请几天",
    ],
)
def test_what_is_spoken_of_is_known(question, tokenizer):
    assert unknown_things(question, TEXTS, KNOWN, tokenizer) == []


def test_nothing_is_said_where_the_terms_of_the_passages_are_not_known(tokenizer):
    assert unknown_things("whats the capital of norway", TEXTS, (), tokenizer) == []
