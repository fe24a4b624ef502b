"""Cells of vectors get their indexes beside the work of others: building them takes long in a large corpus.

Before, 0046 built them in the transaction that added the columns, and kept searches waiting meanwhile.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState

IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%(name)s)"


class AddIndexOnce(AddIndexConcurrently):
    """Safe to run again: an index that is there stays, and what is left of a build that broke off is built anew."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(IS_VALID, {"name": self.index.name})
            found = cursor.fetchone()
        if found == (True,):
            return
        if found is not None:
            self.database_backwards(app_label, schema_editor, to_state, from_state)
        super().database_forwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("knowledge", "0050_tries_of_fact_readings")]

    operations = [
        AddIndexOnce("wholevector", models.Index(fields=["tenant_id", "cell"], name="knowledge_whole_cell")),
        AddIndexOnce("latentvector", models.Index(fields=["tenant_id", "cell"], name="knowledge_latent_cell")),
    ]
