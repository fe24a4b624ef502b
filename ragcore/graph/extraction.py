"""Facts that a passage says plainly, without a language model.

Only sentences whose subject stands at their beginning and whose relation is one of a list of cues are read: few facts,
most of them right. Each keeps the sentence that says it. Definitions, abbreviations, lines of "key: value" and rows of
tables are read, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.graph.denials import is_denied, without_comparison, without_emphasis
from ragcore.graph.triples import Triple
from ragcore.text.scripts import CJK, HAN, cjk_share
from ragcore.text.sentences import split_sentences
from ragcore.text.word_lists import read_section_lines, split_entries

RULES_VERSION = "facts-4"  # stored with what was read; other rules read again
MOST_FACTS = 40  # of a passage
RULE_CONFIDENCE = {"table": 0.85, "key_value": 0.8, "abbreviation": 0.9, "definition": 0.8, "cue": 0.75}  # as measured
DEFAULT_CONFIDENCE = 0.7  # of every relation that was read, by the row U8; the option `confidence` of facts chooses
_MAX_SENTENCE = 400  # characters
_SUBJECT_WORDS = 6
_SUBJECT_HAN = 14
_OBJECT_WORDS = 10
_OBJECT_HAN = 24
_CLAUSE = re.compile(
    r",(?!\d| (?:19|20)\d\d)|[;:(（]| (?:which|that|who|where|when|while|because|so|but|if|as|and then|in order|"
    r"by means|during|after|before|with|such as|together|including|unless|until|"
    r"and (?:it|this|that|they|is|are|has|have|takes|can))\b"
)
_CLAUSE_ZH = re.compile(r"[，,；;：:（(。！？、]")
_NO_SUBJECT = re.compile(
    r"^(?:it|this|that|these|those|there|he|she|they|we|you|i|one|some|many|most|each|all|both|here|what|which|who|how|when|"
    r"where|if|in|on|at|by|for|from|to|as|with|after|before|during|although|while|since|because|however|but|and|or|so|then|"
    r"also|note|see|his|her|its|their|our|my|such|another|other|no|not|even|though|unless|until|once|whereas|whether|due|"
    r"according|given|based|depending|within|without|under|through|via|like|unlike|similar|instead|rather|thus|therefore|"
    r"hence|moreover|furthermore|additionally|finally|first|second|third|next|currently|recently|today|now|further|overall|"
    r"generally|typically|usually|often|only|figure|table|clause|section|annex|chapter|appendix|example|step)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\b(?:this|that|these|those|such|its|their|our|my|his|her|above|following|same|possible)\b", re.I
)
_ADVERB = re.compile(
    r" (?:also|now|only|generally|typically|usually|often|mainly|currently|further|thus|therefore|still|always|"
    r"normally|mostly|primarily|then|hence|just|already)$",
    re.IGNORECASE,
)
_ANY_ZH = frozenset(
    ("公司", "本公司", "企业", "系统", "用户", "医院", "本院", "法院", "被告人", "被告", "原告", "患者", "政府", "项目",
     "平台", "方案", "结果", "报告", "部分", "问题", "方法", "事故", "疼痛",
     "同比", "环比", "双方", "各方", "彼此", "大家")
)  # fmt: skip
_ANY_WHOLE_ZH = re.compile("(?:证据|症状|情况|变化|方案|措施|内容|结果|计划|表现|方面|因素|原因|方式|手段)$")
_PART_ZH = re.compile("[是其该此这那]|一家|一种|一个")
_LOCAL = re.compile(r"^(?:(?:sub-?)?(?:clause|section)s?|figure|table|annex|terms of)\b", re.IGNORECASE)
_STRANDED = re.compile(r"(?: (?:in|of|by|for|to|on|at|from|and|or|the|an?)){1,8}$", re.IGNORECASE)
_WHOLES = ("contains", "包括")  # of these relations only names are subjects: "the plan includes" says nothing of a plan
_NO_SUBJECT_ZH = re.compile(
    "^(?:这|那|其|它|他|她|该|此|我|你|本|如|若|当|在|对|由|从|为|因|但|而|并|且|也|以|按|根据|通过|可|请|不|没|有|是|上述|下|每)"
)
_VERB_INSIDE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|may|will|shall|should|must|does|did|do|to)\b", re.I
)
_DEFINITION = re.compile(
    r"^(?:The |An? )?(?P<s>[^,;:.()]{2,80}?)(?: \([^()]{1,40}\))? "
    r"(?P<r>is an?|is the|is defined as|refers to|stands for|means) (?P<o>.+)$"
)
_DEFINITION_ZH = re.compile(
    rf"^(?P<s>[{HAN}A-Za-z0-9 \-/.]{{2,24}}?)(?:[（(][^（()）]{{1,40}}[)）])?"
    r"(?P<r>是一种|是一个|是一类|是指|指的是|的定义是|即为)(?P<o>.+)$"
)
_ABBREVIATION = re.compile(
    r"(?<![\w-])(?P<long>(?:[A-Za-z]\w{0,40}[ -]){1,7}[A-Za-z]\w{0,40}) \((?P<short>[A-Z][A-Za-z0-9-]{1,9})\)"
)
_KEY_VALUE = re.compile(
    r"^\s*(?:[-*•]\s*)?\**(?P<k>[^\s:：*|#`][^:：*|#`\n]{0,38}?)\**\s*(?:[:：]\s+|：)\**\s*(?P<v>[^\s:：|#`][^|#`\n]{0,78})$"
)
_TABLE_ROW = re.compile(r"^\s*\|(.+)\|\s*$")
_TABLE_RULE = re.compile(r"^\s*\|[\s:|-]+\|\s*$")
_CAPTION = re.compile(
    r"^(?:\d+\s|(?:figure|fig\.?|table|sheet|step|note|example|case|source|page|chapter|part|annex)\b|图|表|步骤|注|例|案例|来源|"
    r"资料来源|数据来源|示例|第\s*\d|.*\b(?:19|20)\d\d\b)",
    re.IGNORECASE,
)
_SECTION = re.compile(r"^\s*(?:#|\d+(?:\.\d+)+\s|\*\*\s*\d+[.)、])")
_IN_BRACKETS = re.compile(r"\s{0,9}[(（][^()（）]*[)）]")
_NUMBERED = re.compile(r"^(?:\d{1,2}[.)、]\s+|\d+(?:\.\d+)+\s+)|[*`#]+")
_PROPER = re.compile(r"^(?:[\"“‘'(]?[A-Z0-9][\w.'’-]*[\"”’)]?|of|the|and|de|for|in|von|van|la|&|/|-|to|a)$")
_ADVERB_END = re.compile(
    "[不没还共也都均只会能可将已曾被要就才又再仅其时内间里用它他她的并而且所主过]$|不仅$|没有$|之前$|此前$|以后$|其中$|目录中$"
)
_EMPTY = frozenset(("-", "–", "—", "/", "N/A", "n/a", "未知", "无", "--", "…", "X", "x", "✓", "√"))
_MOST_TOPIC = 60  # characters of a heading that names a thing
_HAS_ANY = re.compile(r"[^\W_]")
_HAS_WORD = re.compile(f"[A-Za-z{CJK}]{{2}}|[{HAN}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A fact with the text that says it, which rule read it, and how often that rule is right, 0 to 1."""

    triple: Triple
    sentence: str
    rule: str
    confidence: float


