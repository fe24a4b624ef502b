"""The Markdown of an extractive answer in the language and script of the question; tables that compare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from ragcore.extractive.answer_patterns import TIME
from ragcore.extractive.sections import SectionAnswer
from ragcore.extractive.sentences import STEP, Statement
from ragcore.extractive.steps import Procedure
from ragcore.text.code_blocks import code_blocks, joined_texts, without_blocks
from ragcore.text.former_values import former_spans, names_former
from ragcore.text.question_type import wanted
from ragcore.text.scripts import cjk_share, columns, is_traditional, language_of, language_tag
from ragcore.text.sentences import split_sentences
from ragcore.types import Language, Source

WHOLE_ROWS = 12  # of a table in a summary; of a longer one the first FIRST_ROWS
FIRST_ROWS = 5
MOST_HAN = 0.05  # share of the letters of a text that is English all the same: a name, the head of a table
MOST_SHORT = 2  # further points of a short answer
NAME_COLUMNS = 24  # of a point's name that stands in front as a sentence of its own

Script = Literal["zh", "zht", "en"]
_UNNUMBERED = re.compile(r"^(?:\d{1,3}[.)、．]|[(（]\d{1,3}[)）]|[-*+•])\s*")
_MARKER = re.compile(r"\[(\d{1,3})\]")
_DIGITS = re.compile(r"\d+")
_OWN_LINES = re.compile(r"^\*\*[^*\n]+\*\*$", re.MULTILINE)  # what is not quoted stands in lines of its own
_ENGLISH_WORD = re.compile(r"(?<![A-Za-z])[a-z]{3,}(?![A-Za-z])")  # a question of nothing but codes has no language
_FIGURE = re.compile(r"(?<![\w.])[-−]?\d+(?:[.,:]\d+)*%?(?![A-Za-z])")
_JOINED_BEFORE = re.compile(r"[A-Za-z0-9][-./:,_]?\Z")
_JOINED_AFTER = re.compile(r"[-./:,_]?[A-Za-z0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Everything in an answer that is not a quotation."""

    supplement: str
    aspect: str
    statements: str
    closest: str  # above a passage of which it is not sure that it answers
    other_side: str  # above what is told of the `{other}` side of a thing alone, where `{asked}` is asked for
    more_rows: str  # below the first rows of a long table, with `{number}`
    source_language: str  # above a quotation in the other one of the two languages
    languages_differ: str  # below quotations of which only some are, with `{titles}` of their documents
    between_titles: str
    more_changes: str  # below the first differences of two editions, with `{number}`
    in_all: str  # above rows that are counted, with `{number}`
    of_these: str  # behind it, where only some of them are asked for, with `{number}`
    steps: str  # above steps that are counted, with `{number}`
    gap: str  # between a sentence and its marker, and between sentences
    not_cited: str  # behind a statement of a model, with `{facts}` that the source which it cites does not have
    not_in_sources: str  # the same where it cites none


_WORDS: dict[Script, Wording] = {
    "zh": Wording(
        supplement="补充要点",
        aspect="方面",
        statements="资料所述",
        closest="最相关的段落",
        other_side="资料中没有“{asked}”的说明，以下是“{other}”的情况",
        more_rows="另有 {number} 行",
        more_changes="另有 {number} 处不同",
        in_all="共 {number}",
        of_these="，其中 {number}",
        steps="{number} 步",
        source_language="原文为英文",
        languages_differ="以下来源的原文为英文：{titles}",
        between_titles="、",
        gap="",
        not_cited="（所引来源中没有：{facts}）",
        not_in_sources="（来源中没有：{facts}）",
    ),
    "zht": Wording(
        supplement="補充要點",
        aspect="方面",
        statements="資料所述",
        closest="最相關的段落",
        other_side="資料中沒有「{asked}」的說明，以下是「{other}」的情況",
        more_rows="另有 {number} 列",
        more_changes="另有 {number} 處不同",
        in_all="共 {number}",
        of_these="，其中 {number}",
        steps="{number} 步",
        source_language="原文為英文",
        languages_differ="以下來源的原文為英文：{titles}",
        between_titles="、",
        gap="",
        not_cited="（所引來源中沒有：{facts}）",
        not_in_sources="（來源中沒有：{facts}）",
    ),
    "en": Wording(
        supplement="Also relevant",
        aspect="Aspect",
        statements="What the sources say",
        closest="The passage that fits best",
        other_side="The sources do not tell this of “{asked}”, only of “{other}”",
        more_rows="{number} more rows",
        more_changes="{number} more differences",
        in_all="{number} in all",
        of_these=", of which {number}",
        steps="{number} steps",
        source_language="The source is in Chinese",
        languages_differ="Sources in Chinese: {titles}",
        between_titles=", ",
        gap=" ",
        not_cited=" (not in the cited source: {facts})",
        not_in_sources=" (not in the sources: {facts})",
    ),
}


