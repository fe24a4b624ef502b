"""How often a worker has ended its part of a training by itself, for what else waited."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0051_indexes_of_vector_cells")]

    operations = [
        migrations.AddField("queryadapter", "slices", models.PositiveSmallIntegerField(db_default=0, default=0)),
        migrations.AddField("rerankerfit", "slices", models.PositiveSmallIntegerField(db_default=0, default=0)),
    ]
