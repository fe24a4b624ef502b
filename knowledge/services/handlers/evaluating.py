"""Running the rules of a handler over one document: a pure function of its name, path, title, text and attributes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from knowledge.models import HandlerRule
from knowledge.services.handlers.patterns import groups_found
from knowledge.services.handlers.templates import filled
from knowledge.services.handlers.values import Handled, Handler, Rule

logger = logging.getLogger(__name__)

Action, Looks = HandlerRule.Action, HandlerRule.Looks
HIDDEN = "_"  # attributes that begin with it serve templates and are not written on the document
MAX_VALUE = 512  # characters of an attribute


def handled(
    *, handler: Handler, path: str, name: str, title: str, text: str | None, metadata: Mapping[str, Any]
) -> Handled:
    """What the handler says about a document.

    With `text` None (at registration) rules about the text are left out; once it is known, all rules run again and
    the outcome replaces the former one. Rules run in order: later ones overwrite the attributes of earlier ones.
    Attributes whose names begin with `_` are only seen by templates.
    """
    looked_at = {Looks.PATH: path, Looks.NAME: name, Looks.TITLE: title, Looks.TEXT: text}
    attributes = {ours: metadata[theirs] for theirs, ours in handler.field_map.items() if metadata.get(theirs)}
    tags: list[str] = []
    slow: list[str] = []
    whole, skip = handler.whole, False
    for rule in handler.rules:
        found = _found(rule, looked_at[Looks(rule.looks)], slow)
        if found is None:
            continue
        value = filled(rule.value, found)[:MAX_VALUE]
        match rule.action:
            case Action.ADD_TAG if value:
                tags.append(value[:64])
            case Action.SET_ATTRIBUTE if value and rule.attribute:
                attributes[rule.attribute] = value
            case Action.SPLIT_WHOLE:
                whole = True
            case Action.SKIP:
                skip = True
    known = _known({**metadata, **attributes}, path=path, name=name, title=title)
    return Handled(
        tags=tuple(dict.fromkeys(tags)),
        metadata={key: value for key, value in attributes.items() if not key.startswith(HIDDEN)},
        title=filled(handler.title_template, known)[:512],
        whole=whole,
        skip=skip,
        series=filled(handler.series_template, known)[:256],
        series_version=filled(handler.version_template, known)[:128],
        slow=tuple(slow),
    )


def _found(rule: Rule, text: str | None, slow: list[str]) -> Mapping[str, str] | None:
    if text is None:
        return None
    try:
        return groups_found(match=rule.match, pattern=rule.pattern, text=text)
    except TimeoutError:  # a document must not wait for a pattern; the handler's page shows which one it was
        logger.warning("a rule was given up after its time: %s", rule.pattern)
        slow.append(rule.pattern)
        return None


def _known(attributes: Mapping[str, Any], *, path: str, name: str, title: str) -> dict[str, str]:
    """What templates may name, as text."""
    texts = {key: str(value) for key, value in attributes.items() if isinstance(value, (str, int, float))}
    return {"path": path, "name": name, "stem": PurePosixPath(name).stem, "title": title, **texts}
