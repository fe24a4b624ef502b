"""Systems as their published descriptions say that they answer: two pages or issues, one comment, one attached file.

Each class names the documentation that it follows. Only what a description in
`knowledge/connectors/rest/descriptions` asks for is there.
"""

from __future__ import annotations

import base64
import json
import re
import xmlrpc.client
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from tests.knowledge.sources.rest.serving import Call, Reply

FILE = b"The plan of the week: Monday."
NAMED = {"user": "mei", "password": "secret of mei"}
TOKEN = {"token": "token of mei"}


@dataclass(slots=True)
class Thing:
    """A page or issue."""

    id: str
    title: str
    words: str
    changed: datetime

    @property
    def iso(self) -> str:
        return self.changed.strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def is_first(self) -> bool:
        return self.id == "101"


def moment(month: int) -> datetime:
    return datetime(2026, month, 5, 10, tzinfo=UTC)


class System:
    """Holds things and answers calls. `log`: what was asked, for tests of what is asked for."""

    kind: ClassVar[str]
    credentials: ClassVar[dict[str, str]] = TOKEN
    settings: ClassVar[dict[str, Any]] = {}
    ids: ClassVar[tuple[str, ...]]  # of the documents of a first run
    since: ClassVar[str] = ""  # what stands in a request for changes
    page = 1  # things on a page, so that there are two

    def __init__(self) -> None:
        self.things = [
            Thing("101", "Beams <narrow>", "Narrow beams reach far.", moment(1)),
            Thing("102", "寻呼 пейджинг", "Paging wakes a device.", moment(2)),
        ]
        self.log: list[str] = []

    def __call__(self, call: Call) -> Any:
        self.log.append(call.raw_path + " " + call.body.decode("utf-8", "replace"))
        if not self.is_signed(call):
            return Reply(status=401, body=b"{}")
        answered = self.answer(call)
        return Reply(status=404, body=b"{}") if answered is None else answered

    def is_signed(self, call: Call) -> bool:
        signed = call.headers.get("authorization", "")
        if "token" in self.credentials:
            return signed == f"Bearer {self.credentials['token']}"
        pair = base64.b64encode(f"{NAMED['user']}:{NAMED['password']}".encode()).decode()
        return signed == f"Basic {pair}"

    def answer(self, call: Call) -> Any:
        """None where there is nothing."""
        raise NotImplementedError

    def change(self) -> None:
        """The first thing gets other words, the second one goes, a third one comes."""
        self.things[0].words, self.things[0].changed = "Wide beams reach less far.", moment(3)
        self.things[1] = Thing("103", "Handover", "A device moves on.", moment(4))

    def newer(self, since: str) -> list[Thing]:
        """Things since a moment as ISO 8601 or `yyyy-MM-dd HH:mm` in UTC."""
        if not since:
            return self.things
        begin = datetime.fromisoformat(since)
        begin = begin if begin.tzinfo else begin.replace(tzinfo=UTC)
        return [thing for thing in self.things if thing.changed >= begin]


