"""`/api/v1/users` and `/api/v1/api-keys`: for administrators, and keys for oneself."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.validators import UnicodeUsernameValidator
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.errors import MissingRightError, NotFoundError
from accounts.key_scopes import KeyScope
from accounts.models import MAX_CLEARANCE, User
from accounts.rest import ResourceViewSet, StrictSerializer, Text
from accounts.roles import KEYS_MAKE, USERS_MANAGE, administers
from accounts.scope import Scope
from accounts.services import api_key_create, user_create


class ProfileBody(StrictSerializer):
    """The work profile that retrieval may use."""

    department = Text(max_length=128, allow_blank=True, required=False)
    product = Text(max_length=128, allow_blank=True, required=False)
    role = Text(max_length=128, allow_blank=True, required=False)
    interests = serializers.ListField(child=Text(max_length=64), max_length=50, required=False)


class UserBody(StrictSerializer):
    """A new user; a new tenant name makes the tenant."""

    username = Text(max_length=150, validators=[UnicodeUsernameValidator()])
    tenant = Text(max_length=64, required=False, allow_null=True)
    clearance = serializers.IntegerField(min_value=0, max_value=MAX_CLEARANCE, default=0)
    groups = serializers.ListField(child=Text(max_length=128), max_length=100, required=False)
    profile = ProfileBody(required=False)
    can_create_sets = serializers.BooleanField(default=False)
    service_owner = Text(
        max_length=150,
        required=False,
        allow_null=True,
        help_text="User name. The user is then a service account of this person: keys only, no sign-in.",
    )


class UserFields(serializers.ModelSerializer[User]):
    """A user as administrators see it."""

    tenant = serializers.CharField(source="tenant.name")
    service_owner: Any = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)
    groups: Any = serializers.SlugRelatedField(source="user_groups", slug_field="name", many=True, read_only=True)
    profile = ProfileBody(source="*")

    class Meta:
        model = User
        fields: ClassVar = [
            "id",
            "username",
            "tenant",
            "clearance",
            "groups",
            "profile",
            "can_create_sets",
            "service_owner",
        ]


class KeyBody(StrictSerializer):
    """A new key of a user. Without `scopes` it has all but `keys` and `directory`."""

    username = Text(max_length=150)
    name = Text(max_length=64)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(KeyScope.choices), min_length=1, max_length=len(KeyScope), required=False
    )
    expires = serializers.DateTimeField(required=False, allow_null=True)
    requests_per_minute = serializers.IntegerField(
        min_value=1, max_value=1_000_000, required=False, allow_null=True, help_text="None: no limit of its own."
    )


class KeyFields(serializers.Serializer[Any]):
    """A new key; `key` is shown this once."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    username = serializers.CharField()
    key = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(KeyScope.choices))
    expires = serializers.DateTimeField(allow_null=True)
    requests_per_minute = serializers.IntegerField(allow_null=True)


@extend_schema(tags=["people"])
class UserViewSet(ResourceViewSet):
    """Users, made by administrators."""

    key_scopes: ClassVar = {
        "create": KeyScope.MANAGE,
    }

    @extend_schema(request=UserBody, responses={201: UserFields})
    def create(self, request: Request) -> Response:
        """Make a user; a new tenant name makes the tenant (platform administrators)."""
        if not administers(scope=self.scope, doing=USERS_MANAGE):
            raise MissingRightError("make_users")
        user = user_create(actor=self.user, **self.body(UserBody))
        return Response(UserFields(user).data, status=201)


@extend_schema(tags=["people"])
class ApiKeyViewSet(ResourceViewSet):
    """API keys for oneself; administrators make them for their people."""

    key_scopes: ClassVar = {
        "create": KeyScope.KEYS,
    }

    @extend_schema(request=KeyBody, responses={201: KeyFields})
    def create(self, request: Request) -> Response:
        """Make a key; it is shown once."""
        values = self.body(KeyBody)
        owner = _key_owner(scope=self.scope, user=self.user, username=values["username"])
        values.pop("username")
        key, secret = api_key_create(user=owner, actor=self.user, through=self.key, **values)
        answer = {
            "id": key.pk,
            "name": key.name,
            "username": owner.username,
            "key": secret,
            "scopes": key.scopes,
            "expires": key.expires,
            "requests_per_minute": key.requests_per_minute,
        }
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


def _key_owner(*, scope: Scope, user: User, username: str) -> User:
    """Oneself, an own service account, or a person that the asker administers. Raises NotFoundError for all others."""
    if username == user.username:
        return user
    people = User.objects.filter(is_active=True)
    if not administers(scope=scope, doing=KEYS_MAKE):
        people = people.filter(service_owner=user, tenant_id=user.tenant_id)
    elif scope.administers == "tenant":
        people = people.filter(tenant_id=scope.tenant_id)
    person = people.filter(username=username).first()
    if person is None:
        raise NotFoundError("user", username=username)
    return person
