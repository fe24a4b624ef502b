"""Sign-in and profile."""

from django.urls import path

from accounts import views
from accounts.sign_in import account_views, oidc_views
from accounts.sign_in import views as sign_in_views

app_name = "accounts"
urlpatterns = [
    path("sign-in", sign_in_views.sign_in, name="sign_in"),
    path("sign-in/again", sign_in_views.again, name="sign_in_again"),
    path("sign-in/code", sign_in_views.code, name="sign_in_code"),
    path("sign-in/password", sign_in_views.password, name="sign_in_password"),
    path("sign-in/second-factor", sign_in_views.setup, name="sign_in_setup"),
    path("sign-in/oidc", oidc_views.begin, name="oidc_begin"),
    path("sign-in/oidc/callback", oidc_views.callback, name="oidc_callback"),
    path("sign-out", sign_in_views.sign_out, name="sign_out"),
    path("profile/password", account_views.password, name="password"),
    path("profile/second-factor", account_views.second_factor, name="second_factor"),
    path("profile/second-factor/change", account_views.second_factor_change, name="second_factor_change"),
    path("profile/sessions/end-others", account_views.sessions_end_others, name="sessions_end_others"),
    path("profile/sessions/<str:reference>/end", account_views.session_end, name="session_end"),
    path("profile", views.profile, name="profile"),
    path("profile/keys", views.key_create, name="key_create"),
    path("profile/keys/<int:key_id>/revoke", views.key_revoke, name="key_revoke"),
]