def wording_for(question: str, language: Language) -> Wording:
    """The words for a question; traditional Chinese is recognised by its characters."""
    if (language if language != "other" else language_of(question)) != "zh":
        return _WORDS["en"]
    return _WORDS["zht" if is_traditional(question) else "zh"]


def with_source_language(question: str, blocks: list[str], words: Wording, sources: Sequence[Source]) -> list[str]:
    """The blocks of an answer below a line with their language, where it is not that of the question.

    Where only some of the cited sources are in the other language, a line below the answer names their documents.
    """
    quoted = _OWN_LINES.sub("", "".join(blocks))
    by_source = _by_source(quoted)
    other = {number for number, text in by_source.items() if _is_other_language(question, text, words)}
    language = "en" if words.gap else "zh"
    is_mixed = bool(other) and any(language_of(by_source[number]) == language for number in by_source.keys() - other)
    if not is_mixed and _is_other_language(question, quoted, words):
        return [f"**{words.source_language}**\n\n", *blocks]
    titles = dict.fromkeys(source.passage.title.replace("*", "") for source in sources if source.number in other)
    names = words.between_titles.join(title for title in titles if title)
    return [*blocks, f"\n\n**{words.languages_differ.format(titles=names)}**"] if names else blocks


def is_remark(line: str, words: Wording) -> bool:
    """Whether a line of an answer quotes nothing and only says how far the quotation answers, or its language."""
    return is_side_line(line, words) or line.strip(" *:：") == words.closest or is_language_line(line, words)


def is_side_line(line: str, words: Wording) -> bool:
    """Whether a line of an answer says that only the other side of a thing is told."""
    return line.strip(" *").startswith(words.other_side.partition("{")[0])


def is_language_line(line: str, words: Wording) -> bool:
    """Whether a line of an answer says nothing but the language of its sources."""
    text = line.strip(" *")
    return text == words.source_language or text.startswith(words.languages_differ.partition("{")[0].strip())


@dataclass(frozen=True, slots=True)
class LanguageNote:
    """What a line of an answer says of its sources: their language; `titles`: of some of them, "" for all."""

    language: Literal["zh", "en"]
    titles: str


def language_note(line: str) -> LanguageNote | None:
    """What a line of an answer says of the language of its sources, in any language; None for other lines."""
    for words in _WORDS.values():
        language: Literal["zh", "en"] = "zh" if words.gap else "en"
        before = words.languages_differ.partition("{")[0]
        if line == words.source_language:
            return LanguageNote(language, "")
        if line.startswith(before) and len(line) > len(before):
            return LanguageNote(language, line.removeprefix(before))
    return None


def _is_other_language(question: str, quoted: str, words: Wording) -> bool:
    if words.gap:
        return language_of(quoted) == "zh" and _ENGLISH_WORD.search(question) is not None
    return language_tag(quoted) == "en" and cjk_share(quoted) <= MOST_HAN


def _by_source(quoted: str) -> dict[int, str]:
    """What is quoted of each source, by its number: the text before its markers."""
    by_number: dict[int, str] = {}
    pieces, text = _MARKER.split(without_blocks(quoted)), ""
    for piece, number in zip(pieces[::2], pieces[1::2], strict=False):
        text = piece if piece.strip() else text  # one text may have several markers
        by_number[int(number)] = f"{by_number.get(int(number), '')}\n{text}"
    return by_number


