"""The storage format of Confluence as HTML: XHTML with macros (ac:) and links to its resources (ri:).

Macros that hold text give it: code, panels, expand, excerpts, tables. Those that Confluence fills when a page is shown
(toc, children, recently updated) give nothing. Source: Atlassian, "Confluence storage format".
"""

from __future__ import annotations

import itertools
import re
from html import unescape

from lxml import etree

DEEPEST = 100  # elements within elements
_AC, _RI = "http://atlassian.com/content", "http://atlassian.com/resource/identifier"
_ROOT = '<div xmlns:ac="{ac}" xmlns:ri="{ri}">{text}</div>'
_ENTITY = re.compile(r"&(?!amp;|lt;|gt;|quot;|apos;|#)(\w+);")
_PANELS = ("info", "note", "tip", "warning", "panel", "success", "error")
_CODE = ("code", "noformat", "code-block", "mermaid", "plantuml")
_EMPTY = ("ac:placeholder", "ac:parameter", "ac:task-id", "ac:task-uuid")
_DECLARATION = re.compile(r"<!DOCTYPE[^>]*>|<!ENTITY[^>]*>|<\?xml[^>]*\?>", re.IGNORECASE)
_TICKED = {"complete": "☑ ", "incomplete": "☐ "}


def storage_html(text: str) -> str:
    """HTML of a page in storage format; what is no XML at all is read as far as it goes."""
    clean = _ENTITY.sub(lambda match: unescape(match[0]), _DECLARATION.sub("", text))
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False)
    root = etree.fromstring(_ROOT.format(ac=_AC, ri=_RI, text=clean).encode(), parser)
    if root is None:
        return ""
    whole = etree.Element("div")
    _copy(root, whole)
    return "".join(_markup(child) for child in whole) if not whole.text else _markup(whole)


def _markup(node: etree._Element) -> str:
    return etree.tostring(node, encoding="unicode", method="html")


def _copy(source: etree._Element, target: etree._Element) -> None:
    """The text and the children of `source` at the end of `target`; of what lies too deep, its words alone."""
    if sum(1 for _ in itertools.islice(target.iterancestors(), DEEPEST)) >= DEEPEST:
        _say(target, "".join(source.itertext()))
        return
    _say(target, source.text)
    for child in source:
        if isinstance(child.tag, str):
            _node(child, target)
        _say(target, child.tail)


def _say(target: etree._Element, text: str | None) -> None:
    if not text:
        return
    if len(target):
        target[-1].tail = (target[-1].tail or "") + text
    else:
        target.text = (target.text or "") + text


def _node(node: etree._Element, target: etree._Element) -> None:
    """One element: as it is, or what stands for an element of Confluence."""
    name = _name(node)
    match name:
        case "ac:structured-macro" | "ac:macro":
            _macro(node, target)
        case "ac:link":
            _link(node, target)
        case "ac:image":
            _image(node, target)
        case "ac:task-list":
            _tasks(node, target)
        case "ac:emoticon":
            _say(target, node.get(f"{{{_AC}}}emoji-fallback") or "")
        case "time":
            _say(target, node.get("datetime") or "")
            _copy(node, target)
        case _ if name in _EMPTY:
            return
        case _ if ":" in name:  # layouts, bodies: what is in them
            _copy(node, target)
        case _:
            plain = {key: value for key, value in node.attrib.items() if ":" not in key}
            _copy(node, etree.SubElement(target, name, plain))


def _macro(node: etree._Element, target: etree._Element) -> None:
    name = node.get(f"{{{_AC}}}name") or ""
    title = _parameter(node, "title")
    rich, plain = _child(node, "ac:rich-text-body"), _child(node, "ac:plain-text-body")
    if name in _CODE and plain is not None:
        if title:
            etree.SubElement(etree.SubElement(target, "p"), "strong").text = title
        language = _parameter(node, "language")
        code = etree.SubElement(etree.SubElement(target, "pre"), "code")
        if language:
            code.set("class", f"language-{language}")
        code.text = plain.text or ""
    elif name == "status":
        _say(target, title)
    elif name == "jira":
        _say(target, _parameter(node, "key"))
    elif rich is not None:
        place = etree.SubElement(target, "blockquote") if name in _PANELS else target
        if title:
            etree.SubElement(etree.SubElement(place, "p"), "strong").text = title
        _copy(rich, place)
    elif plain is not None:
        etree.SubElement(target, "pre").text = plain.text or ""


def _link(node: etree._Element, target: etree._Element) -> None:
    """The words of a link, else the name of what it leads to."""
    for name in ("ac:link-body", "ac:plain-text-link-body"):
        body = _child(node, name)
        if body is not None and "".join(body.itertext()).strip():
            _copy(body, target)
            return
    for child in node:
        words = child.get(f"{{{_RI}}}content-title") or child.get(f"{{{_RI}}}filename") or ""
        if words := words or child.get(f"{{{_RI}}}space-key") or "":
            _say(target, words)
            return


def _image(node: etree._Element, target: etree._Element) -> None:
    """Its words: what it shows, and what stands below it."""
    alternative = node.get(f"{{{_AC}}}alt") or node.get(f"{{{_AC}}}title") or ""
    caption = _child(node, "ac:caption")
    if alternative:
        _say(target, f" {alternative} ")
    if caption is not None:
        _copy(caption, target)


def _tasks(node: etree._Element, target: etree._Element) -> None:
    entries = etree.SubElement(target, "ul")
    for task in node:
        if _name(task) != "ac:task":
            continue
        entry = etree.SubElement(entries, "li")
        status = _child(task, "ac:task-status")
        _say(entry, _TICKED.get((status.text or "").strip() if status is not None else "", ""))
        if (body := _child(task, "ac:task-body")) is not None:
            _copy(body, entry)


def _parameter(node: etree._Element, name: str) -> str:
    for child in node:
        if _name(child) == "ac:parameter" and child.get(f"{{{_AC}}}name") == name:
            return "".join(child.itertext()).strip()
    return ""


def _child(node: etree._Element, name: str) -> etree._Element | None:
    return next((child for child in node if _name(child) == name), None)


def _name(node: etree._Element) -> str:
    """The tag with the prefix of Confluence; `b` of HTML as it is."""
    if not isinstance(node.tag, str):
        return ""
    tag = etree.QName(node)
    prefix = {_AC: "ac:", _RI: "ri:"}.get(tag.namespace or "", "")
    return prefix + tag.localname if prefix or not tag.namespace else tag.localname
