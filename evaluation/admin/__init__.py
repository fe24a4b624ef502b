"""Admin pages for feedback cases, golden sets and evaluation runs. Each module declares its own."""

from accounts.admin.pages import import_pages

import_pages(__name__)