def document_line(blocks: Sequence[str], sources: Sequence[Source]) -> str:
    """The title of the document that the blocks cite first, on a line of its own; "" where they cite none."""
    first = first_cited("".join(blocks), sources)
    return f"**{first.passage.title.replace('*', '')}**\n\n" if first is not None and first.passage.title else ""


def first_cited(text: str, sources: Sequence[Source]) -> Source | None:
    """The source of the first marker in an answer; None where it cites none."""
    match = _MARKER.search(without_blocks(text))
    return next((source for source in sources if match and source.number == int(match[1])), None)


def cite(text: str, number: int, words: Wording) -> str:
    """A sentence with the marker of its source; a block of code and what leads to it have one each."""
    if "```" not in text or not (blocks := code_blocks(text)):
        return f"{text}{words.gap}[{number}]"
    lead = text[: blocks[0].start].strip()
    code = "".join(f"\n\n{block.markdown}\n[{number}]\n\n" for block in blocks)
    return f"{cite(lead, number, words)}{code}" if lead else code


def cite_sentences(text: str, number: int, words: Wording) -> str:
    """Every sentence of a text with the marker of its source; a short name in front, "Detection.", shares the next."""
    grouped: list[str] = []
    for sentence in map(str.strip, split_sentences(text)):
        is_code = sentence.startswith("```")
        if grouped and columns(grouped[-1]) <= NAME_COLUMNS and not is_code:
            grouped[-1] += f"{words.gap}{sentence}"
        elif sentence:
            grouped.append(sentence)
    return words.gap.join(cite(sentence, number, words) for sentence in grouped)


def join_cited(group: Iterable[Statement], words: Wording) -> str:
    """Sentences, each with its marker."""
    return words.gap.join(cite(s.text, s.source.number, words) for s in group)


def supplement(points: Sequence[Sequence[Statement]], words: Wording) -> str:
    """The block of further points under its heading; "" without any."""
    lines = "\n".join(f"- {join_cited(point, words)}" for point in points)
    return f"\n\n**{words.supplement}**\n\n{lines}" if lines else ""


def with_short_supplement(blocks: Sequence[str], words: Wording) -> list[str]:
    """The blocks of an answer with MOST_SHORT further points at most."""
    head = f"\n\n**{words.supplement}**\n\n"
    mark = "\n- "
    return [mark.join(block.split(mark)[: 1 + MOST_SHORT]) if block.startswith(head) else block for block in blocks]


def listing(items: Sequence[tuple[str, int]], words: Wording, *, numbered: bool) -> str:
    """Points (text, number of the source), each with its marker; numbered where their order matters."""
    marks = (f"{n}. " if numbered else "- " for n in range(1, len(items) + 1))
    lines = (cite_sentences(text, number, words) for text, number in items)
    return "\n".join(f"{mark}{line}" for mark, line in zip(marks, lines, strict=True))


def section_blocks(answer: SectionAnswer, words: Wording) -> list[str]:
    """A section as blocks of Markdown: its sentences, and the points of its list or its table."""
    number = answer.source.number
    blocks = [words.gap.join(cite(text, number, words) for text in (*answer.sentences, *answer.code))]
    if answer.items:
        items = [(text, source.number) for text, source in answer.items]
        blocks.append(listing(items, words, numbered=answer.is_ordered))
    if answer.table is not None:
        blocks.append(rows_table(answer.table.head, answer.table.rows, number, words))
    return _apart([block for block in blocks if block])


