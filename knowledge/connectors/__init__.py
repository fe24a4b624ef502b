"""Places where knowledge lives: one file for each kind, all behind one port."""

from knowledge.connectors import crawl, database, feed, git, mail, storage
from knowledge.connectors.base import (
    Access,
    Connector,
    Preview,
    SettingField,
    connector_kinds,
    preview_of,
    settings_checked,
)
from knowledge.connectors.items import FetchedItem, Item, Listed, ListEnd, RemovedItem, Stamp, UnreadableItem
from knowledge.connectors.rest import connector as rest

__all__ = [
    "Access",
    "Connector",
    "FetchedItem",
    "Item",
    "ListEnd",
    "Listed",
    "Preview",
    "RemovedItem",
    "SettingField",
    "Stamp",
    "UnreadableItem",
    "connector_kinds",
    "crawl",
    "database",
    "feed",
    "git",
    "mail",
    "preview_of",
    "rest",
    "settings_checked",
    "storage",
]