class Confluence(System):
    """docs.atlassian.com/ConfluenceServer/rest: content/search, expansions, `_links.next`; storage format."""

    kind = "confluence"
    settings: ClassVar = {"spaces": ["RAN"]}
    ids = ("pages/101", "pages/102", "files/900")
    since = "lastmodified"

    def answer(self, call: Call) -> Any:
        if call.path == "/download/900":
            return FILE
        if call.path != "/rest/api/content/search":
            return None
        cql, start = call.query["cql"], int(call.query.get("start", 0))
        if match := re.match(r"id = (\d+)", cql):
            found = [self._page(thing, call) for thing in self.things if thing.id == match[1]]
        elif "type = comment" in cql:
            found = [self._comment()] if "container = 101" in cql else []
        elif "type = attachment" in cql:
            assert 'space = "RAN"' in cql
            found = [self._file()] if "lastmodified" not in cql else []
        else:
            assert 'space = "RAN"' in cql
            since = re.search(r'lastmodified >= "([^"]+)"', cql)
            found = [self._page(thing, call) for thing in self.newer(since[1] if since else "")]
        links = {"base": call.base, "context": ""}
        if start + self.page < len(found):
            links["next"] = re.sub(r"&start=\d+", "", call.raw_path) + f"&start={start + self.page}"
        return {"results": found[start : start + self.page], "start": start, "limit": self.page, "_links": links}

    def _page(self, thing: Thing, call: Call) -> dict[str, Any]:
        expand = call.query["expand"]
        page: dict[str, Any] = {
            "id": thing.id,
            "type": "page",
            "title": thing.title,
            "version": {"number": int(thing.changed.timestamp()), "when": thing.iso, "by": {"displayName": "Mei"}},
            "space": {"key": "RAN", "name": "Radio"},
            "ancestors": [] if thing.is_first else [{"id": "101", "title": self.things[0].title}],
            "metadata": {"labels": {"results": [{"name": "5G"}]}},
            "_links": {"webui": f"/display/RAN/{thing.id}"},
        }
        users = {"results": [{"username": "mei"}] if thing.is_first else []}
        if "restrictions.read.restrictions.user" in expand:
            page["restrictions"] = {"read": {"restrictions": {"user": users, "group": {"results": []}}}}
        if "ancestors.restrictions" in expand and page["ancestors"]:
            own = {"user": {"results": [{"username": "mei"}]}, "group": {"results": [{"name": "radio"}]}}
            page["ancestors"][0]["restrictions"] = {"read": {"restrictions": own}}
        if "body.storage" in expand:
            macro = '<ac:structured-macro ac:name="info"><ac:rich-text-body><p>{}</p></ac:rich-text-body>'
            page["body"] = {"storage": {"value": macro.format(thing.words) + "</ac:structured-macro>"}}
        return page

    def _comment(self) -> dict[str, Any]:
        by = {"displayName": "Li"}
        body = {"storage": {"value": "<p>Well said.</p>"}}
        return {"id": "500", "title": "Re", "version": {"when": "2026-01-06T08:00:00.000Z", "by": by}, "body": body}

    def _file(self) -> dict[str, Any]:
        return {
            "id": "900",
            "title": "plan.txt",
            "version": {"number": 1, "when": "2026-01-05T11:00:00Z"},
            "extensions": {"fileSize": len(FILE), "mediaType": "text/plain"},
            "container": {"id": "101", "title": "Beams <narrow>", "space": {"name": "Radio"}, "ancestors": []},
            "_links": {"download": "/download/900", "webui": "/pages/101"},
        }