def extract_facts(text: str, *, title: str = "", heading_path: Sequence[str] = ()) -> list[ExtractedFact]:
    """Different facts of a passage in Markdown, in order, at most MOST_FACTS.

    `title` and headings name what it is about.
    """
    topic = _clean(heading_path[-1] if heading_path else title)
    facts: dict[tuple[str, str, str], ExtractedFact] = {}
    for fact in _every(text, topic):
        triple = fact.triple
        facts.setdefault((triple.subject.lower(), triple.relation, triple.object.lower()), fact)
        if len(facts) >= MOST_FACTS:
            break
    return list(facts.values())


def _every(text: str, topic: str) -> Iterator[ExtractedFact]:
    prose: list[str] = []
    table: list[str] = []
    properties: list[ExtractedFact] = []
    for line in [*text.splitlines(), ""]:
        if _TABLE_ROW.match(line):
            table.append(line)
            continue
        if table:
            yield from _table(table)
            table = []
        match = _KEY_VALUE.match(line)
        if match and topic and not line.rstrip().endswith((".", "。", ";", "；")):
            properties += _key_value(match, topic, line)
        elif line.strip() and not line.lstrip().startswith(("#", "```", ">", "!")):
            prose.append(line.strip())
    yield from _once_each(properties)
    for sentence in split_sentences("\n".join(prose)):
        plain = _clean(sentence)
        if 8 <= len(plain) <= _MAX_SENTENCE:
            yield from _sentence(plain)


def _clean(text: str) -> str:
    return _NUMBERED.sub("", text).strip(" \t-•")


