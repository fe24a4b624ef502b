"""The ninja routers: `/api/v1/rag/*` and the OpenAI-compatible `/v1/*`."""

from chat.api.attachments import attachments_router
from chat.api.dify import dify_router
from chat.api.openai import openai_router
from chat.api.rag import rag_router
from chat.api.shares import shares_router

__all__ = ["attachments_router", "dify_router", "openai_router", "rag_router", "shares_router"]
