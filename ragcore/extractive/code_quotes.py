"""Blocks of code in an answer: which of them a question is about, and how a long one is shown.

A block is quoted whole, as it was written. Of one with more lines than a reader takes in, the lines that answer are
shown, with a line of its own where some are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ragcore.extractive.choice import SentenceChoice
from ragcore.extractive.sentence_model import SentenceFeatures
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.code_blocks import LEFT_OUT, CodeBlock, code_blocks, fence_code, in_words, text_parts
from ragcore.text.source_code import asked_identifiers, readable_source, signature_of
from ragcore.text.tokenise import stop_words

MOST_LINES = 30  # of a block that is shown whole
WINDOW = 24  # lines of a longer one
UP_TO_BEGINNING = 4  # lines above the window in which a statement may begin
ASKED_WEIGHT = 5.0  # log-odds of code where a question asks for it, as far as it is about the same
LEAST_SHARE = 0.3  # of that weight, whatever the words of code and question
AS_GOOD = 1.5  # log-odds below the best block from which another one is left out
NAMED_WEIGHT = 3.0  # log-odds of code with an identifier that the question names

_LANGUAGES = {
    "python": ("python", "py", "python3", "pycon"),
    "bash": ("bash", "sh", "shell", "console", "zsh", "shell-session"),
    "sql": ("sql", "mysql", "postgresql", "plpgsql", "sqlite"),
    "javascript": ("javascript", "js", "jsx", "node", "mjs"),
    "typescript": ("typescript", "ts", "tsx"),
    "java": ("java",),
    "kotlin": ("kotlin", "kt"),
    "rust": ("rust", "rs"),
    "golang": ("go", "golang"),
    "c++": ("c++", "cpp", "cc", "hpp"),
    "matlab": ("matlab", "m", "octave"),
    "yaml": ("yaml", "yml"),
    "json": ("json", "jsonc", "json5"),
    "xml": ("xml",),
    "powershell": ("powershell", "ps1", "pwsh"),
    "dockerfile": ("dockerfile", "docker"),
}
_ASKS = re.compile(
    r"\b(?:source|sample|example)?\s?(?:code|snippets?|scripts?|commands?|functions?|methods?|syntax|regex|curl|cli)\b"
    r"|\bcommand[- ]line\b|\b(?:config(?:uration)?|yaml|json) (?:file|block|example)\b|\bimplement(?:ed|ation|s)?\b"
    r"|\b(?:shell|terminal|one-liner|api call)\b"
    r"|代码|代碼|源码|源碼|命令|指令|脚本|腳本|函数|函數|示例|样例|範例|终端|終端|怎么写|怎麼寫|如何写|配置文件|调用|調用|正则",
    re.IGNORECASE,
)
_LANGUAGE_NAMES = re.compile(rf"(?<![\w+])(?:{'|'.join(map(re.escape, _LANGUAGES))})(?![\w+])", re.IGNORECASE)
_ONLY_MARK = re.compile(r"^(?:[-*]|\d{1,3}\.)[ \t]*$", re.MULTILINE)
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+ ?(?=\S|\Z)")


def asks_code(question: str) -> bool:
    """Whether a question wants to see code: a command, a function, a configuration, or something in a language."""
    return _ASKS.search(question) is not None or _LANGUAGE_NAMES.search(question) is not None


def gives_code(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> FloatArray:
    """float32[n]: log-odds by which blocks of code answer better where the question asks for code; 0 for sentences.

    The more of the question's other words a block, the sentence before it and its headings have, the more. Code in
    another language than the one that the question names gets none, code with an identifier from the question more.
    """
    worth = np.zeros(len(statements), np.float32)
    places = [at for at, statement in enumerate(statements) if statement.is_code]
    if not places:
        return worth
    names, is_asked = asked_identifiers(question), asks_code(question)
    languages = {name.lower() for name in _LANGUAGE_NAMES.findall(question)}
    other_words = _LANGUAGE_NAMES.sub(" ", _ASKS.sub(" ", question))
    words = set(tokenizer.terms(other_words)) - stop_words()
    for at in places:
        statement = statements[at]
        block = code_blocks(statement.text)[0]
        if names and any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", block.code) for name in names):
            worth[at] += NAMED_WEIGHT
        if is_asked and _is_in(block, languages):
            headings = " ".join((statement.heading, *statement.source.passage.heading_path))
            have = {*statement.terms, *tokenizer.terms(readable_source(headings))}
            share = len(words & have) / len(words) if words else 1.0
            worth[at] += ASKED_WEIGHT * (LEAST_SHARE + (1 - LEAST_SHARE) * share)
    return worth


def without_other_code(
    question: str, features: SentenceFeatures, scores: FloatArray
) -> tuple[SentenceFeatures, FloatArray]:
    """The sentences and their scores, float32[n], without the code that stands beside what answers.

    Code stays where it is asked for, or answers as well as the best sentence.
    """
    if asks_code(question):
        return features, scores
    stays = np.array([not s.is_code for s in features.statements], bool) | (scores >= scores.max() - AS_GOOD)
    if stays.all():
        return features, scores
    statements = tuple(s for s, is_kept in zip(features.statements, stays, strict=True) if is_kept)
    return replace(features, statements=statements, matrix=features.matrix[stays]), scores[stays]


def asked_code(choice: SentenceChoice, statements: Sequence[Statement], scores: FloatArray) -> tuple[Statement, ...]:
    """The block that answers best, or some that answer as well, each behind the sentence that leads to it.

    `scores`: float32[n], log-odds of the statements. What else is said around code is not what was asked for.
    """
    score_of = {id(s): float(score) for s, score in zip(statements, scores, strict=True)}
    chosen = {id(s): s for group in (choice.core, *choice.points) for s in group}
    least = score_of[id(choice.best)] - AS_GOOD
    blocks = [choice.best] + [
        s for s in chosen.values() if s.is_code and s is not choice.best and score_of[id(s)] >= least
    ]
    before = {(s.source.number, s.position + 1): s for s in chosen.values() if not (s.is_code or s.is_row)}
    group: list[Statement] = []
    for block in blocks:
        lead = None if block.announced else before.get((block.source.number, block.position))
        group += [block] if lead is None else [lead, block]
    return tuple(group)


def with_code_set(question: str, text: str, tokenizer: Tokenizer) -> str:
    """The Markdown of an answer with its blocks of code apart from the words, and long ones cut to what is asked."""
    if not code_blocks(text):
        return text
    parts = (
        part if isinstance(part, str) else f"{fence_code(_shown(question, part, tokenizer), part.language)}\n"
        for part in text_parts(text)
    )
    apart = in_words("".join(parts), lambda words: _BLANK_LINES.sub("\n\n", _ONLY_MARK.sub("", words)))
    return apart.rstrip("\n")


def _is_in(block: CodeBlock, languages: set[str]) -> bool:
    """Whether code may be in one of the wanted languages; code without a language may be in any."""
    return not languages or not block.language or any(block.language.lower() in _LANGUAGES[name] for name in languages)


def _shown(question: str, block: CodeBlock, tokenizer: Tokenizer) -> str:
    lines = block.code.split("\n")
    if len(lines) <= MOST_LINES:
        return block.code
    signature = signature_of(block.code)
    head = next((at for at, line in enumerate(lines) if signature and line.startswith(signature)), 0)
    start = _window(question, lines, tokenizer)
    end = min(start + WINDOW, len(lines))
    chosen = [*([head] if head < start else []), *range(start, end)]
    lines_shown: list[str] = []
    for before, at in zip([-1, *chosen], chosen, strict=False):
        if at > before + 1:
            lines_shown.append(f"{_indentation(lines[at])}{LEFT_OUT}")
        lines_shown.append(lines[at])
    return "\n".join([*lines_shown, *([f"{_indentation(lines[end - 1])}{LEFT_OUT}"] if end < len(lines) else [])])


def _window(question: str, lines: Sequence[str], tokenizer: Tokenizer) -> int:
    """The line with which the lines begin that have most of the question's words; the first one where none has any."""
    words = set(tokenizer.terms(question)) - stop_words()
    hits = np.array([len(words & set(tokenizer.terms(readable_source(line)))) for line in lines], np.float32)
    if not hits.any():
        return 0
    last = len(lines) - WINDOW
    sums = np.convolve(hits, np.ones(WINDOW), "valid")
    best = int(sums.argmax())
    first_hit = best + int(np.flatnonzero(hits[best : best + WINDOW])[0])
    start = min(max(first_hit - UP_TO_BEGINNING, 0), last)
    above = range(start, min(first_hit, last) + 1)
    return min(above, key=lambda at: (not lines[at].strip(), len(_indentation(lines[at])), -at))


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
