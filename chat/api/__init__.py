"""The ninja routers: `/api/v1/rag/*` and the OpenAI-compatible `/v1/*`."""

from chat.api import filters as _filters  # noqa: F401 (adds its routes)
from chat.api import query as _query  # noqa: F401 (adds its routes)
from chat.api.openai import openai_router
from chat.api.rag import rag_router

__all__ = ["openai_router", "rag_router"]
