"""Sites keep the packaged model that they answer with when a release has another one for new sites."""

import uuid

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.utils import timezone

CLIENT, VECTORS = "embedded", "embedded-minilm-ngrams-1"  # the only packaged model that nobody had to name


def model_note(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The packaged model becomes a row wherever there are vectors of it, and is in use where no other model is."""
    rows, switches = apps.get_model("knowledge", "SearchModel"), apps.get_model("knowledge", "EmbedderSwitch")
    rows.objects.filter(task="embed", provider="packaged", name="").update(name=CLIENT)
    unnamed = switches.objects.filter(target=None, model=VECTORS)
    whole = apps.get_model("knowledge", "WholeVector").objects.filter(embedding_model=VECTORS)
    if not unnamed.exists() and not whole.exists():
        return
    values = {"provider": "packaged", "name": CLIENT}
    row, _made = rows.objects.get_or_create(task="embed", vectors=VECTORS, defaults=values)
    unnamed.update(target=row)
    values = {"target": row, "model": VECTORS, "live_since": timezone.now()}
    switches.objects.get_or_create(state="live", defaults=values)
    versions = apps.get_model("knowledge", "ModelsVersion")
    versions.objects.update_or_create(number=1, defaults={"value": uuid.uuid4()})


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0064_passage_sentences")]

    operations = [
        migrations.AlterField(
            model_name="searchmodel",
            name="name",
            field=models.CharField(
                blank=True,
                help_text="Name on the server, such as bge-m3, or the path of its folder. Built-in models are "
                "embedded_e5 and embedded.",
                max_length=512,
                verbose_name="model",
            ),
        ),
        migrations.RunPython(model_note, migrations.RunPython.noop),
    ]
