import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.e5 import MultilingualEmbedder
from ragcore.extractive.choice import Limits
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import GeneratorContract, source

TOKENIZER = JiebaTokenizer()

MAST = source(
    1, "# The mast\n\nThe **mast** stands in Ulm. It was built in 1987 by Weber. It is painted red and white."
)
POWER = source(2, "The battery lasts four hours. The diesel engine of the mast was built later.", title="Power")
SLICING = source(
    1, "网络切片是把一张物理网络分成多张逻辑网络的技术。每个切片有自己的资源。切片由运营商管理。", title="网络切片"
)
RADIO = source(2, "网络切片也用于无线接入网。切片是按业务划分的。", title="无线接入")


@pytest.fixture
def generator():
    return ExtractiveGenerator(TOKENIZER)


def answer(generator, question, *sources, language="en"):
    return "".join(generator.blocks(GenerationRequest(question=question, sources=sources, language=language)))


class TestExtractiveGenerator(GeneratorContract):
    async def test_it_yields_block_by_block(self, generator):
        request = GenerationRequest(question="When was the mast built?", sources=(MAST, POWER), language="en")

        events = [event async for event in generator.stream(request)]

        assert len(events) == 3
        assert events[1].text.startswith("\n\n**Also relevant**")

    async def test_without_sources_there_is_only_the_final_event(self, generator):
        events = [event async for event in generator.stream(GenerationRequest(question="Why?", sources=()))]

        assert [(event.text, event.final) for event in events] == [("", True)]


def test_the_core_answer_holds_the_asked_for_sentence_with_its_marker(generator):
    text = answer(generator, "Who built the mast in Ulm?", POWER, MAST)

    assert "It was built in 1987 by Weber. [1]" in text.split("**Also relevant**")[0]


def test_a_chinese_question_gets_chinese_form(generator):
    text = answer(generator, "什么是网络切片？", SLICING, RADIO, language="zh")

    assert text.startswith("网络切片是把一张物理网络分成多张逻辑网络的技术。[1]")
    assert "**补充要点**" in text
    assert "Also relevant" not in text


@pytest.mark.parametrize("style", ["report", "simple", "precise"])
@pytest.mark.parametrize(
    ("question", "language", "sources", "line"),
    [
        ("乌尔姆的 mast 是哪一年建的？", "zh", (MAST, POWER), "**原文为英文**\n\n"),
        ("這個 mast 是哪一年建的？", "zh", (MAST, POWER), "**原文為英文**\n\n"),
        ("What is 网络切片 and who manages it?", "en", (SLICING, RADIO), "**The source is in Chinese**\n\n"),
    ],
)
def test_a_quotation_in_the_other_language_stands_below_a_line_that_says_so(
    generator, question, language, sources, line, style
):
    request = GenerationRequest(question=question, sources=sources, language=language, style=style)

    text = "".join(generator.blocks(request))

    assert text.startswith(line)
    assert text.count(line) == 1
    assert re.search(r"\[\d\]", text)


MAST_ZH = source(2, "乌尔姆的天线塔 mast 建于一九八七年，由韦伯建造。天线塔 mast 是红白相间的。", title="天线塔")


@pytest.mark.parametrize(
    ("question", "language", "line"),
    [
        ("Who built the mast in Ulm?", "en", "**Sources in Chinese: 天线塔**"),
        ("乌尔姆的天线塔 mast 是谁建造的？", "zh", "**以下来源的原文为英文：Handbook**"),
    ],
)
def test_of_quotations_in_both_languages_a_line_names_the_documents_in_the_other_one(
    generator, question, language, line
):
    text = answer(generator, question, MAST, MAST_ZH, language=language)

    assert {"[1]", "[2]"} <= set(re.findall(r"\[\d\]", text)), text
    assert text.endswith(f"\n\n{line}")
    assert text.count("**Sources in") + text.count("**以下来源") == 1
    assert not text.startswith("**")


@pytest.mark.parametrize(
    ("question", "language", "sources"),
    [
        ("Who built the mast in Ulm?", "en", (MAST, POWER)),
        ("什么是网络切片？", "zh", (SLICING, RADIO)),
        ("SLICING 2024?", "en", (SLICING, RADIO)),
    ],
    ids=["English", "Chinese", "a question of nothing but names"],
)
def test_a_quotation_in_the_language_of_the_question_has_no_such_line(generator, question, language, sources):
    text = answer(generator, question, *sources, language=language)

    assert text
    assert "The source is in" not in text
    assert "原文" not in text


def test_the_language_is_found_when_it_is_not_given(generator):
    assert "**补充要点**" in answer(generator, "什么是网络切片？", SLICING, RADIO, language="other")


