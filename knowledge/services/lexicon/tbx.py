"""Lexicons as TBX: TBX-Basic of ISO 30042:2019 is written, it and the edition of 2008 are read.

One concept is one term of the lexicon. The language that stands first is that of the term: an abbreviation in it is the
term and its full form the long form, the other names are synonyms. Names in other languages are translations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import Any

from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconTerm
from ragcore.text.scripts import language_of

NAMESPACE = "urn:iso:std:iso:30042:ed-2"
SAME_LANGUAGE = "-x-transl"  # private part of a language tag: a translation that is written in the term's language
STATUS_NOTE = "lexicon status: "  # TBX-Basic has no word for a suggestion
LANG = "{http://www.w3.org/XML/1998/namespace}lang"
ROOTS = ("tbx", "martif")
CONCEPTS = ("{*}conceptEntry", "{*}termEntry")
LANGUAGES = ("langSec", "langSet")
TERMS = ("termSec", "tig", "ntig")
SHORT = ("abbreviation", "acronym", "initialism", "shortForm", "abbreviatedForm")
PREFERRED, REPLACED = "preferredTerm", ("deprecatedTerm", "supersededTerm")
Status = LexiconTerm.Status
Element = Any  # lxml elements carry no useful static type


def is_tbx(content: bytes) -> bool:
    """Whether a file is XML by its first character, whatever its encoding."""
    return content[:64].lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")[:1] == b"<"


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def tbx_entries(content: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The values of each concept with the line that it begins in. Raises LexiconTermError.

    No entity is resolved and nothing is fetched; a document type may be named, but must declare nothing.
    """
    from lxml import etree  # only where such a file is read

    events = etree.iterparse(
        BytesIO(content),
        events=("start", "end"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    concepts = {name.removeprefix("{*}") for name in CONCEPTS}
    root: Element = None
    try:
        for event, element in events:
            if root is None:
                root = element
                _root_check(root)
            if event == "end" and _local(element) in concepts:
                yield element.sourceline, _values(element)
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        raise LexiconTermError("tbx", line=error.lineno or 1) from error


def _root_check(root: Element) -> None:
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and (any(declared.iterentities()) or any(declared.iterelements())):
        raise LexiconTermError("tbx_entities")
    if _local(root) not in ROOTS:
        raise LexiconTermError("tbx_root")


def _values(concept: Element) -> dict[str, Any]:
    """The values of one concept; without a name the term is empty, which is refused as in other files."""
    sections = [section for section in concept.iter() if _local(section) in LANGUAGES]
    if not sections:
        return {"text": ""}
    names = [_Name(node) for node in sections[0].iter() if _local(node) in TERMS]
    values = _own(sorted(names, key=lambda name: not name.is_preferred))
    tag = str(sections[0].get(LANG) or "")
    values["language"] = _language(tag)
    for section in sections[1:]:
        other = str(section.get(LANG) or "")
        is_same = _base(other) == _base(tag) and not other.lower().endswith(SAME_LANGUAGE)
        found = [_Name(node).text for node in section.iter() if _local(node) in TERMS]
        values["synonyms" if is_same else "translations"] += [text for text in found if text]
    return values


class _Name:
    """One name of a concept with what is said of it."""

    def __init__(self, node: Element) -> None:
        self.text, self.notes, self.remarks = "", {}, []  # type: ignore[var-annotated]
        for part in node.iter():
            name = _local(part)
            text = " ".join("".join(part.itertext()).split())
            if name == "term":
                self.text = self.text or text
            elif name == "termNote":
                self.notes.setdefault(str(part.get("type")), text)
            elif name == "note":
                self.remarks.append(text)
            elif name in ("termType", "administrativeStatus", "partOfSpeech"):  # the other style of the edition of 2019
                self.notes.setdefault(name, text)

    @property
    def kind(self) -> str:
        """fullForm, acronym, variant …; "" where nothing is said."""
        return str(self.notes.get("termType", ""))

    @property
    def is_preferred(self) -> bool:
        return str(self.notes.get("administrativeStatus", "")).startswith(PREFERRED)

    def status(self) -> str | None:
        """What the file says about the term; None where it says nothing."""
        for remark in self.remarks:
            if remark.startswith(STATUS_NOTE):
                return str(remark.removeprefix(STATUS_NOTE).strip())
        if str(self.notes.get("administrativeStatus", "")).startswith(REPLACED):
            return str(Status.REJECTED)
        return str(Status.APPROVED) if self.is_preferred else None


def _own(names: Sequence[_Name]) -> dict[str, Any]:
    """Term, kind, long form, synonyms and status of the names in the term's language."""
    names = [name for name in names if name.text]
    main = next((name for name in names if name.kind in SHORT), names[0] if names else None)
    if main is None:
        return {"text": "", "synonyms": [], "translations": []}
    others = [name for name in names if name is not main]
    full: _Name | None = None
    if main.kind in SHORT:
        full = next((name for name in others if name.kind == "fullForm"), None)
        full = full or next((name for name in others if not name.kind), None)
    is_name = main.notes.get("partOfSpeech") == "properNoun"
    kind = LexiconTerm.Kind.NAME if is_name else LexiconTerm.Kind.ABBREVIATION
    values: dict[str, Any] = {
        "text": main.text,
        "kind": str(kind if is_name or main.kind in SHORT else LexiconTerm.Kind.TERM),
        "long_form": full.text if full is not None else "",
        "synonyms": [name.text for name in others if name is not full],
        "translations": [],
    }
    if status := main.status():
        values["status"] = status
    return values


def _language(tag: str) -> str:
    base = _base(tag)
    return base if base in LexiconTerm.Language.values else str(LexiconTerm.Language.OTHER)


def _base(tag: str) -> str:
    return tag.replace("_", "-").split("-")[0].lower()


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def tbx_of(terms: Iterable[LexiconTerm], *, title: str) -> str:
    """The terms of a lexicon as TBX-Basic, which `tbx_entries` reads again."""
    from lxml import etree

    root = etree.Element(
        f"{{{NAMESPACE}}}tbx", {"type": "TBX-Basic", "style": "dca", LANG: "en"}, nsmap={None: NAMESPACE}
    )
    description = _add(_add(root, "tbxHeader"), "fileDesc")
    _add(_add(description, "titleStmt"), "title", title)
    _add(_add(description, "sourceDesc"), "p", title)
    body = _add(_add(root, "text"), "body")
    for number, term in enumerate(terms, 1):
        _concept_write(_add(body, "conceptEntry", id=f"c{number}"), term)
    blob: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return blob.decode("utf-8")


def _concept_write(concept: Element, term: LexiconTerm) -> None:
    own = _tag(term.language)
    section = _add(concept, "langSec")
    section.set(LANG, own)
    is_short = bool(term.long_form) or term.kind == LexiconTerm.Kind.ABBREVIATION
    notes = {"termType": "abbreviation"} if is_short else {}
    if term.kind == LexiconTerm.Kind.NAME:
        notes["partOfSpeech"] = "properNoun"
    if term.status != Status.CANDIDATE:
        is_approved = term.status == Status.APPROVED
        notes["administrativeStatus"] = f"{PREFERRED if is_approved else REPLACED[0]}-admn-sts"
    remark = STATUS_NOTE + term.status if term.status == Status.CANDIDATE else ""
    _name_write(section, term.text, notes, remark=remark)
    if term.long_form:
        _name_write(section, term.long_form, {"termType": "fullForm"})
    for name in term.synonyms:
        _name_write(section, name, {"termType": "variant"})
    by_language: dict[str, list[str]] = {}
    for name in term.translations:
        tag = _tag(language_of(name))
        by_language.setdefault(tag + SAME_LANGUAGE if tag == own else tag, []).append(name)
    for tag, names in by_language.items():
        section = _add(concept, "langSec")
        section.set(LANG, tag)
        for name in names:
            _name_write(section, name, {})


def _name_write(section: Element, text: str, notes: dict[str, str], *, remark: str = "") -> None:
    node = _add(section, "termSec")
    _add(node, "term", text)
    for kind, value in notes.items():
        _add(node, "termNote", value, type=kind)
    if remark:
        _add(node, "note", remark)


def _tag(language: str) -> str:
    return "und" if language == LexiconTerm.Language.OTHER else str(language)


def _add(parent: Element, name: str, text: str | None = None, **attributes: str) -> Element:
    from lxml import etree

    node = etree.SubElement(parent, f"{{{NAMESPACE}}}{name}", attributes)
    node.text = text
    return node
