"""Django settings, one file a concern; every value that differs between installations comes from `ragsite.env`."""

from ragsite.settings.admin import *  # noqa: F403
from ragsite.settings.apps import *  # noqa: F403
from ragsite.settings.data import *  # noqa: F403
from ragsite.settings.logs import *  # noqa: F403
from ragsite.settings.mail import *  # noqa: F403
from ragsite.settings.privacy import *  # noqa: F403
from ragsite.settings.security import *  # noqa: F403
from ragsite.settings.sign_in import *  # noqa: F403
from ragsite.settings.web import *  # noqa: F403
