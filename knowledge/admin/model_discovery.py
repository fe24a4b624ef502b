"""Page of the model servers that were found on this machine; choosing a model opens the form of a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from knowledge.admin.site_models import changes_models
from knowledge.models import LanguageModel
from knowledge.services.model_discovery import (
    host_allow,
    hosts_to_allow,
    is_machine_allowed,
    may_allow_hosts,
    models_at,
    servers_discover,
)
from knowledge.services.model_tests import model_test_start
from ragcore.errors import RagError
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
    """POST: look for model servers on this machine, and show them; with `act` = allow, allow its address before."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if request.POST.get("act") == "allow":
        _allow(request)
    port = str(request.META.get("SERVER_PORT"))
    own_ports = [int(port)] if port.isdecimal() else []
    servers = servers_discover(scope=admin_scope(request), actor=admin_user(request), own_ports=own_ports)
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
            "may_allow": may_allow_hosts(scope=admin_scope(request)),
        },
    )


def _allow(request: HttpRequest) -> None:
    """Allow this machine's address, and test the models at it that waited for that."""
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
    try:
        host_allow(host=HOST, **who)
    except RagError as error:
        messages.error(request, error_message(error))
        return
    messages.success(request, _("%(host)s is allowed for language models.") % {"host": HOST})
    for model in LanguageModel.objects.filter(servers__test_code="not_allowed").distinct():
        if HOST in hosts_to_allow(model):
            model_test_start(model=model, **who)


def _server_shown(server: LocalServer) -> dict[str, Any]:
    """A server as the page shows it."""
    registered = models_at(server.url)
    return {
        "name": " ".join(filter(None, (KINDS.get(server.kind, ""), server.version))),
        "url": server.url,
        "needs_key": server.needs_key,
        "more": server.more,
        "models": [_model_shown(server, model, registered) for model in server.models],
        "add_address": _add_address({"server": server.url}),
    }


def _model_shown(server: LocalServer, model: LocalModel, registered: Mapping[str, int]) -> dict[str, Any]:
    values = {"name": model.name, "server": server.url}
    if model.context_tokens:
        values["context_tokens"] = str(model.context_tokens)
    row: dict[str, Any] = {"name": model.name, "context_tokens": model.context_tokens}
    if model.name in registered:
        return {**row, "page": reverse("admin:knowledge_languagemodel_change", args=[registered[model.name]])}
    return {**row, "add_address": _add_address(values)}


def _add_address(values: Mapping[str, str]) -> str:
    """The form of a new model with these values."""
    return f"{reverse('admin:knowledge_languagemodel_add')}?{urlencode(values)}"