class JiraCloud(System):
    """developer.atlassian.com, Jira Cloud v3: search/jql with nextPageToken, comments by offset, ADF."""

    kind = "jira_cloud"
    credentials = NAMED
    settings: ClassVar = {"projects": ["RAN"]}
    ids = ("issues/101", "issues/102", "issues/101/900")
    since = "updated"
    search, version = "/rest/api/3/search/jql", "3"

    def answer(self, call: Call) -> Any:
        if call.path == "/content/900":
            return FILE
        if match := re.fullmatch(rf"/rest/api/{self.version}/issue/(\d+)/comment", call.path):
            said = [self._comment("Well said."), {**self._comment("Hidden."), "visibility": {"value": "staff"}}]
            said = said if match[1] == "101" else []
            start = int(call.query["startAt"])
            return {"comments": said[start : start + 1], "startAt": start, "total": len(said)}
        if call.path != self.search:
            return None
        assert 'project = "RAN"' in call.query["jql"]
        since = re.search(r'updated >= "([^"]+)"', call.query["jql"])
        return self.found([self._issue(thing, call) for thing in self.newer(since[1] if since else "")], call)

    def found(self, issues: list[Any], call: Call) -> Any:
        place = int(call.query.get("nextPageToken", 0))
        following = {"nextPageToken": str(place + 1)} if place + 1 < len(issues) else {"isLast": True}
        return {"issues": issues[place : place + 1], **following}

    def text(self, words: str) -> Any:
        return {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": words}]}]}

    def _comment(self, words: str) -> dict[str, Any]:
        created = "2026-01-06T08:00:00.000+0800"
        return {"body": self.text(words), "author": {"displayName": "Li"}, "created": created}

    def _issue(self, thing: Thing, call: Call) -> dict[str, Any]:
        file = {
            "id": "900",
            "filename": "plan.txt",
            "size": len(FILE),
            "created": thing.iso,
            "content": f"{call.base}/content/900",
        }
        fields = {
            "summary": thing.title,
            "description": self.text(thing.words),
            "status": {"name": "Open"},
            "issuetype": {"name": "Bug"},
            "project": {"key": "RAN", "name": "Radio"},
            "labels": ["5G"],
            "components": [{"name": "Beams"}],
            "updated": thing.changed.strftime("%Y-%m-%dT%H:%M:%S.000+0000"),
            "attachment": [file] if thing.is_first else [],
            "security": {"name": "staff"} if thing.is_first else None,
        }
        return {"id": thing.id, "key": f"RAN-{thing.id}", "fields": fields}


class Jira(JiraCloud):
    """docs.atlassian.com/software/jira/docs/api/REST: search by offset with total, texts in wiki markup."""

    kind = "jira"
    credentials = TOKEN
    search, version = "/rest/api/2/search", "2"

    def found(self, issues: list[Any], call: Call) -> Any:
        start = int(call.query["startAt"])
        return {"issues": issues[start : start + 1], "startAt": start, "total": len(issues)}

    def text(self, words: str) -> Any:
        return f"*{words}*"


class MediaWiki(System):
    """mediawiki.org/wiki/API: generators with `continue`, formatversion 2, action=parse, list=allimages."""

    kind = "mediawiki"
    ids = ("pages/101", "pages/102", "files/Plan.txt")
    since = "grcend"

    def answer(self, call: Call) -> Any:
        query = call.query
        if call.path == "/images/Plan.txt":
            return FILE
        if call.path != "/api.php":
            return None
        if query["action"] == "parse":
            words = next((thing.words for thing in self.things if thing.id == query["pageid"]), None)
            if words is None:
                return {"error": {"code": "nosuchpageid", "info": "There is no page with this id."}}
            return {
                "parse": {"pageid": int(query["pageid"]), "text": f'<div class="mw-parser-output"><p>{words}</p></div>'}
            }
        if query.get("list") == "allimages":
            return {"batchcomplete": True, "query": {"allimages": [self._file(call)]}}
        generator = query["generator"]
        assert query["gapnamespace" if generator == "allpages" else "grcnamespace"] == "0"
        found = self.newer(query.get("grcend", ""))
        start = int(query.get("gapcontinue" if generator == "allpages" else "grccontinue", 0))
        answered: dict[str, Any] = {"batchcomplete": True}
        if found[start : start + 1]:
            answered["query"] = {"pages": [self._page(thing, call) for thing in found[start : start + 1]]}
        if start + 1 < len(found):
            name = "gapcontinue" if generator == "allpages" else "grccontinue"
            answered["continue"] = {name: str(start + 1), "continue": f"{name}||"}
        return answered

    def _page(self, thing: Thing, call: Call) -> dict[str, Any]:
        return {
            "pageid": int(thing.id),
            "ns": 0,
            "title": thing.title,
            "lastrevid": int(thing.changed.timestamp()),
            "fullurl": f"{call.base}/wiki/{thing.id}",
            "revisions": [{"timestamp": thing.iso, "user": "Mei"}],
        }

    def _file(self, call: Call) -> dict[str, Any]:
        url = f"{call.base}/images/Plan.txt"
        return {"name": "Plan.txt", "timestamp": "2026-01-05T11:00:00Z", "url": url, "size": len(FILE)}


class DokuWiki(System):
    """dokuwiki.org/devel:xmlrpc: dokuwiki.getPagelist, wiki.getPageHTML, wiki.getAttachments; HTTP basic sign-in."""

    kind = "dokuwiki"
    credentials = NAMED
    ids = ("pages/radio:101", "pages/radio:102", "files/radio:plan.txt")

    def answer(self, call: Call) -> Any:
        if call.path == "/lib/exe/fetch.php":
            return FILE if call.query["media"] == "radio:plan.txt" else None
        if call.path != "/lib/exe/xmlrpc.php":
            return None
        arguments, name = xmlrpc.client.loads(call.body)
        match name:
            case "dokuwiki.getPagelist" if arguments == ("", {"depth": 0}):
                value: Any = [
                    self._entry(f"radio:{thing.id}", thing.changed, len(thing.words)) for thing in self.things
                ]
            case "wiki.getPageHTML":
                own_id = str(arguments[0]).removeprefix("radio:")
                value = next(f"<h1>{t.title}</h1><p>{t.words}</p>" for t in self.things if t.id == own_id)
            case "wiki.getAttachments":
                value = [{**self._entry("radio:plan.txt", moment(1), len(FILE)), "file": "plan.txt", "isimg": False}]
            case _:
                value = xmlrpc.client.Fault(-32601, f"server error. requested method {name} does not exist.")
        is_fault = isinstance(value, xmlrpc.client.Fault)
        body = xmlrpc.client.dumps(value if is_fault else (value,), methodresponse=True)
        return Reply(body=body.encode(), headers={"Content-Type": "text/xml"})

    @staticmethod
    def _entry(own_id: str, changed: datetime, size: int) -> dict[str, Any]:
        day = xmlrpc.client.DateTime(changed.isoformat())
        return {"id": own_id, "perms": 8, "size": size, "mtime": int(changed.timestamp()), "lastModified": day}


class Redmine(System):
    """redmine.org/projects/redmine/wiki/Rest_api: issues, journals, attachments, wiki pages, X-Redmine-API-Key."""

    kind = "redmine"
    settings: ClassVar = {"projects": ["radio"], "markup": "textile"}
    ids = ("issues/101", "issues/102", "issues/101/900", "wiki/radio/Start")
    since = "updated_on"

    def is_signed(self, call: Call) -> bool:
        return call.headers.get("x-redmine-api-key") == TOKEN["token"]

    def answer(self, call: Call) -> Any:
        if call.path == "/attachments/download/900/plan.txt":
            return FILE
        if call.path == "/projects/radio/wiki/index.json":
            return {"wiki_pages": [{"title": "Start", "version": 2, "updated_on": "2026-01-05T10:00:00Z"}]}
        if call.path == "/projects/radio/wiki/Start.json":
            return {"wiki_page": {"title": "Start", "text": "h1. Start\n\nRead this first."}}
        if match := re.fullmatch(r"/issues/(\d+)\.json", call.path):
            return {"issue": next(self._issue(thing, call) for thing in self.things if thing.id == match[1])}
        if call.path != "/issues.json":
            return None
        assert (call.query["project_id"], call.query["status_id"]) == ("radio", "*")
        found = self.newer(call.query.get("updated_on", "").removeprefix(">="))
        start = int(call.query["offset"])
        return {"issues": [self._issue(t, call) for t in found[start : start + 1]], "total_count": len(found)}

    def _issue(self, thing: Thing, call: Call) -> dict[str, Any]:
        issue: dict[str, Any] = {
            "id": int(thing.id),
            "subject": thing.title,
            "description": f"*{thing.words}*",
            "project": {"name": "Radio"},
            "tracker": {"name": "Bug"},
            "status": {"name": "New"},
            "is_private": False,
            "updated_on": thing.iso,
        }
        if call.query.get("include") == "journals" and thing.is_first:
            note = {"user": {"name": "Li"}, "created_on": "2026-01-06T00:00:00Z"}
            issue["journals"] = [
                {**note, "notes": "Well said."},
                {**note, "notes": "Hidden.", "private_notes": True},
                {**note, "notes": ""},
            ]
        if call.query.get("include") == "attachments":
            url = f"{call.base}/attachments/download/900/plan.txt"
            file = {"id": 900, "filename": "plan.txt", "filesize": len(FILE), "content_url": url}
            issue["attachments"] = [file] if thing.is_first else []
        return issue


def linked(found: list[Any], call: Call) -> Reply:
    """A page of one, with the header Link where there is another one."""
    number = int(call.query.get("page", 1))
    url = re.sub(r"&page=\d+", "", call.url)
    headers = {"Content-Type": "application/json"}
    if number < len(found):
        headers["Link"] = f'<{url}&page={number + 1}>; rel="next", <{url}&page={len(found)}>; rel="last"'
    return Reply(body=json.dumps(found[number - 1 : number]).encode(), headers=headers)


class GitLab(System):
    """docs.gitlab.com/api: issues, notes, wikis; header Link; PRIVATE-TOKEN."""

    kind = "gitlab"
    settings: ClassVar = {"projects": ["radio/beams"]}
    ids = ("issues/101", "issues/102", "wiki/radio/beams/home")
    since = "updated_after"

    def is_signed(self, call: Call) -> bool:
        return call.headers.get("private-token") == TOKEN["token"]

    def answer(self, call: Call) -> Any:
        if call.path == "/api/v4/projects/radio/beams/wikis":
            assert "radio%2Fbeams" in call.raw_path
            return [{"slug": "home", "title": "Home", "format": "markdown", "content": "# Start\n\nRead this first."}]
        if re.fullmatch(r"/api/v4/projects/7/issues/\d+/notes", call.path):
            note = {"author": {"name": "Li"}, "created_at": "2026-01-06T00:00:00Z", "system": False}
            notes = [{**note, "body": "Well said."}, {**note, "body": "Hidden.", "internal": True}]
            return linked(notes if "/101/" in call.path else [], call)
        if call.path != "/api/v4/projects/radio/beams/issues":
            return None
        found = [self._issue(thing) for thing in self.newer(call.query.get("updated_after", ""))]
        return linked([*found, {**self._issue(self.things[0]), "id": 999, "confidential": True}], call)

    def _issue(self, thing: Thing) -> dict[str, Any]:
        return {
            "id": int(thing.id),
            "iid": int(thing.id) - 100,
            "project_id": 7,
            "title": thing.title,
            "description": f"**{thing.words}**",
            "state": "opened",
            "labels": ["5G"],
            "confidential": False,
            "references": {"full": f"radio/beams#{int(thing.id) - 100}"},
            "web_url": f"https://gitlab.example.com/radio/beams/-/issues/{thing.id}",
            "updated_at": thing.iso,
        } | ({"iid": 101} if thing.is_first else {})


class GitHub(System):
    """docs.github.com/rest/issues: issues with `since`, comments, header Link; pull requests are issues, too."""

    kind = "github"
    settings: ClassVar = {"repositories": ["radio/beams"]}
    ids = ("issues/101", "issues/102")
    since = "since"

    def answer(self, call: Call) -> Any:
        if re.fullmatch(r"/repos/radio/beams/issues/\d+/comments", call.path):
            comment = {"user": {"login": "li"}, "created_at": "2026-01-06T00:00:00Z", "body": "Well said."}
            return linked([comment] if "/101/" in call.path else [], call)
        if call.path != "/repos/radio/beams/issues":
            return None
        assert call.headers["x-github-api-version"] == "2022-11-28"
        found = [self._issue(thing) for thing in self.newer(call.query.get("since", ""))]
        return linked([*found, {**self._issue(self.things[0]), "id": 999, "pull_request": {"url": "x"}}], call)

    def _issue(self, thing: Thing) -> dict[str, Any]:
        return {
            "id": int(thing.id),
            "number": int(thing.id),
            "title": thing.title,
            "body": f"**{thing.words}**",
            "state": "open",
            "user": {"login": "mei"},
            "labels": [{"name": "5G"}],
            "assignees": [],
            "html_url": f"https://github.com/radio/beams/issues/{thing.id}",
            "updated_at": thing.iso,
        }


class SharePoint(System):
    """learn.microsoft.com/graph: client credentials, drives of a site, driveItem delta, content by redirect."""

    kind = "sharepoint"
    credentials = NAMED
    settings: ClassVar = {"tenant": "contoso", "site": "contoso.sharepoint.com:/sites/radio:"}
    ids = ("files/101", "files/102")
    since = "token=2"

    def __init__(self) -> None:
        super().__init__()
        self.gone: list[str] = []

    def change(self) -> None:
        super().change()
        self.gone = ["102"]

    def is_signed(self, call: Call) -> bool:
        if call.path.startswith(("/contoso/", "/stored/")):
            return "authorization" not in call.headers  # what is signed in itself gets no token
        return call.headers.get("authorization") == "Bearer of the application"

    def answer(self, call: Call) -> Any:
        if call.path == "/contoso/oauth2/v2.0/token":
            form = {"grant_type=client_credentials", "client_secret=secret+of+mei"}
            if not form <= set(call.body.decode().split("&")):
                return Reply(status=400, body=b'{"error": "invalid_client"}')
            return {"access_token": "of the application", "expires_in": 3600}
        if call.path == "/sites/contoso.sharepoint.com:/sites/radio:/drives":
            return {"value": [{"id": "b!7"}]}
        if match := re.fullmatch(r"/drives/b!7/items/(\d+)/content", call.path):
            other = call.base.replace("127.0.0.1", "localhost")
            return Reply(status=302, headers={"Location": f"{other}/stored/{match[1]}"})
        if match := re.fullmatch(r"/stored/(\d+)", call.path):
            return next(thing.words.encode() for thing in self.things if thing.id == match[1])
        if call.path != "/drives/b!7/root/delta":
            return None
        token = call.query.get("token", "0")
        folder = {"id": "1", "name": "root", "folder": {}}
        if token == "0":  # noqa: S105
            page = [folder, self._file(self.things[0])]
            return {"value": page, "@odata.nextLink": f"{call.base}/drives/b!7/root/delta?token=1"}
        changed = [self._file(t) for t in self.things if t.changed >= moment(3)] if token == "2" else []  # noqa: S105
        page = [*changed, *({"id": own_id, "deleted": {"state": "deleted"}} for own_id in self.gone)]
        page = [self._file(thing) for thing in self.things[1:]] if token == "1" else page  # noqa: S105
        return {"value": page, "@odata.deltaLink": f"{call.base}/drives/b!7/root/delta?token=2"}

    def _file(self, thing: Thing) -> dict[str, Any]:
        return {
            "id": thing.id,
            "name": f"plan {thing.id}.txt",
            "file": {"mimeType": "text/plain"},
            "size": len(thing.words),
            "cTag": f'"c:{thing.id},{thing.changed.timestamp()}"',
            "lastModifiedDateTime": thing.iso,
            "webUrl": f"https://contoso.sharepoint.com/{thing.id}",
            "parentReference": {"driveId": "b!7", "name": "General"},
        }


class Feishu(System):
    """open.feishu.cn: tenant token, wiki spaces and nodes (a tree), blocks of docx; errors come with status 200."""

    kind = "feishu"
    credentials = NAMED
    settings: ClassVar = {"site": "https://example.feishu.cn"}
    ids = ("wiki/101", "wiki/102")

    def __call__(self, call: Call) -> Any:
        answered = super().__call__(call)
        return {"code": 99991663, "msg": "token invalid"} if getattr(answered, "status", 0) == 401 else answered

    def is_signed(self, call: Call) -> bool:
        is_sign_in = call.path == "/auth/v3/tenant_access_token/internal"
        return is_sign_in or call.headers.get("authorization") == "Bearer t-7"

    def answer(self, call: Call) -> Any:
        if call.path == "/auth/v3/tenant_access_token/internal":
            if json.loads(call.body) != {"app_id": NAMED["user"], "app_secret": NAMED["password"]}:
                return {"code": 10014, "msg": "app secret invalid"}
            return {"code": 0, "msg": "ok", "tenant_access_token": "t-7", "expire": 7200}
        if call.path == "/wiki/v2/spaces":
            return {"code": 0, "msg": "success", "data": {"items": [{"space_id": "77"}], "has_more": False}}
        if call.path == "/wiki/v2/spaces/77/nodes":
            return self._nodes(call)
        if match := re.fullmatch(r"/docx/v1/documents/(\d+)/blocks", call.path):
            thing = next(thing for thing in self.things if thing.id == match[1])
            return {"code": 0, "msg": "success", "data": self._blocks(thing, call)}
        return None

    def _nodes(self, call: Call) -> dict[str, Any]:
        """The first document at the top, and all others below it."""
        parent = call.query.get("parent_node_token", "")
        below = self.things[:1] if not parent else self.things[1:] if parent == "n101" else []
        nodes = [
            {
                "node_token": f"n{thing.id}",
                "obj_token": thing.id,
                "obj_type": "docx",
                "title": thing.title,
                "has_child": thing.is_first,
                "obj_edit_time": str(int(thing.changed.timestamp())),
            }
            for thing in below
        ]
        return {"code": 0, "msg": "success", "data": {"items": nodes, "has_more": False, "page_token": ""}}

    @staticmethod
    def _blocks(thing: Thing, call: Call) -> dict[str, Any]:
        """Two pages: the page itself, then its text."""
        if "page_token" not in call.query:
            page = {"block_id": thing.id, "block_type": 1, "children": ["b1"], "page": {"elements": []}}
            return {"items": [page], "has_more": True, "page_token": "second"}
        run = {"text_run": {"content": thing.words, "text_element_style": {"bold": True}}}
        return {"items": [{"block_id": "b1", "block_type": 2, "text": {"elements": [run]}}], "has_more": False}


SYSTEMS: tuple[type[System], ...] = (
    Confluence,
    JiraCloud,
    Jira,
    MediaWiki,
    DokuWiki,
    Redmine,
    GitLab,
    GitHub,
    SharePoint,
    Feishu,
)