def _fact(subject: str, relation: str, object_: str, sentence: str, rule: str) -> ExtractedFact:
    triple = Triple(subject=subject, relation=relation, object=object_)
    return ExtractedFact(triple=triple, sentence=sentence[:_MAX_SENTENCE], rule=rule, confidence=RULE_CONFIDENCE[rule])


# ── tables and lines ────────────────────────────────────────────────────────────────────────────


def _table(lines: Sequence[str]) -> Iterator[ExtractedFact]:
    """First cell × head of the column × cell; tables without a head or with long cells say nothing plain."""
    plain = (match[1] for line in lines if not _TABLE_RULE.match(line) and (match := _TABLE_ROW.match(line)))
    rows = [[_clean(cell) for cell in line.split("|")] for line in plain]
    if len(rows) < 2 or not any(_TABLE_RULE.match(line) for line in lines[:2]):
        return
    head = rows[0]
    if len(set(head)) < len(head) or not all(head[1:]) or any(name[0].isdigit() for name in head[1:]):
        return  # a title over several columns, tables side by side, or a first row of values
    firsts = Counter(row[0] for row in rows[1:])
    if len(firsts) < 0.9 * (len(rows) - 1):
        return  # the first column does not name the rows
    for row in rows[1:]:
        if len(row) != len(head) or not _is_name(row[0]) or firsts[row[0]] > 1 or row[0] == head[0]:
            continue
        if row[0].endswith((":", "：")):
            continue
        for name, cell in zip(head[1:], row[1:], strict=True):
            if _is_name(name, words=5) and cell and len(cell) <= 80 and cell not in _EMPTY:
                yield _fact(row[0], name, cell, f"{row[0]} | {name} | {cell}", "table")


def _is_name(text: str, *, words: int = _SUBJECT_WORDS) -> bool:
    return bool(text) and len(text) <= 60 and len(text.split()) <= words and bool(_HAS_WORD.search(text))


def _key_value(match: re.Match[str], topic: str, line: str) -> Iterator[ExtractedFact]:
    key, value = _clean(match["k"]), match["v"].strip(" *").rstrip("，,;；。")
    if "\\" in line or ":" in value or "：" in value or value in _EMPTY or not _HAS_ANY.search(value):
        return
    if not 1 < len(topic) <= _MOST_TOPIC or "\\" in topic or _clean(line) == topic:
        return
    if _SECTION.match(line) or _CAPTION.match(key):
        return
    if (
        _is_name(key, words=4)
        and not key.startswith("http")
        and len(value.split()) <= _OBJECT_WORDS
        and value[:2] != "//"
    ):
        yield _fact(topic, key, value, line.strip(), "key_value")


def _once_each(properties: Sequence[ExtractedFact]) -> Iterator[ExtractedFact]:
    """Without those that the passage says twice in different words: they are not of what the heading names."""
    values: dict[tuple[str, str], set[str]] = {}
    for fact in properties:
        values.setdefault((fact.triple.subject, fact.triple.relation), set()).add(fact.triple.object)
    yield from (fact for fact in properties if len(values[fact.triple.subject, fact.triple.relation]) == 1)


# ── sentences ───────────────────────────────────────────────────────────────────────────────────


def _sentence(text: str) -> Iterator[ExtractedFact]:
    chinese = cjk_share(text) > 0.3
    for match in _ABBREVIATION.finditer(text):
        if full := _spelt_out(match["long"], match["short"]):
            yield _fact(match["short"], "stands for", full, text, "abbreviation")
    body = text.strip().rstrip(".。!！?？ ")
    if text.rstrip().endswith(("?", "？", ":", "：")):
        return
    definition = (_DEFINITION_ZH if chinese else _DEFINITION).match(body)
    if definition and (ends := _ends(definition["s"], definition["o"], chinese)) and _is_kind(ends, definition["r"]):
        yield _fact(ends[0], _definition_word(definition["r"], chinese), ends[1], text, "definition")
    for cue, english, native in _cues_in(body):
        relation = native if chinese else english
        ends = _ends(body[: cue.start()], body[cue.end() :], chinese)
        if ends is not None and chinese:
            ends = without_comparison(ends, relation)
        if ends is not None and _is_told(ends, relation):
            yield _fact(ends[0], relation, ends[1], text, "cue")
            return


def _cues_in(text: str) -> list[tuple[re.Match[str], str, str]]:
    """Cues of a sentence with their relation in both languages, the first one first; of two at one place the longer."""
    matches = [(cue, english, native) for english, native, pattern in _cues() if (cue := pattern.search(text))]
    return sorted(matches, key=lambda match: (match[0].start(), -match[0].end()))


