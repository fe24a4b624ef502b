import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """The history of options of sets and sites."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("accounts", "0002_ranking_facts"),
        ("knowledge", "0006_document_attributes"),
    ]

    operations = [
        migrations.CreateModel(
            name="OptionsChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True, verbose_name="at")),
                (
                    "kind",
                    models.CharField(
                        choices=[("edit", "Edited"), ("import", "Imported"), ("undo", "Undone")],
                        default="edit",
                        max_length=8,
                        verbose_name="kind",
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=256, verbose_name="note")),
                ("before", models.JSONField(default=dict, verbose_name="before")),
                ("after", models.JSONField(default=dict, verbose_name="after")),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="actor",
                    ),
                ),
                (
                    "knowledge_set",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="options_changes",
                        to="knowledge.knowledgeset",
                        verbose_name="knowledge set",
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
                "verbose_name": "change of options",
                "verbose_name_plural": "changes of options",
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(fields=["tenant", "knowledge_set", "-id"], name="knowledge_options_changes")
                ],
            },
        ),
    ]
