import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0083_language_model_tokenizers")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="leading_set",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="knowledge.knowledgeset",
            ),
        ),
        migrations.AddField(
            model_name="documentversion",
            name="pipeline_sets",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(), blank=True, editable=False, null=True, size=None
            ),
        ),
    ]