def _is_told(ends: tuple[str, str], relation: str) -> bool:
    """Whether the fact stands by itself: no part of the same text is its object, and a whole has a name."""
    if _LOCAL.match(ends[1]):
        return False
    if relation not in _WHOLES:
        return True
    subject = ends[0]
    if not subject.isascii():
        return not _ANY_WHOLE_ZH.search(subject)
    return any(c.isupper() or c.isdigit() for c in subject[1:])


def _is_kind(ends: tuple[str, str], phrase: str) -> bool:
    """ "X is a Y" says a kind where X is a name and Y more than one word."""
    if not phrase.isascii() or not phrase.startswith("is "):
        return True
    words = ends[0].split()
    is_named = all(_PROPER.match(word) for word in words) and (len(words) > 1 or any(c.isupper() for c in ends[0][1:]))
    return phrase == "is defined as" or (is_named and len(ends[1].split()) > 1)


def _definition_word(phrase: str, chinese: bool) -> str:
    if chinese:
        return "是"
    return "is a" if phrase.startswith("is a") else "is" if phrase == "is the" else "means"


def _ends(before: str, after: str, chinese: bool) -> tuple[str, str] | None:
    """Subject and object of a sentence, None where one of them is no plain name."""
    subject = _ADVERB.sub("", re.sub(r"^(?:the|an?) ", "", before.strip(), flags=re.IGNORECASE))
    subject = without_emphasis(subject) if chinese else subject
    after = _IN_BRACKETS.sub("", after)
    object_ = (_CLAUSE_ZH if chinese else _CLAUSE).split(after.strip(), maxsplit=1)[0].strip()
    object_ = _STRANDED.sub("", object_)
    if not subject or not object_ or not _HAS_WORD.search(object_) or subject.count("(") != subject.count(")"):
        return None
    if object_.startswith(("to ", "that ")):
        return None  # what somebody does or what is said of it, not a thing
    if is_denied(subject, object_, chinese=chinese):
        return None
    if chinese:
        if (
            len(subject) > (20 if subject[0].isascii() else _SUBJECT_HAN)
            or _PART_ZH.search(subject)
            or _NO_SUBJECT_ZH.match(subject)
            or _CLAUSE_ZH.search(subject)
            or len(object_) > _OBJECT_HAN
        ):
            return None
        if subject in _ANY_ZH or _ADVERB_END.search(subject) or object_[0] in "过了着的不于" or "此前" in subject:
            return None
        return (subject, object_) if len(object_) > 1 and len(subject) > 1 else None
    if len(subject.split()) > _SUBJECT_WORDS or _NO_SUBJECT.match(subject) or _VERB_INSIDE.search(subject):
        return None
    if _POINTS_BACK.search(subject) or (before.lower().startswith("the ") and subject.isalpha() and subject.islower()):
        return None  # "the function" was named before
    if _CLAUSE.search(subject) or not _HAS_WORD.search(subject):
        return None
    object_ = re.sub(r"^(?:the|an?) ", "", object_, flags=re.IGNORECASE)
    return (subject, object_) if 0 < len(object_.split()) <= _OBJECT_WORDS else None


def _spelt_out(words: str, short: str) -> str:
    """The last words whose first letters are those of the abbreviation; "" where they are not."""
    letters = [c.lower() for c in short if c.isalpha() and c.isupper()]
    parts = re.split(r"[ -]", words)
    if len(letters) < 2 or len(letters) > len(parts) or any(c.isdigit() and c not in words for c in short):
        return ""
    last_words = parts[-len(letters) :]
    if [part[0].lower() for part in last_words] != letters or last_words[0].lower() in (
        "the",
        "a",
        "an",
        "of",
        "and",
        "in",
    ):
        return ""
    return words[words.rfind(last_words[0]) :] if words.count(last_words[0]) == 1 else " ".join(last_words)


def cue_relations(*, chinese: bool) -> list[str]:
    """Names of the relations that the rules know."""
    return list(dict.fromkeys(native if chinese else english for english, native, _ in _cues()))


@cache
def _cues() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Relation in English and Chinese, and what stands between its ends."""
    cues = []
    for head, lines in read_section_lines("ragcore.graph", "fact_cues.txt").items():
        english, native = (part.strip() for part in head.split("|"))
        entries = sorted((e for line in lines for e in split_entries(line)), key=len, reverse=True)
        text = "|".join(rf"(?<=\s){re.escape(e)}(?=\s)" if e.isascii() else re.escape(e) for e in entries)
        cues.append((english, native, re.compile(text)))
    return tuple(cues)
