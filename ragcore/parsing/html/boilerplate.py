"""Drops the boilerplate of web pages: navigation, banners, footers, comments, hidden elements.

Element names and ARIA roles are trusted. Words in class and id count only where the element is small and looks like
boilerplate, because "share" is also a column of figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bs4 import Tag

from ragcore.parsing.html.blocks import HEADINGS, is_data_table

MAIN_SHARE = (
    0.3  # of the page's text; a <main> with less is not where the text is, furniture with more is not furniture
)
NARROW_SHARE = 0.6  # of the main part; an inner container with so much of it is the text itself
LINK_SHARE = 0.5
SHORT_CHARACTERS = 120

_INVISIBLE = ("script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "canvas", "audio", "video")
_CONTROLS = ("button", "select", "input", "datalist", "progress", "meter", "dialog", "textarea")
_FURNITURE = ("nav", "aside", "header", "footer")
_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "alert", "alertdialog", "dialog"))
_TABLE_PARTS = frozenset(("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "col", "colgroup"))
_KEPT = frozenset(("html", "body", "main", "pre", "code", "math", "img", "li", "dt", "dd", *HEADINGS))

_CONTENT_IDS = ("mw-content-text", "bodyContent", "js_content", "article-content", "main-content", "content")
_CONTENT_CLASSES = ("markdown-body", "entry-content", "post-content", "article-content", "articleBody", "rst-content")
_LEGAL = re.compile(r"版权所有|©|\(c\) ?\d{4}|all rights reserved|ICP备|ICP证|公网安备|^copyright", re.IGNORECASE)
_ANCHOR_SIGNS = frozenset(("", "#", "\u00b6", "\u00a7", "\U0001f517"))  # links of a heading to itself
_UNSEEN = re.compile(r"display:none|visibility:hidden|(?:font-size|opacity):0(?:px|;|$)")
_NOTE_MARK = re.compile(r"\[[^\[\]]{1,40}\]")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# words of class and id that settle it, whatever the element looks like
_CERTAIN = _set(
    """
    cookie cookies consent gdpr breadcrumb breadcrumbs crumbs pagination pager editsection printfooter catlinks
    navbox headerlink linenos lineno linenumber linenumbers gutter addthis sharedaddy noprint portlet skiplink
    newsletter advert advertisement adsbygoogle
    """
)
_CERTAIN_NAMES = _set(
    """
    sr-only visually-hidden visuallyhidden screen-reader-text skip-link mw-jump-link hash-link anchor-link
    anchorjs-link mw-indicators siteSub contentSub back-to-top backtotop
    """
)
# words that count where the element is short or made of links
_LIKELY = _set(
    """
    nav navi navbar navigation menu submenu sidebar sidenav topbar toolbar header head share sharing social
    related recommend recommended promo sponsor sponsored ad ads banner popup modal subscribe signup login langs
    languages language toc tags copyright beian friendlink links qrcode top widget selbox dropdown
    """
)
_FOOT = _set("foot footer bottom colophon imprint")
_COMMENTS = _set("comments comment disqus respond livefyre utterances giscus")
_NOTES = _set("note notes tip warning hint important caution admonition callout footnote")


def drop_hidden(page: Tag) -> None:
    """Take out what a reader of the page never sees, and what is no text: programs, controls, hidden elements."""
    _keep_tex_scripts(page)
    for tag in page.find_all([*_INVISIBLE, *_CONTROLS]):
        if tag.name == "svg" and (drawn := tag.find("image")) is not None:  # covers of books
            tag.replace_with(drawn.extract())
        elif not tag.decomposed:
            tag.decompose()
    for tag in page.find_all(_is_hidden):
        if not tag.decomposed:
            tag.decompose()


def _keep_tex_scripts(page: Tag) -> None:
    """MathJax keeps formulas in scripts and draws them beside; the source is worth more than the drawing."""
    scripts = page.find_all("script", type=re.compile(r"^math/tex", re.IGNORECASE))
    if scripts:
        for drawn in page.find_all(class_=re.compile(r"^(MathJax(_Preview|_Display|_CHTML)?|mjx-chtml)$")):
            if not drawn.decomposed:
                drawn.decompose()
    for script in scripts:
        script.replace_with(f"${script.get_text().strip()}$")


def _is_hidden(tag: Tag) -> bool:
    if tag.find("math") is not None and tag.name == "span":  # Wikipedia hides MathML behind pictures of it
        return False
    style = re.sub(r"\s", "", str(tag.get("style") or "")).lower()
    if _UNSEEN.search(style):
        return True
    if tag.has_attr("hidden"):  # a panel behind a tab can be opened by the reader
        return tag.get("role") != "tabpanel" and str(tag.get("hidden")).lower() != "until-found"
    return tag.get("aria-hidden") == "true" and len(tag.get_text(strip=True)) < SHORT_CHARACTERS


def main_part(page: Tag) -> Tag:
    """The element that holds the text: <main> or the one <article>, narrowed to a container known by its name."""
    root = next((element for element in _declared(page) if _size(element) >= MAIN_SHARE * _size(page)), page)
    inner = [*root.find_all(id=list(_CONTENT_IDS)), *root.find_all(class_=list(_CONTENT_CLASSES))]
    inner += root.find_all(itemprop="articleBody")
    whole = _size(root)
    narrow = next((element for element in inner if _size(element) >= NARROW_SHARE * whole), root)
    _bring_headline(page, narrow)
    return narrow


def _declared(page: Tag) -> Iterable[Tag]:
    for candidates in (page.find_all("main"), page.find_all(role="main"), page.find_all("article")):
        if len(candidates) == 1:
            yield candidates[0]


def _bring_headline(page: Tag, root: Tag) -> None:
    """The page's one headline often stands outside the container of the text; the name of the site does too."""
    headlines = page.find_all("h1")
    if root is page or len(headlines) != 1 or root.find("h1") is not None:
        return
    head = page.find_previous("title")
    title = head.get_text(" ", strip=True) if head else ""
    if root.find(HEADINGS) is None or title.startswith(headlines[0].get_text(" ", strip=True)):
        root.insert(0, headlines[0].extract())


