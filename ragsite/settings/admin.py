"""The admin's look and navigation. Colours are those of static/css/tokens.css, as the scales that the theme wants."""

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

_HOME = "ragsite.admin_home"


def _item(title: object, icon: str, page: str, *, who: str, badge: str | None = None) -> dict[str, object]:
    """An entry of the navigation: a change list and who sees it; `badge` counts what needs hands."""
    item = {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{page}"), "permission": f"{_HOME}.{who}"}
    return {**item, "badge": f"{_HOME}.{badge}", "badge_variant": "danger"} if badge else item


def _list(model: str) -> str:
    return f"{model}_changelist"


_NAVIGATION = [
    {
        "title": _("Knowledge"),
        "separator": True,
        "items": [
            _item(_("Knowledge sets"), "library_books", _list("knowledge_knowledgeset"), who="may_curate"),
            _item(
                _("Documents"),
                "description",
                _list("knowledge_document"),
                who="may_curate",
                badge="failed_documents",
            ),
            _item(_("Upload"), "upload_file", "knowledge_document_upload", who="may_curate"),
            _item(_("Ingestion"), "conveyor_belt", _list("knowledge_ingestitem"), who="may_curate"),
            _item(_("Sources"), "hub", _list("knowledge_source"), who="may_administer"),
        ],
    },
    {
        "title": _("Reviews"),
        "separator": True,
        "items": [
            _item(_("Cases"), "rule", _list("feedback_badcase"), who="may_review_cases", badge="open_cases"),
            _item(_("Questions and answers"), "forum", _list("chat_message"), who="may_review"),
            _item(_("Conversations"), "chat", _list("chat_conversation"), who="may_review"),
        ],
    },
    {
        "title": _("Evaluation"),
        "separator": True,
        "items": [
            _item(_("Golden sets"), "verified", _list("evaluation_goldenset"), who="may_evaluate"),
            _item(_("Golden cases"), "checklist", _list("evaluation_goldencase"), who="may_evaluate"),
            _item(_("Runs"), "monitoring", _list("evaluation_evaluationrun"), who="may_evaluate"),
        ],
    },
    {
        "title": _("People"),
        "separator": True,
        "items": [
            _item(_("Users"), "person", _list("accounts_user"), who="may_administer"),
            _item(_("Groups of people"), "group", _list("accounts_usergroup"), who="may_administer"),
            _item(_("API keys"), "key", _list("accounts_apikey"), who="may_administer"),
            _item(_("Tenants"), "apartment", _list("accounts_tenant"), who="may_administer_all"),
            _item(_("Audit log"), "history", _list("accounts_auditevent"), who="may_administer"),
        ],
    },
]

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
    "STYLES": [lambda request: static("admin_ext/admin.css")],
    "DASHBOARD_CALLBACK": f"{_HOME}.dashboard",
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": _NAVIGATION},
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
            "500": "oklch(58.0% 0.090 196)",
            "600": "oklch(48.1% 0.079 200)",
            "700": "oklch(41.0% 0.067 199)",
            "800": "oklch(36.5% 0.058 198)",
            "900": "oklch(32.0% 0.045 195)",
            "950": "oklch(29.5% 0.033 192)",
        },
    },
}
