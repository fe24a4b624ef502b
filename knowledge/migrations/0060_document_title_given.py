"""Whether a document's title was given by its sender, or follows the file."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0059_trust_by_script")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="is_title_given",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