def test_every_sentence_is_verbatim_and_cited(generator):
    text = answer(generator, "Who built the mast in Ulm?", MAST, POWER)

    pieces = re.findall(r"(.+?) \[(\d)\]\s*", text.replace("**Also relevant**", "").replace("\n\n- ", ""))
    plain = {1: MAST.text.replace("**", ""), 2: POWER.text}
    assert len(pieces) >= 3
    assert all(sentence.removeprefix("- ") in plain[int(number)] for sentence, number in pieces)
    assert (
        sum(len(sentence) + len(" [1]") for sentence, _ in pieces)
        >= len(text) - len("\n\n**Also relevant**\n\n- \n- ") - 5
    )


def test_headings_rules_and_links_are_no_statements():
    text = "# Title\n\n---\n\n5.7.1 General\n\nhttps://example.org/a\n\n| --- | --- |\nThe cell is on."

    assert [s.text for s in read_statements([source(1, text)], TOKENIZER)] == ["The cell is on."]


def test_a_sentence_that_announces_a_list_comes_with_its_first_item():
    text = "The cell restarts when:\n- the power fails.\n- the timer ends."

    assert [s.text for s in read_statements([source(1, text)], TOKENIZER)] == [
        "The cell restarts when: the power fails.",
        "the timer ends.",
    ]


def test_markers_of_the_source_itself_are_not_mistaken_for_citations(generator):
    text = answer(
        generator, "Where is the interface specified?", source(1, "The interface is specified in TS 32.297 [52].")
    )

    assert "TS 32.297 ［52］. [1]" in text
    assert "[52]" not in text


def test_the_same_statement_is_not_given_twice(generator):
    text = answer(generator, "When was the mast built?", MAST, source(2, "It was built in 1987 by Weber."))

    assert text.count("1987") == 1


def test_a_definition_is_preferred_to_a_mention(generator):
    text = answer(
        generator,
        "What is OCS?",
        source(
            1, "The OCS refuses expired accounts. All requests go to the Online Charging System (OCS). The OCS logs."
        ),
    )

    assert "Online Charging System (OCS)" in text.split("**Also relevant**")[0]


def test_the_answer_stays_short_however_long_the_sources_are(generator):
    long = "".join(
        f"第{n}号基站的电源模块型号为P{n}，额定功率为{n}千瓦，安装在机房的第{n}排机柜里。" for n in range(60)
    )

    text = answer(generator, "基站的电源模块功率是多少？", source(1, long), language="zh")

    assert len(re.findall("[\u4e00-\u9fff]", text)) <= 260


def test_a_figure_in_front_of_what_is_counted_is_the_answer(generator):
    text = answer(
        generator,
        "How many preambles are there?",
        source(1, "The preambles have 839 samples in cell 7. An occasion has 64 preambles. The 3 formats differ."),
    )

    assert "**64** preambles" in text


def test_no_sentences_from_here_and_there_where_none_states_the_fact(generator):
    told = [f"Process {n} of the handover writes {n + 3} lines into the journal of the cell." for n in range(40)]

    text = answer(generator, "After how many seconds is a handover given up?", source(1, " ".join(told)))

    lead, _, shown = text.partition("**The passage that fits best**\n\n")
    numbers = [int(n) for n in re.findall(r"Process (\d+)", shown.split("**Also relevant**")[0])]
    assert lead == ""
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert len(shown.split("**Also relevant**")[0]) < 600


def test_a_name_or_a_reply_comes_with_the_sentence_behind_it():
    text = (
        "1. **Detection.** The layer compares errors.\n2. **Request.** The device asks.\n\n"
        "**Is two-step always better?** No. The resources must be reserved.\n\n"
        "Step 2. Look for a cause. One port had it."
    )

    assert [s.text for s in read_statements([source(1, text)], TOKENIZER)] == [
        "Detection. The layer compares errors.",
        "Request. The device asks.",
        "Is two-step always better? No. The resources must be reserved.",
        "Step 2. Look for a cause. One port had it.",
    ]


def test_the_steps_of_a_plain_text_are_all_told(generator):
    steps = "\n\n".join(f"Step {n}. Do thing {n}. It takes {n} hours. Then check {n}." for n in range(1, 6))

    handled = source(1, f"The alarm is handled.\n\n{steps}")
    text = answer(generator, "What are the steps for handling an alarm?", handled)

    assert all(f"- Step {n}. Do thing {n}. It takes {n} hours. [1]" in text for n in range(1, 6))
    assert "- Step 5." not in answer(generator, "Why does thing 2 take so long?", handled)


