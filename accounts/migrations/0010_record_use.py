"""Whether a person lets be recorded what they do with answers."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0009_queue_share'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='record_use',
            field=models.BooleanField(default=True, help_text='Copying, opening sources, reading time, stopping and rephrasing show where answers fail. Reviewers see them with question and answer.', verbose_name='record how I use answers'),
        ),
    ]