def drop_boilerplate(root: Tag) -> None:
    """Take out navigation, banners, footers, comments and the like; the headline and tables of data stay."""
    whole = _size(root)
    headlines = root.find_all("h1", limit=2)
    headline = headlines[0] if len(headlines) == 1 else None
    _drop_forms(root, whole)
    _drop_note_marks(root)
    for tag in root.find_all(True):
        if tag.decomposed or tag.parent is None:
            continue
        if _is_boilerplate_element(tag) or _has_boilerplate_words(tag, whole):
            _drop(tag, headline)
    _drop_legal_lines(root)


def _drop_forms(root: Tag, whole: int) -> None:
    """Forms go, unless one wraps the page itself as old web frameworks do."""
    for form in root.find_all("form"):
        if not form.decomposed and _size(form) < MAIN_SHARE * whole:
            form.decompose()


def _drop_note_marks(root: Tag) -> None:
    """`[12]` and `[citation needed]` in the text, and the arrows that lead back from the notes."""
    for sup in root.find_all("sup"):
        if not sup.decomposed and sup.find("a") is not None and _NOTE_MARK.fullmatch(sup.get_text(strip=True)):
            sup.decompose()
    for arrow in root.find_all(class_="mw-cite-backlink"):
        arrow.decompose()
    for anchor in root.find_all("a", href=re.compile("^#")):
        if not anchor.decomposed and anchor.find("img") is None and anchor.get_text(strip=True) in _ANCHOR_SIGNS:
            anchor.decompose()


def _drop(tag: Tag, headline: Tag | None) -> None:
    """Take out an element; the headline of the page moves into its place."""
    if headline is not None and any(above is tag for above in headline.parents):
        tag.replace_with(headline.extract())
    else:
        tag.decompose()


def _is_boilerplate_element(tag: Tag) -> bool:
    if tag.get("role") in _ROLES:
        return True
    if tag.name not in _FURNITURE:
        return False
    inside = tag.find_parent(["article", "main"]) is not None
    if tag.name == "aside":
        return not (_words(tag) & _NOTES or (inside and _link_share(tag) < LINK_SHARE and not _words(tag) & _LIKELY))
    # the header of an article carries its headline
    return tag.name == "nav" or not inside


def _has_boilerplate_words(tag: Tag, whole: int) -> bool:
    words = _words(tag)
    if tag.name == "table":  # boxes of links beside the text
        return bool(words & {"sidebar", "navbox"}) and _link_share(tag) >= LINK_SHARE
    if tag.name in _TABLE_PARTS or tag.name in _KEPT:
        return tag.name == "td" and bool(words & _CERTAIN)
    if not words:
        return False
    size = _size(tag)
    if words & _COMMENTS and tag.find("h1") is None and whole - size > SHORT_CHARACTERS:
        return size < SHORT_CHARACTERS or not _holds_data(tag)
    if size >= MAIN_SHARE * whole and whole > SHORT_CHARACTERS:
        return False
    if words & _CERTAIN or _names(tag) & _CERTAIN_NAMES:
        return True
    if _holds_data(tag) or tag.find_parent(HEADINGS) is not None:
        return False
    if words & _FOOT:
        return _is_last(tag)
    if not words & _LIKELY or tag.find(["h1", "pre"]) is not None:
        return False
    return size == 0 or _link_share(tag) >= LINK_SHARE or (size < SHORT_CHARACTERS and tag.find(["h2", "p"]) is None)


def _is_last(tag: Tag) -> bool:
    """Whether less text follows than stands before: a foot stands at the end."""
    after = sum(_size(node) for node in tag.find_next_siblings())
    before = sum(_size(node) for node in tag.find_previous_siblings())
    return after <= before


def _holds_data(tag: Tag) -> bool:
    return any(is_data_table(table) for table in tag.find_all("table"))


def _size(tag: Tag) -> int:
    return len(tag.get_text(strip=True))


def _link_share(tag: Tag) -> float:
    return sum(_size(link) for link in tag.find_all("a")) / max(1, _size(tag))


def _names(tag: Tag) -> set[str]:
    return {*(tag.get("class") or []), str(tag.get("id") or "")}


def _words(tag: Tag) -> set[str]:
    """The words in class and id: `y_topMenu` is y, top, menu."""
    names = _names(tag)
    if tag.name == "section" and not tag.get("class"):  # documentation names sections after their headings
        names = set()
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", " ".join(names))
    return set(re.findall(r"[a-z]+", spaced.lower()))


def _drop_legal_lines(root: Tag) -> None:
    """Copyright lines and licence numbers at the end of a page; in the middle they may be the topic."""
    leaves = [tag for tag in root.find_all(["p", "div", "span", "li", "small", "center"]) if tag.find(True) is None]
    for tag in leaves[-4:]:
        text = tag.get_text(strip=True)
        if len(text) < SHORT_CHARACTERS and _LEGAL.search(text):
            tag.decompose()