def test_meaning_chooses_the_sentence_in_the_other_language_where_weights_are_known():
    class Translations:
        dimensions, sentence_space = 384, "plain"

        def __init__(self, model):
            self.model = model

        def embed_queries(self, texts):
            return np.eye(384, dtype=np.float32)[[int("feline" in t or "猫" in t) for t in texts]]

        def embed_sentences(self, sentences):
            return self.embed_queries([one.text for one in sentences])

        def trust(self, cjk_share):
            return 1.0

    told = [f"Bird number {n} sings in the garden." for n in range(30)]
    told[15] = "The feline number 15 sleeps in the garden."
    sources = (source(1, f"Dogs eat. Birds sing. Dogs eat sand. Ants walk. Fish swim.\n\n{' '.join(told)}"),)
    best = Limits(most_sentences=1)
    known, unknown = (
        ExtractiveGenerator(TOKENIZER, Translations(model), limits=best) for model in (MultilingualEmbedder.model, "x")
    )

    assert "feline" in answer(known, "猫什么时候睡觉？", *sources, language="zh")
    assert "feline" not in answer(unknown, "猫什么时候睡觉？", *sources, language="zh")
    assert answer(known, "When do dogs eat?", *sources) == answer(unknown, "When do dogs eat?", *sources)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_gives_an_answer_or_nothing(question, texts):
    sources = tuple(source(n, text) for n, text in enumerate(texts, 1))

    blocks = ExtractiveGenerator(TOKENIZER).blocks(GenerationRequest(question=question, sources=sources))

    assert bool(blocks) == any(read_statements([s], TOKENIZER) for s in sources)


def test_a_row_says_the_names_of_its_columns_and_the_head_is_no_statement():
    table = source(1, "| | Limit | Tool |\n|---|---|---|\n| Earth | 10 Ω | |\n| Mast | 1° | Level |\n")

    found = [statement.text for statement in read_statements([table], TOKENIZER)]

    assert found == ["Earth · Limit: 10 Ω", "Mast · Limit: 1° · Tool: Level"]


def test_rows_without_a_head_are_their_cells():
    table = source(1, "| Earth | 10 Ω |\n| Mast | 1° |\n")

    assert [statement.text for statement in read_statements([table], TOKENIZER)] == ["Earth · 10 Ω", "Mast · 1°"]


def test_the_row_that_answers_is_told_with_the_names_of_its_columns(generator):
    text = answer(
        generator,
        "How high may the resistance of the earthing be?",
        source(1, "| Checked | Limit |\n|---|---|\n| Resistance of the earthing | 10 Ω |\n| Lean of the mast | 1° |\n"),
    )

    assert text == "Resistance of the earthing · Limit: 10 Ω [1]"


def test_a_sentence_that_sends_the_reader_to_a_table_comes_with_it(generator):
    text = answer(
        generator,
        "What must be checked before the mast is climbed?",
        source(
            1, "Check the following before the mast is climbed.\n\n| Part | Limit |\n|---|---|\n| Rope | 5 years |\n"
        ),
    )

    assert text == (
        "Check the following before the mast is climbed. [1]\n\n| Part | Limit |\n| --- | --- |\n| Rope | 5 years [1] |"
    )


def test_what_a_document_says_of_itself_is_no_answer_unless_it_is_asked_for(generator):
    guide = source(1, "This guide describes how the mast is painted. Masts are painted red and white by climbers.")

    assert "This guide" not in answer(generator, "How is the mast painted?", guide)
    assert "This guide" in answer(generator, "What does this guide describe?", guide)


def test_a_definition_comes_with_the_sentence_that_goes_on_with_it_and_little_else(generator):
    text = answer(
        generator,
        "What is a feeder?",
        source(1, "Climbers fix the feeder. The feeder is a coaxial cable. It leads to the antenna. Feeders age."),
    )

    assert text.startswith("The feeder is a coaxial cable. [1] It leads to the antenna. [1]")


def test_a_question_of_the_source_is_never_the_answer(generator):
    text = answer(
        generator,
        "How long does the battery last?",
        source(1, "How long does the battery last? Four hours at full load."),
    )

    assert "?" not in text
    assert "Four hours at full load. [1]" in text


def test_emphasis_is_taken_off_and_factors_are_not():
    marked = source(1, "It is *very* steep, *indeed*. The area is 2 * 3 * 4 metres. The mass is 5*6*7 grams.")

    assert [s.text for s in read_statements([marked], TOKENIZER)] == [
        "It is very steep, indeed.",
        "The area is 2 * 3 * 4 metres.",
        "The mass is 5*6*7 grams.",
    ]


