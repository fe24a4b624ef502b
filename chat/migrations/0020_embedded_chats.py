"""Chats on other pages: origins, keys, sessions; and the mark on conversations that begin there."""

import chat.models.embeds
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0011_directory"),
        ("chat", "0019_fact_citations"),
        ("knowledge", "0081_connectors"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="goes_on_in_embed",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.CreateModel(
            name="Embed",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        help_text="Conversations that begin there are marked with it, such as HR portal.",
                        max_length=64,
                        verbose_name="name",
                    ),
                ),
                (
                    "code",
                    models.CharField(
                        default=chat.models.embeds.embed_code,
                        editable=False,
                        max_length=20,
                        unique=True,
                        verbose_name="code",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Disabling ends all open chats on the pages at once.",
                        verbose_name="enabled",
                    ),
                ),
                (
                    "origins",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=255), size=None, verbose_name="origins"
                    ),
                ),
                (
                    "subject",
                    models.CharField(
                        choices=[
                            ("username", "User name"),
                            ("email", "E-mail address"),
                            ("directory", "ID in the directory (SCIM externalId)"),
                            ("oidc", "Subject at the sign-in provider (OpenID Connect)"),
                        ],
                        default="username",
                        max_length=9,
                        verbose_name="the token names people by",
                    ),
                ),
                (
                    "token_seconds",
                    models.PositiveIntegerField(
                        default=300,
                        help_text="30 to 600. A token begins one chat and cannot be used again.",
                        validators=[
                            django.core.validators.MinValueValidator(30),
                            django.core.validators.MaxValueValidator(600),
                        ],
                        verbose_name="maximum lifetime of a token (seconds)",
                    ),
                ),
                (
                    "session_minutes",
                    models.PositiveIntegerField(
                        default=60,
                        help_text="5 to 480. After it the page has to vouch for the person again, which data-token-url does automatically.",
                        validators=[
                            django.core.validators.MinValueValidator(5),
                            django.core.validators.MaxValueValidator(480),
                        ],
                        verbose_name="maximum length of a chat session (minutes)",
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=80, verbose_name="title")),
                ("title_zh", models.CharField(blank=True, max_length=80, verbose_name="Chinese title")),
                ("greeting", models.TextField(blank=True, max_length=500, verbose_name="opening text")),
                ("greeting_zh", models.TextField(blank=True, max_length=500, verbose_name="Chinese opening text")),
                (
                    "theme",
                    models.CharField(
                        choices=[("auto", "As the page"), ("light", "Light"), ("dark", "Dark")],
                        default="auto",
                        max_length=5,
                        verbose_name="appearance",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        choices=[("auto", "As the page"), ("en", "English"), ("zh-hans", "简体中文")],
                        default="auto",
                        max_length=7,
                        verbose_name="language",
                    ),
                ),
                (
                    "position",
                    models.CharField(
                        choices=[("right", "Bottom right"), ("left", "Bottom left")],
                        default="right",
                        max_length=5,
                        verbose_name="place on the page",
                    ),
                ),
                ("created", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("last_used", models.DateTimeField(blank=True, editable=False, null=True, verbose_name="last used")),
                ("last_refused", models.DateTimeField(blank=True, editable=False, null=True)),
                ("last_reason", models.CharField(blank=True, editable=False, max_length=32)),
                (
                    "sets",
                    models.ManyToManyField(
                        related_name="embeds", to="knowledge.knowledgeset", verbose_name="knowledge sets"
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.tenant",
                        verbose_name="tenant",
                    ),
                ),
            ],
            options={
                "verbose_name": "embedded chat",
                "verbose_name_plural": "embedded chats",
                "ordering": ["name", "pk"],
            },
        ),
        migrations.AddField(
            model_name="conversation",
            name="embed",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="chat.embed",
                verbose_name="embedded chat",
            ),
        ),
        migrations.CreateModel(
            name="EmbedKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "algorithm",
                    models.CharField(
                        choices=[
                            ("HS256", "HS256: a secret that this site makes"),
                            ("RS256", "RS256: public RSA key"),
                            ("ES256", "ES256: public key on curve P-256"),
                            ("EdDSA", "EdDSA: public Ed25519 key"),
                        ],
                        default="HS256",
                        max_length=5,
                        verbose_name="algorithm",
                    ),
                ),
                ("sealed", models.TextField(blank=True, editable=False)),
                ("public_key", models.TextField(blank=True, verbose_name="public key (PEM)")),
                ("fingerprint", models.CharField(max_length=16, verbose_name="fingerprint")),
                ("created", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("last_used", models.DateTimeField(blank=True, null=True, verbose_name="last used")),
                (
                    "embed",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="keys",
                        to="chat.embed",
                        verbose_name="embedded chat",
                    ),
                ),
            ],
            options={
                "verbose_name": "key of an embedded chat",
                "verbose_name_plural": "keys of embedded chats",
                "ordering": ["created", "pk"],
            },
        ),
        migrations.CreateModel(
            name="EmbedSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("token_digest", models.CharField(editable=False, max_length=64)),
                ("origin", models.CharField(max_length=255, verbose_name="origin")),
                ("created", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("expires", models.DateTimeField(verbose_name="expires")),
                ("ended", models.DateTimeField(blank=True, null=True)),
                (
                    "embed",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="chat.embed",
                        verbose_name="embedded chat",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chat.embedkey"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="embed_sessions",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
            ],
            options={
                "verbose_name": "session of an embedded chat",
                "verbose_name_plural": "sessions of embedded chats",
                "ordering": ["-created", "-pk"],
            },
        ),
        migrations.AddConstraint(
            model_name="embed",
            constraint=models.UniqueConstraint(fields=("tenant", "name"), name="chat_embed_name_once_a_tenant"),
        ),
        migrations.AddConstraint(
            model_name="embed",
            constraint=models.CheckConstraint(
                condition=models.Q(("session_minutes__lte", 480), ("token_seconds__lte", 600)),
                name="chat_embed_short_lived",
            ),
        ),
        migrations.AddConstraint(
            model_name="embedkey",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("algorithm", "HS256"), ("public_key", "")),
                    models.Q(("sealed", ""), models.Q(("public_key", ""), _negated=True)),
                    _connector="OR",
                ),
                name="chat_embed_key_of_one_kind",
            ),
        ),
        migrations.AddIndex(
            model_name="embedsession",
            index=models.Index(fields=["expires"], name="chat_embed_session_expires"),
        ),
        migrations.AddConstraint(
            model_name="embedsession",
            constraint=models.UniqueConstraint(fields=("embed", "token_digest"), name="chat_embed_token_once"),
        ),
    ]
