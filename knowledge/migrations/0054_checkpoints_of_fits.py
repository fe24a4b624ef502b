"""What a fit of reranker weights has collected so far, while it is fitted."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0053_embedding_models_of_sets")]

    operations = [migrations.AddField("rerankerfit", "checkpoint", models.BinaryField(null=True))]
