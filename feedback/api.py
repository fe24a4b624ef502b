"""`/api/v1/feedback` and `/api/v1/signals`."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import ResourceViewSet, StrictSerializer, Text, storable
from feedback.errors import NothingSaidError
from feedback.models import Signal, Vote
from feedback.services import signal_record, vote_record


class FeedbackBody(StrictSerializer):
    """A judgement of an answer in place of your earlier one: `vote`, `rating` or both. What is left out stays; a rating
    alone counts as a vote, up from 3.
    """

    message_id = serializers.UUIDField()
    vote = serializers.ChoiceField(Vote.Direction.choices, required=False)
    rating = serializers.IntegerField(min_value=1, max_value=5, required=False, allow_null=True)
    reasons = serializers.ListField(
        child=serializers.ChoiceField(Vote.Reason.choices), max_length=len(Vote.Reason), required=False
    )
    comment = Text(max_length=2000, allow_blank=True, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("vote") is None and attrs.get("rating") is None:
            raise serializers.ValidationError({"vote": NothingSaidError.default_message})
        return attrs


class FeedbackFields(serializers.ModelSerializer[Vote]):
    """A recorded judgement."""

    message_id = serializers.UUIDField()

    class Meta:
        model = Vote
        fields: ClassVar = ["id", "message_id", "vote", "rating", "reasons", "comment", "created", "updated"]


class SignalBody(StrictSerializer):
    """Something a reader did with an answer; `value` is e.g. the number of a citation, or seconds of reading."""

    message_id = serializers.UUIDField()
    kind = serializers.ChoiceField(Signal.Kind.choices)
    value = serializers.JSONField(required=False, allow_null=True, validators=[storable])


class SignalFields(serializers.Serializer[Any]):
    """Whether the signal was kept; not, where you have switched that off in your profile."""

    accepted = serializers.BooleanField()


@extend_schema(tags=["feedback"])
class FeedbackViewSet(ResourceViewSet):
    """Judgements of your own answers."""

    key_scopes: ClassVar = {
        "create": KeyScope.ASK,
    }

    @extend_schema(request=FeedbackBody, responses={201: FeedbackFields})
    def create(self, request: Request) -> Response:
        """Judge an answer; a vote down or a rating of 1 or 2 is looked at by a reviewer."""
        vote = vote_record(scope=self.scope, user=self.user, **self.body(FeedbackBody))
        return Response(FeedbackFields(vote).data, status=201)


@extend_schema(tags=["feedback"])
class SignalViewSet(ResourceViewSet):
    """Signs of how good an answer was."""

    key_scopes: ClassVar = {
        "create": KeyScope.ASK,
    }

    @extend_schema(request=SignalBody, responses={202: SignalFields})
    def create(self, request: Request) -> Response:
        """Record a sign."""
        signal = signal_record(scope=self.scope, user=self.user, **self.body(SignalBody))
        return Response({"accepted": signal is not None}, status=202)
