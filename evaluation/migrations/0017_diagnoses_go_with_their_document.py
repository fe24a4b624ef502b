"""What was found out with a document goes when the document does."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0016_gate_of_reranker_fits"), ("knowledge", "0049_fits_from_use")]

    operations = [
        migrations.AlterField(
            model_name="diagnosis",
            name="document",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="knowledge.document",
            ),
        ),
    ]
