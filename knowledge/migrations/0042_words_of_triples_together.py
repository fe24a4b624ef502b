from django.contrib.postgres.indexes import GinIndex
from django.db import migrations

NAME = "knowledge_triple_lexemes"


class Migration(migrations.Migration):
    """Words of new facts come into their index together. The index stays as it is: no rebuild."""

    dependencies = [("knowledge", "0041_search_models")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex(model_name="triple", name=NAME),
                migrations.AddIndex(
                    model_name="triple",
                    index=GinIndex(fields=["lexemes"], name=NAME, fastupdate=True, gin_pending_list_limit=512),
                ),
            ],
            database_operations=[
                migrations.RunSQL(
                    f"ALTER INDEX {NAME} SET (fastupdate = on, gin_pending_list_limit = 512)",
                    f"ALTER INDEX {NAME} SET (fastupdate = off)",
                ),
            ],
        ),
    ]