def procedure_blocks(procedure: Procedure, words: Wording) -> list[str]:
    """Steps as a numbered list, with what stands before and behind them."""
    number, announced = procedure.steps[0][0].source.number, procedure.steps[0][0].announced
    step_texts = (
        joined_texts(statement.text.removeprefix(statement.announced).strip() for statement in step)
        for step in procedure.steps
    )
    items = [(_UNNUMBERED.sub("", text), number) for text in step_texts]
    steps = listing(items, words, numbered=STEP.match(items[0][0]) is None)
    lead = cite(announced, number, words) if announced else ""
    before, behind = (passage_block(part, words) if part else "" for part in (procedure.before, procedure.behind))
    return _apart([text for text in (before, lead, steps, behind) if text])


def passage_block(statements: Sequence[Statement], words: Wording) -> str:
    """Sentences, each with its marker; rows of one table that stand together as a table."""
    blocks = []
    for (head, number), group in groupby(statements, key=lambda s: (s.head, s.source.number)):
        members = list(group)
        blocks.append(
            rows_table(head, [s.cells for s in members], number, words) if head else join_cited(members, words)
        )
    return "".join(_apart(blocks))


def point_blocks(runs: Sequence[Sequence[Statement]], words: Wording) -> list[str]:
    """Runs as points, one run as plain sentences; rows of tables stand as a table behind the points."""
    plain = [run for run in runs if not run[0].head]
    tables_ = [passage_block(run, words) for run in runs if run[0].head]
    lines = [join_cited(run, words) for run in plain]
    block = "\n".join(f"- {line}" for line in lines) if len(lines) > 1 else "".join(lines)
    return _apart([text for text in (block, *tables_) if text])


def summary_blocks(runs: Sequence[Sequence[Statement]], words: Wording) -> list[str]:
    """Points in their order, each table where it stands: a small one whole, of a long one the first rows."""
    blocks = []
    for is_table, group in groupby(runs, key=lambda run: bool(run[0].head)):
        members = list(group)
        blocks += [_whole_table(run, words) for run in members] if is_table else point_blocks(members, words)
    return _apart([block.strip() for block in blocks])


def _whole_table(rows: Sequence[Statement], words: Wording) -> str:
    """Rows of one table, each with the marker of its own passage; the number of those that are left out is said."""
    listed = rows if len(rows) <= WHOLE_ROWS else rows[:FIRST_ROWS]
    lines = table(listed[0].head, [row_marked(row.cells, row.source.number, words) for row in listed])
    hidden = len(rows) - len(listed)
    return f"{lines}\n\n**{words.more_rows.format(number=hidden)}**" if hidden else lines


def _apart(blocks: Sequence[str]) -> list[str]:
    return [block if at == 0 else f"\n\n{block}" for at, block in enumerate(blocks)]


def rows_table(head: Sequence[str], rows: Sequence[Sequence[str]], number: int, words: Wording) -> str:
    """Rows of a source's table below its head, each with the marker in its last filled cell."""
    return table(head, [row_marked(row, number, words) for row in rows])


def row_marked(row: Sequence[str], number: int, words: Wording) -> list[str]:
    """The cells of a row with the marker in the last filled one."""
    last = max((at for at, cell in enumerate(row) if cell), default=0)
    return [cite(cell, number, words) if at == last else cell for at, cell in enumerate(row)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a | inside a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def with_figure(question: str, text: str) -> str:
    """The sentence with the figure that was asked for in bold, if it holds exactly one that the question does not.

    Nothing is bold where that would cut a clock time, a number or a code in two: "Tuesday 01:00", "123ms", "LTE-14".
    """
    kind = wanted(question)
    if kind not in ("number", "time") or "```" in text:
        return text
    pattern = TIME if kind == "time" else _FIGURE
    question_digits = set(_DIGITS.findall(question))
    former, is_former = former_spans(text), names_former(question)
    figures = [
        m
        for m in pattern.finditer(text)
        if any(start <= m.start() < end for start, end in former) == (is_former and bool(former))
        and (digits := set(_DIGITS.findall(m.group())))
        and not digits <= question_digits
    ]
    if len(figures) != 1:
        return text
    start, end = figures[0].span()
    if _JOINED_BEFORE.search(text, max(0, start - 2), start) or _JOINED_AFTER.match(text, end):
        return text
    return f"{text[:start]}**{text[start:end]}**{text[end:]}"
