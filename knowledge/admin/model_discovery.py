"""Page of the model servers that were found on this machine; choosing a model opens the form of a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from knowledge.admin.site_models import changes_models
from knowledge.models import LanguageModel, SourcePlace
from knowledge.services.model_discovery import is_machine_allowed, servers_discover
from ragcore.llm.local_servers import HOST, PORTS, LocalModel, LocalServer

KINDS: Mapping[str, str] = {
    "ollama": "Ollama",
    "llama.cpp": "llama.cpp",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "lmstudio": "LM Studio",
    "tgi": "Text Generation Inference",
}


@admin_page("discover/", of=LanguageModel, name="knowledge_languagemodel_discover", allowed=changes_models)
def discover_view(request: HttpRequest) -> HttpResponse:
    """POST: look for model servers on this machine, and show them."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    port = str(request.META.get("SERVER_PORT"))
    own_ports = [int(port)] if port.isdecimal() else []
    servers = servers_discover(scope=admin_scope(request), actor=admin_user(request), own_ports=own_ports)
    places = reverse("admin:knowledge_sourceplace_add")
    return page_response(
        request,
        "admin/knowledge/languagemodel/servers.html",
        {
            "title": _("Model servers on this machine"),
            "servers": [_server_shown(server) for server in servers],
            "has_ollama": any(server.kind == "ollama" for server in servers),
            "ports": ", ".join(map(str, PORTS)),
            "host": HOST,
            "is_allowed": is_machine_allowed(),
            "allow_address": f"{places}?{urlencode({'kind': SourcePlace.Kind.HOST.value, 'location': HOST})}",
        },
    )


def _server_shown(server: LocalServer) -> dict[str, Any]:
    """A server as the page shows it."""
    return {
        "name": " ".join(filter(None, (KINDS.get(server.kind, ""), server.version))),
        "url": server.url,
        "needs_key": server.needs_key,
        "more": server.more,
        "models": [_model_shown(server, model) for model in server.models],
        "add_address": _add_address({"server": server.url}),
    }


def _model_shown(server: LocalServer, model: LocalModel) -> dict[str, Any]:
    values = {"name": model.name, "server": server.url}
    if model.context_tokens:
        values["context_tokens"] = str(model.context_tokens)
    return {"name": model.name, "context_tokens": model.context_tokens, "add_address": _add_address(values)}


def _add_address(values: Mapping[str, str]) -> str:
    """The form of a new model with these values."""
    return f"{reverse('admin:knowledge_languagemodel_add')}?{urlencode(values)}"
