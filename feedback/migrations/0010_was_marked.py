"""That a document was marked as holding the right answer is known after the document has gone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("feedback", "0009_signals_in_months")]

    operations = [
        migrations.AddField(
            model_name="badcase",
            name="was_marked",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(
            "UPDATE feedback_badcase SET was_marked = true WHERE marked_document_id IS NOT NULL",
            migrations.RunSQL.noop,
        ),
    ]
