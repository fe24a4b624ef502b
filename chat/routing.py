"""WebSocket addresses."""

from django.urls import path

from chat.consumers import ChatConsumer
from chat.embeds.consumer import EmbedConsumer

websocket_urlpatterns = [path("ws/chat", ChatConsumer.as_asgi()), path("ws/embed", EmbedConsumer.as_asgi())]
