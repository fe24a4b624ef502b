"""Files of a branch of a Git repository, in a folder of this machine or at an https address.

The history is fetched once into the workspace of the source and then added to. A list goes on from the commit of the
last one: only what has changed between the two is listed, and a renamed file stays one document.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, cast
from urllib.parse import quote, urlsplit, urlunsplit

import urllib3
from django.utils.translation import gettext_lazy as _
from dulwich.client import HttpGitClient, HTTPUnauthorized
from dulwich.diff_tree import RenameDetector, tree_changes
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository
from dulwich.object_store import iter_tree_contents
from dulwich.objects import S_ISGITLINK, Blob, Commit
from dulwich.refs import Ref
from dulwich.repo import Repo
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from knowledge.connector_errors import ConnectorError, ItemOfSourceError, SourceUnreachableError
from knowledge.connectors.base import Access, Connector, SettingField, connector
from knowledge.connectors.items import FetchedItem, Item, Listed, ListEnd, RemovedItem, Stamp, UnreadableItem
from knowledge.types import LINK_OF_LINES, STRICT

HEAD = Ref(b"HEAD")
SYMLINK = 0o120000
MOST_COMMITS = 5_000  # that are looked through for the last change of a file
MAX_PATH = 512
TIMEOUT = urllib3.Timeout(connect=20, read=120)
LFS = b"version https://git-lfs.github.com/spec/"
LFS_BYTES = 1024  # a pointer is shorter


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class GitSettings:
    """A branch, "" for that of the repository's head.

    `link` is the address of a file at the forge, with {path} and {branch}; what stands behind a # is that of lines,
    with {first} and {last}.
    """

    branch: Annotated[str, Field(max_length=255)] = ""
    link: Annotated[str, Field(max_length=1024)] = ""
    history: bool = True  # author, date and subject of the last change become attributes


class _CheckedPool(urllib3.PoolManager):
    """Connects only where the source may, also after redirects."""

    def __init__(self, access: Access) -> None:
        super().__init__(timeout=TIMEOUT, retries=urllib3.Retry(total=2, redirect=3))
        self._access = access

    def connection_from_host(
        self,
        host: str | None,
        port: int | None = None,
        scheme: str | None = "http",
        pool_kwargs: dict[str, Any] | None = None,
    ) -> urllib3.HTTPConnectionPool:
        self._access.host_check(host or "", port or (443 if scheme == "https" else 80))
        return super().connection_from_host(host, port, scheme, pool_kwargs)


@connector
class GitConnector(Connector):
    """See the module."""

    kind = "git"
    label = _("Git repository")
    summary = _("Files and history of a repository.")
    location_help = _("Folder or https address of the repository, such as https://git.example.com/team/project.git.")
    settings_type = GitSettings
    setting_fields = (
        SettingField(name="branch", label=_("branch"), help_text=_("If empty, the default branch.")),
        SettingField(
            name="link",
            label=_("address of a file"),
            help_text=_(
                "At the forge, with {path} and {branch}, and {first} and {last} for the lines of a passage, such as "
                "https://git.example.com/p/blob/{branch}/{path}#L{first}-L{last}."
            ),
        ),
        SettingField(name="history", label=_("last change as attributes"), kind="switch"),
    )
    credential_fields: ClassVar = (frozenset({"token"}), frozenset({"user", "password"}))
    paces_itself = True  # files are read from the copy of the history

    @classmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        if location.startswith("/"):
            return None
        parts = urlsplit(location)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ConnectorError("address")
        return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        repository = self._repository()
        try:
            head = self._head(repository)
            before = self._commit(repository, cursor.get("commit", ""))
            yield from self._whole(repository, head) if before is None else self._between(repository, before, head)
            yield ListEnd(cursor={"commit": head.id.decode()}, is_full=before is None)
        finally:
            repository.close()

    # ── the repository ──────────────────────────────────────────────────────────────────────────

    def _repository(self) -> Repo:
        if self.host_of(self.location) is None:
            try:
                return Repo(str(self.access.folder_allowed(self.location)))
            except NotGitRepository:
                raise ConnectorError("not_repository") from None
        return self._fetched()

    def _fetched(self) -> Repo:
        """The repository of the workspace with what the server has now."""
        folder = self.access.workspace
        try:
            repository = Repo(str(folder))
        except NotGitRepository:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            repository = Repo.init_bare(str(folder))
        try:
            self._fetch(repository)
        except BaseException:
            repository.close()
            raise
        return repository

    def sign_in(self) -> None:
        """Ask the server which branches there are."""
        if self.host_of(self.location) is None:
            self._repository().close()
            return
        with self._faults():
            self._client().get_refs(urlsplit(self.location).path.encode())

    def is_slow_to_list(self) -> bool:
        """The whole history comes first, unless it is here already."""
        return self.host_of(self.location) is not None and not (self.access.workspace / "objects").exists()

    def _client(self) -> HttpGitClient:
        secrets, parts = self.access.secrets, urlsplit(self.location)
        self.access.pace()
        user = secrets.get("user") or ("oauth2" if "token" in secrets else None)
        return HttpGitClient(
            urlunsplit((parts.scheme, parts.netloc, "", "", "")),
            pool_manager=_CheckedPool(self.access),
            username=user,
            password=secrets.get("password") or secrets.get("token"),
        )

    @staticmethod
    @contextmanager
    def _faults() -> Iterator[None]:
        """What the server refuses, as errors of ours."""
        try:
            yield
        except HTTPUnauthorized:
            raise ConnectorError("credentials") from None
        except NotGitRepository:
            raise ConnectorError("not_repository") from None
        except (GitProtocolError, HangupException, urllib3.exceptions.HTTPError, OSError) as problem:
            raise SourceUnreachableError("because", problem=str(problem)[:200]) from problem

    def _fetch(self, repository: Repo) -> None:
        with self._faults():
            fetched = self._client().fetch(urlsplit(self.location).path, repository)
        for name, sha in fetched.refs.items():
            if sha is not None and name.startswith(b"refs/heads/"):
                repository.refs[name] = sha
        if target := fetched.symrefs.get(HEAD):
            repository.refs.set_symbolic_ref(HEAD, target)

    def _head(self, repository: Repo) -> Commit:
        branch = self.settings.branch
        try:
            sha = repository.refs[b"refs/heads/" + branch.encode()] if branch else repository.head()
        except KeyError:
            if branch:
                raise ConnectorError("branch", branch=branch) from None
            raise ConnectorError("empty_repository") from None
        return cast(Commit, repository[sha])

    @staticmethod
    def _commit(repository: Repo, sha: str) -> Commit | None:
        """The commit of the last list; None where it is not there any more, as after a forced push."""
        try:
            commit = repository[sha.encode()] if sha else None
        except (KeyError, ValueError):
            return None
        return commit if isinstance(commit, Commit) else None

    # ── its files ───────────────────────────────────────────────────────────────────────────────

    def _whole(self, repository: Repo, head: Commit) -> Iterator[Listed]:
        entries = [entry for entry in iter_tree_contents(repository.object_store, head.tree) if _is_file(entry.mode)]
        changed = self._last_changes(repository, head, {entry.path for entry in entries if entry.path}, before=None)
        for entry in entries:
            yield self._item(repository, entry.path or b"", entry.sha or b"", changed)

    def _between(self, repository: Repo, before: Commit, head: Commit) -> Iterator[Listed]:
        store = repository.object_store
        file_changes = list(tree_changes(store, before.tree, head.tree, rename_detector=RenameDetector(store)))
        paths = {change.new.path for change in file_changes if change.new is not None and change.new.path}
        changed = self._last_changes(repository, head, paths, before=before)
        for change in file_changes:
            old, new = change.old, change.new
            if new is not None and new.path and _is_file(new.mode):
                was = _text(old.path) if change.type == "rename" and old is not None else ""
                yield self._item(repository, new.path, new.sha or b"", changed, was=was or "")
            elif old is not None and old.path and (path := _text(old.path)) is not None:
                yield RemovedItem(external_id=path)

    def _item(
        self, repository: Repo, path: bytes, sha: bytes, changed: Mapping[bytes, Commit], *, was: str = ""
    ) -> Item | UnreadableItem:
        name = _text(path)
        if name is None:
            return UnreadableItem(path=path.decode("utf-8", "replace")[:MAX_PATH], error=ItemOfSourceError("path"))
        return Item(
            external_id=name,
            name=PurePosixPath(name).name,
            stamp={"blob": sha.decode()},
            read=partial(_read, repository, sha, name),
            metadata=self._attributes(name, changed.get(path)),
            was=was,
        )

    def _attributes(self, path: str, commit: Commit | None) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        if self.settings.link:
            branch = self.settings.branch or "HEAD"
            file, sign, lines = self.settings.link.partition("#")
            attributes["link"] = file.replace("{path}", quote(path)).replace("{branch}", quote(branch))
            if "{first}" in lines:
                attributes[LINK_OF_LINES] = lines
            else:
                attributes["link"] += sign + lines
        if commit is not None:
            author, _bracket, _mail = commit.author.decode("utf-8", "replace").partition(" <")
            message = commit.message.decode("utf-8", "replace").strip().splitlines()
            attributes |= {
                "author": author,
                "changed": datetime.fromtimestamp(commit.commit_time, UTC).date().isoformat(),
                "change": message[0][:200] if message else "",
            }
        return attributes

    def _last_changes(
        self, repository: Repo, head: Commit, paths: set[bytes], *, before: Commit | None
    ) -> dict[bytes, Commit]:
        """The last commit that touched each path, of the latest MOST_COMMITS since `before`."""
        changed: dict[bytes, Commit] = {}
        if not self.settings.history or not paths:
            return changed
        exclude = [before.id] if before is not None else None
        for entry in repository.get_walker(include=[head.id], exclude=exclude, max_entries=MOST_COMMITS):
            for change in entry.changes():
                for part in change if isinstance(change, list) else [change]:
                    if part is not None and part.new is not None and part.new.path in paths:
                        changed.setdefault(part.new.path, entry.commit)
            if len(changed) == len(paths):
                break
        return changed


def _read(repository: Repo, sha: bytes, path: str, last: Stamp) -> FetchedItem | None:
    if last.get("blob") == sha.decode():
        return None
    content = cast(Blob, repository[sha]).data
    if len(content) < LFS_BYTES and content.startswith(LFS):
        raise ItemOfSourceError("lfs")
    return FetchedItem(name=PurePosixPath(path).name, content=content, stamp={"blob": sha.decode()})


def _is_file(mode: int | None) -> bool:
    """No link, and no repository within this one."""
    return mode is not None and not S_ISGITLINK(mode) and mode & 0o170000 != SYMLINK


def _text(path: bytes | None) -> str | None:
    """A path as text; None where it is none, or too long for an id."""
    try:
        text = (path or b"").decode()
    except UnicodeDecodeError:
        return None
    return text if 0 < len(text) <= MAX_PATH and "\x00" not in text else None
