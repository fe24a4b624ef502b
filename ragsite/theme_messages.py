"""Strings of the admin theme and of Django without translations, collected for makemessages.

tests/docs/test_translations.py compares them with the installed theme.
"""

from django.utils.translation import gettext_noop, ngettext_lazy

TOO_SHORT = ngettext_lazy(
    "This password is too short. It must contain at least %d character.",
    "This password is too short. It must contain at least %d characters.",
)
THEME_WORDS = (
    gettext_noop(" By %(filter_title)s "),
    gettext_noop("Add new item"),
    gettext_noop("Add row"),
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
    gettext_noop("All applications"),
    gettext_noop("Apply Filters"),
    gettext_noop("Choose file to upload"),
    gettext_noop("Click to cancel"),
    gettext_noop("Click to download"),
    gettext_noop("Date"),
    gettext_noop("Date from"),
    gettext_noop("Date to"),
    gettext_noop("Expand row"),
    gettext_noop("False"),
    gettext_noop("Filters"),
    gettext_noop("From"),
    gettext_noop("General"),
    gettext_noop("Go back"),
    gettext_noop("Image preview"),
    gettext_noop("Loading more results..."),
    gettext_noop("More actions"),
    gettext_noop("No data"),
    gettext_noop("No recent searches"),
    gettext_noop("No results found"),
    gettext_noop("No results matching your query"),
    gettext_noop("Not enough data."),
    gettext_noop(
        "Raw passwords are not stored, so there is no way to see this user’s password, "
        'but you can change the password using <a href="{}" '
        'class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
    gettext_noop("Recent searches"),
    gettext_noop("Record picture"),
    gettext_noop("Reset filters"),
    gettext_noop("Return to site"),
    gettext_noop("Run"),
    gettext_noop("Search apps and models..."),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop("Select all rows"),
    gettext_noop("Select record"),
    gettext_noop("Select value"),
    gettext_noop("Submit"),
    gettext_noop("System"),
    gettext_noop("This item will be deleted."),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("To"),
    gettext_noop("Toggle password visibility"),
    gettext_noop("True"),
    gettext_noop("Type to search"),
    gettext_noop("Value"),
    gettext_noop("Welcome"),
    gettext_noop("You have been successfully logged out from the administration"),
)
