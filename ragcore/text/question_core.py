"""The part of a message that asks, without the courtesies and the story around it.

"Good morning, I work from a hotel this week. Could you walk me through the VPN?" asks about the VPN. The words of the
story are words of no document; figures in it are taken for what is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from ragcore.text.codes import codes_in
from ragcore.text.scripts import columns, language_of
from ragcore.text.sentences import split_sentences

STORY_CLAUSES = 3  # from which on a Chinese message may tell a story; shorter ones are questions in parts
STORY_COLUMNS = 50
MOST_BACK = 4  # parts, in which one that leans may find what it refers to
OWN_CHARACTERS = 7  # below which a clause that asks leans on the one before it
KEPT_QUESTIONS = 1024

_CLAUSE = re.compile(r"[^，,。！？；!?;\s]+[！？!?]?")
_COURTESY_ZH = re.compile(
    r"(?:[你您]好|(?:大家|各位|早上|上午|下午|晚上)好|请问(?:一下)?|請問(?:一下)?|请教(?:一?下)?|請教(?:一?下)?"
    r"|[谢謝]{2}[了啦您你]?|多[谢謝]|感[谢謝]|麻[烦煩][您你]?了?|拜托|拜託|辛苦[了啦]?"
    r"|我?想知道|到底|究竟|想(?:咨询|諮詢|问|問|请教|請教|了解)一?下?)+[啊呀哈～~]*"
)
_ASKS_ZH = re.compile(
    r"什么|什麼|怎么|怎麼|如何|哪|[谁誰]|[吗嗎呢咋]|是否|多[少久长長大高远遠重]|[几幾][天个個条條次点點号號年月种種位台臺块塊周週]"
    r"|能不能|可不可以|行不行|对不对|對不對|要不要|是不是|有没有|有沒有|还是|還是|[为為](?:啥|什么|什麼|何)|[?？]\Z"
)
_EMPTY_ZH = frozenset("的了我你他她它们是有不没要说想能会可多少几个一在到也都就还吗呢吧什么怎哪谁时候这那大概知道")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LEANS_ZH = re.compile(r"[这這那它该該此]")
_COURTESY_EN = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening)|dear|thanks?|thank you|many thanks|cheers|sorry|please help"
    r"|(?:best|kind) regards)\b[^?]*\Z",
    re.IGNORECASE,
)
_ASKS_EN = re.compile(
    r"\?\s*\Z|\A(?:what|which|who|whose|when|where|why|how|can|could|do|does|did|is|are|was|were|should|may|will|would"
    r"|have|has)\b|\b(?:do you know|(?:could|can) you|please|wondering|like to know|asked me|tell me)\b",
    re.IGNORECASE,
)
# what asks without saying about what
_BARE_EN = re.compile(
    r"(?:do you have |is there )?any (?:idea|clue|hint)s?(?: why| what)?(?: the (?:reason|cause|problem))?"
    r"(?: (?:could|might|may|can) be| is| was)?"
    r"|what (?:is|was|could be|might be|may be|can be) the (?:reason|cause)(?: for (?:this|that|it))?"
    r"|why(?: is (?:that|this|it))?",
    re.IGNORECASE,
)
LONG_MESSAGE = 4  # sentences beside courtesies, from which a message tells a story around its question
MOST_OF_MESSAGE = 0.7  # of its columns, that the question may have of a message with a story
_OPENING_ZH = re.compile(rf"^(?:{_COURTESY_ZH.pattern}[，,！!。~～]*)+")
_OPENING_EN = re.compile(r"^(?:so|and|but|now|well|anyway|my question is|the question is)\b[,:]?\s+", re.IGNORECASE)
_REFERS_EN = re.compile(
    r"\b(?:it|its|that|this|they|them|those|these)\b(?!\s+(?:possible|allowed|necessary)\b)", re.IGNORECASE
)
_SERVICE = re.compile(
    r"\b(?:work|employ|service|join|been (?:here|with))\w*\b[^.]{0,60}\b\d+ years?\b"
    r"|(?:工作|入职|工龄|司龄)[^。，]{0,8}\d+\s?年",
    re.IGNORECASE,
)
_CLAUSE_EN = re.compile(r"[,.;:!?]\s+")
_TURN_EN = re.compile(r"\b(?:but|however|though)\b\s*", re.IGNORECASE)
_LEANS_EN = re.compile(r"\b(?:it|its|that|this|they|them|there|those|these|one)\b", re.IGNORECASE)


@lru_cache(maxsize=KEPT_QUESTIONS)
def question_core(text: str) -> str:
    """From the first to the last sentence or clause that asks; the text itself where no story stands around it.

    What comes before is kept where the first one refers to it, or it alone names a code.
    """
    if language_of(text) == "zh":
        if columns(text) < STORY_COLUMNS:
            return text
        parts = [part for clause in _CLAUSE.findall(text) if (part := _COURTESY_ZH.sub("", clause)).strip("?？!！ ")]
        if len(parts) < STORY_CLAUSES:
            return text
        return "，".join(_asking(parts, _ASKS_ZH, _leans_zh)) or text
    *before, last = _CLAUSE_EN.split(text.strip(" ?!."))
    if before and _BARE_EN.fullmatch(last):
        return _TURN_EN.split(before[-1])[-1].strip()
    parts = [part for sentence in split_sentences(text) if (part := sentence.strip()) and not _COURTESY_EN.match(part)]
    return " ".join(_asking(parts, _ASKS_EN, _LEANS_EN.search)) or text


@lru_cache(maxsize=KEPT_QUESTIONS)
def message_question(text: str) -> str:
    """The sentences of a long message that ask, which are searched and answered as if they had been written alone.

    With the sentence that has the only code, and the one with the asker's years of service. The text itself where it
    has few sentences beside courtesies, where none asks, and where the first one that asks leans on the story.
    """
    parts = [part for sentence in split_sentences(text) if (part := _without_courtesy(sentence))]
    if len(parts) < LONG_MESSAGE:
        return text
    asking = [at for at, part in enumerate(parts) if part.endswith(("?", "？"))]
    if not asking:
        asks = _ASKS_ZH if language_of(text) == "zh" else _ASKS_EN
        asking = [at for at, part in enumerate(parts) if asks.search(part)][-1:]
    if not asking:
        return text
    leans = _LEANS_ZH.match if language_of(text) == "zh" else _REFERS_EN.search
    if leans(parts[asking[0]]):
        return text
    story = [part for at, part in enumerate(parts) if at not in asking]
    questions = [parts[at] for at in asking]
    of_asker = [part for part in story if _SERVICE.search(part)][:1]
    chosen = [*_with_codes(story, questions), *of_asker, *questions]
    core = " ".join(dict.fromkeys(chosen))
    return core if columns(core) <= MOST_OF_MESSAGE * columns(text) else text


def _without_courtesy(sentence: str) -> str:
    """A sentence without the courtesies that it begins with; "" for one that is nothing else."""
    text = sentence.strip()
    if _COURTESY_EN.match(text) and not text.endswith("?"):
        return ""
    plain = _OPENING_ZH.sub("", text) if language_of(text) == "zh" else _OPENING_EN.sub("", text)
    return plain if plain.strip(" ，,。.!！~～?？") else ""


def _asking(parts: Sequence[str], asks: re.Pattern[str], leans: Callable[[str], object]) -> Sequence[str]:
    places = [at for at, part in enumerate(parts) if asks.search(part)]
    if not places:
        return parts
    first = places[0]
    if first and leans(parts[first]):
        first = _said_before(parts, first)
    asking = parts[first : places[-1] + 1]
    return [*_with_codes(parts[:first], asking), *asking]


def _with_codes(story: Sequence[str], asking: Sequence[str]) -> Sequence[str]:
    """The last part of a story that names a code, where what asks names none: "the display shows E22"."""
    if codes_in(" ".join(asking)):
        return []
    return next(([part] for part in reversed(story) if codes_in(part)), [])


def _said_before(parts: Sequence[str], first: int) -> int:
    """The place of the part that one which leans refers to: the nearest with a Chinese word of it, else the last."""
    words = set(_HAN.findall(parts[first])) - _EMPTY_ZH
    near = range(first - 1, max(first - 1 - MOST_BACK, -1), -1)
    return next((at for at in near if not words.isdisjoint(parts[at])), first - 1)


def _leans_zh(clause: str) -> bool:
    return len(clause) < OWN_CHARACTERS or _LEANS_ZH.match(clause) is not None
