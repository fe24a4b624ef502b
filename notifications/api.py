"""`/api/v1/notifications`: one's own inbox."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import PageQuery, ResourceViewSet
from notifications.kinds import sentence_of
from notifications.models import Notification
from notifications.selectors import notifications_of
from notifications.services import notification_read, notifications_read_all


class NotificationQuery(PageQuery):
    """What narrows the list."""

    unread = serializers.BooleanField(default=False)


class NotificationFields(serializers.ModelSerializer[Notification]):
    """A notification; `text` is in your language."""

    text = serializers.SerializerMethodField()

    class Meta:
        model = Notification
        fields: ClassVar = ["id", "kind", "text", "data", "link", "created", "read"]

    def get_text(self, row: Notification) -> str:
        return sentence_of(kind=row.kind, data=row.data)


class ReadAllFields(serializers.Serializer[Any]):
    """How many became read."""

    marked = serializers.IntegerField()


@extend_schema(tags=["notifications"])
class NotificationViewSet(ResourceViewSet):
    """Your own notifications."""

    lookup_field = "notification_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {"list": KeyScope.READ, "read": KeyScope.WRITE, "read_all": KeyScope.WRITE}

    @extend_schema(
        parameters=[NotificationQuery], responses=NotificationFields(many=True), operation_id="notifications_list"
    )
    def list(self, request: Request) -> Response:
        """Newest first."""
        rows = notifications_of(scope=self.scope, unread=self.query(NotificationQuery)["unread"])
        return self.page(rows, NotificationFields)

    @extend_schema(request=None, responses=ReadAllFields, operation_id="notifications_read_all")
    @action(detail=False, methods=["post"], url_path="read")
    def read_all(self, request: Request) -> Response:
        """Mark all as read."""
        return Response({"marked": notifications_read_all(scope=self.scope)})

    @extend_schema(request=None, responses=NotificationFields, operation_id="notifications_read")
    @action(detail=True, methods=["post"])
    def read(self, request: Request, notification_id: int) -> Response:
        """Mark one as read."""
        return Response(NotificationFields(notification_read(scope=self.scope, notification_id=notification_id)).data)
