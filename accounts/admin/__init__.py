"""Admin pages for people and access. Each module declares its own."""

from accounts.admin.pages import import_pages

import_pages(__name__)
