"""What a round loads: texts, Word files and PDFs, each with a word that stands nowhere else."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from random import Random

from docx import Document as WordDocument
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

ENGLISH = "The base station {verb} the {noun} before the terminal {verb2} the {noun2}."
NOUNS = ["beam", "carrier", "handover", "preamble", "measurement", "bearer", "paging", "grant", "schedule", "antenna"]
VERBS = ["configures", "releases", "measures", "reports", "allocates", "suspends", "resumes", "confirms"]
CHINESE = (
    "基站在切换之前配置波束。",
    "终端上报测量结果并等待授权。",
    "随机接入失败后启动退避定时器。",
    "网络切片的资源由调度器分配。",
)
LONG = 60  # sentences of a long text; others have three


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One document as it is sent. Identity is the external id where there is one, otherwise the bytes."""

    external_id: str
    name: str
    content: bytes = field(repr=False)
    word: str  # stands in this text only
    is_readable: bool = True  # False: it has to fail, with a reason
    is_line: bool = False  # goes into a bulk load

    @property
    def identity(self) -> str:
        return self.external_id or sha256(self.content).hexdigest()

    def line(self, set_id: int) -> bytes:
        row = {"external_id": self.external_id, "title": self.name, "text": self.content.decode(), "sets": [set_id]}
        return json.dumps(row).encode()


def documents_of_round(random: Random, *, number: int, known: list[str], round_id: str) -> list[Sent]:
    """`number` documents in random order: four fifths lines, of which some replace `known` external ids."""
    files = max(number // 5, 4)
    pdfs, words = max(files // 6, 1), max(files // 10, 1)
    replaced = random.sample(known, min(len(known), number // 10))
    sent = [_text(random, external_id, is_line=True) for external_id in replaced]
    sent += [_text(random, f"{round_id}-{i}", is_line=True) for i in range(number - files - len(replaced))]
    sent += [_pdf(random) for _ in range(pdfs)] + [_word(random) for _ in range(words)] + [_broken(random)]
    sent += [_text(random, "", is_line=False) for _ in range(files - pdfs - words - 1)]
    random.shuffle(sent)
    return sent


def unique_word(random: Random) -> str:
    return "q" + "".join(random.choice("bcdfghjklmnpqrtvwxz") for _ in range(11))


def sentences(random: Random, word: str) -> list[str]:
    count = LONG if random.random() < 0.06 else 3
    made = [_sentence(random) for _ in range(count)]
    made.insert(random.randrange(len(made)), f"The identifier {word} belongs to this text.")
    return made


def _sentence(random: Random) -> str:
    if random.random() < 0.3:
        return random.choice(CHINESE)
    return ENGLISH.format(
        verb=random.choice(VERBS), noun=random.choice(NOUNS), verb2=random.choice(VERBS), noun2=random.choice(NOUNS)
    )


def _text(random: Random, external_id: str, *, is_line: bool) -> Sent:
    word = unique_word(random)
    text = "\n\n".join(sentences(random, word))
    return Sent(external_id=external_id, name=f"{word}.txt", content=text.encode(), word=word, is_line=is_line)


def _pdf(random: Random) -> Sent:
    word, target = unique_word(random), BytesIO()
    canvas = Canvas(target, pagesize=A4)
    for at, sentence in enumerate(s for s in sentences(random, word) if s.isascii()):
        if at and at % 40 == 0:
            canvas.showPage()
        canvas.drawString(72, A4[1] - 72 - 16 * (at % 40), sentence)
    canvas.save()
    return Sent(external_id="", name=f"{word}.pdf", content=target.getvalue(), word=word)


def _word(random: Random) -> Sent:
    word, target, document = unique_word(random), BytesIO(), WordDocument()
    document.add_heading("Notes", level=1)
    for sentence in sentences(random, word):
        document.add_paragraph(sentence)
    document.save(target)
    return Sent(external_id="", name=f"{word}.docx", content=target.getvalue(), word=word)


def _broken(random: Random) -> Sent:
    word = unique_word(random)
    content = b"%PDF-1.7\n" + random.randbytes(400)
    return Sent(external_id="", name=f"{word}.pdf", content=content, word=word, is_readable=False)
