"""The admin's look. Colours are those of static/css/tokens.css, as the scales that the theme wants."""

from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _

UNFOLD = {
    "SITE_TITLE": "Ragsite",
    "SITE_HEADER": "Ragsite",
    "SITE_SUBHEADER": _("Knowledge and quality"),
    "SITE_SYMBOL": "menu_book",
    "SITE_URL": "/",
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": True,
    "SHOW_LANGUAGES": True,
    "BORDER_RADIUS": "8px",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("favicon.svg")},
    ],
    "SCRIPTS": [
        lambda request: static("js/theme.js"),
        lambda request: static("admin_ext/alpine_csp.js"),
        lambda request: static("admin_ext/accessible.js"),
        lambda request: static("admin_ext/errors.js"),
        lambda request: static("admin_ext/file_fields.js"),
        lambda request: static("admin_ext/folds.js"),
    ],
    "STYLES": [lambda request: static("admin_ext/admin.css")],
    "DASHBOARD_CALLBACK": "ragsite.admin_home.dashboard",
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": "ragsite.admin_menu.navigation"},
    "COLORS": {
        "base": {
            "50": "oklch(97.5% 0.001 197)",
            "100": "oklch(94.8% 0.003 229)",
            "200": "oklch(92.3% 0.004 237)",
            "300": "oklch(83.9% 0.008 242)",
            "400": "oklch(68.8% 0.014 244)",
            "500": "oklch(52.4% 0.014 248)",
            "600": "oklch(43.5% 0.013 244)",
            "700": "oklch(39.7% 0.012 239)",
            "800": "oklch(30.2% 0.010 242)",
            "900": "oklch(20.7% 0.006 237)",
            "950": "oklch(18.5% 0.005 210)",
        },
        "primary": {
            "50": "oklch(97.2% 0.010 191)",
            "100": "oklch(94.8% 0.014 191)",
            "200": "oklch(91.6% 0.029 186)",
            "300": "oklch(82.4% 0.044 193)",
            "400": "oklch(75.6% 0.094 190)",
            "500": "oklch(66.0% 0.092 193)",
            "600": "oklch(48.1% 0.079 200)",
            "700": "oklch(41.0% 0.067 199)",
            "800": "oklch(36.5% 0.058 198)",
            "900": "oklch(32.0% 0.045 195)",
            "950": "oklch(29.5% 0.033 192)",
        },
    },
}