def test_a_sentence_with_every_word_of_a_short_question_comes_before_one_without_its_subject(generator):
    early = source(1, "# Weber Ltd\n\nIn 1972 the brothers founded a bakery.", title="Weber Ltd")
    right = source(2, "Weber Ltd was founded in 1987. It builds masts.", title="Weber Ltd")

    text = answer(generator, "When was Weber Ltd founded?", early, right)

    assert text.startswith("Weber Ltd was founded in **1987**. [2]")


def test_who_asks_in_which_document_something_stands_is_told_its_title_first(generator):
    rules = source(1, "Racks are left as they were found. The reset takes 25 minutes.", title="Rack rules")

    text = answer(generator, "which document says how long the reset takes", rules)

    assert text.startswith("**Rack rules**\n\n")
    assert "The reset takes **25** minutes" in text
    assert "Rack rules" not in answer(generator, "how long does the reset take", rules)


def test_a_document_that_is_named_is_summed_up_without_the_head_of_the_message(generator):
    mail = source(
        1,
        "- From: Ann <ann@example.org>\n- To: Ben\n- Date: 2026-03-03 10:00\n\nThe pump in hall 3 stood still for two "
        "days because a valve had been closed.\n\nThe valve is locked in the open position now.\n\nThe customer gets "
        "a credit of 300 euros for the two days.",
        title="RE: Pump in hall 3 stands still",
    )

    text = answer(generator, "can you sum up the mail thread about the pump in hall 3, just the main points", mail)

    assert text.startswith("- ")
    assert "From:" not in text
    assert "Date:" not in text
    assert all(said in text for said in ("valve had been closed", "credit of 300 euros"))


def test_a_point_of_a_long_list_answers_alone_with_all_its_sentences(generator):
    points = [
        f"Rule {n} is about the door of room {n}. It is kept shut at night, and the guard has the key."
        for n in range(9)
    ]
    house = source(
        1, "\n".join(f"- {point}" for point in [*points, "USB sticks are blocked. Exceptions last 14 days."])
    )

    text = answer(generator, "am I allowed to use a USB stick", house)

    assert text == "USB sticks are blocked. Exceptions last 14 days. [1]"


def test_in_a_conversation_the_sentence_about_its_subject_comes_first():
    sources = (
        source(
            1, "A second parking permit takes the reception desk, which approves it within 5 days.", title="Parking"
        ),
        source(
            2, "A bypass of the chamber takes the laboratory manager, who approves it within 5 days.", title="Chamber"
        ),
    )

    def first(earlier_question):
        request = GenerationRequest(
            question="who approves it", sources=sources, language="en", earlier_question=earlier_question
        )
        return ExtractiveGenerator(TOKENIZER).blocks(request)[0]

    assert first("May I have a second parking permit? who approves it").startswith("A second parking permit")
    assert first("May I have a bypass of the chamber? who approves it").startswith("A bypass of the chamber")


class Scores:
    """Log-odds of sentences by the words that they begin with; others are unlikely."""

    def __init__(self, **scores):
        self._scores = scores

    def scores(self, features):
        return np.array([self._scores.get(s.text.split()[0], -6.0) for s in features.statements], np.float32)


COURSES = source(
    1,
    "# Courses\n\n| Code | Title | Length |\n|---|---|---|\n| RG-7 | Rigger | 1 day |\n| RG-8 | Ropes | 2 days |\n"
    "\n# Certificates\n\nExtending RG-7 takes an online test of 30 questions.",
    title="Catalogue",
)


def test_a_row_does_not_answer_the_second_question_alone():
    rows_first = ExtractiveGenerator(TOKENIZER, scorer=Scores(**{"RG-7": 5.0, "Extending": 3.0}))
    both = answer(rows_first, "RG-7证书是哪一门课，到期了怎么续", COURSES, language="zh")
    one = answer(rows_first, "RG-7证书是哪一门课", COURSES, language="zh")

    assert "RG-7 · Title: Rigger" in both
    assert "Extending RG-7 takes an online test" in both
    assert "RG-7 · Title: Rigger" in one
    assert "Extending RG-7 takes an online test" not in one


def test_a_figure_in_the_unit_of_the_property_is_shown_beside_likelier_sentences():
    generator = ExtractiveGenerator(TOKENIZER, scorer=Scores(Reading=5.0, Torque=0.0))
    doors = source(1, "# Hinge\n\nReading the chapter saves time.", title="Doors")
    frames = source(2, "# Frame\n\nTorque: 3 N·m.", title="Frames")

    assert "Torque: 3 N·m." in answer(generator, "What is the torque of the screws?", doors, frames)
    assert "Torque: 3 N·m." not in answer(generator, "What is the colour of the screws?", doors, frames)
