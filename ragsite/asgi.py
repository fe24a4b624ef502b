"""The ASGI entry: sets Django up, then loads the application, which imports models."""

from __future__ import annotations

import os
from typing import Any

import django
from django.utils.module_loading import import_string

from ragsite.garbage import collector_waits

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
with collector_waits():
    django.setup(set_prefix=False)
    application: Any = import_string("ragsite.web_application.application")
