"""Sign-in and profile."""

from django.urls import path

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("sign-in", views.sign_in, name="sign_in"),
    path("sign-out", views.sign_out, name="sign_out"),
    path("profile", views.profile, name="profile"),
    path("profile/keys", views.key_create, name="key_create"),
    path("profile/keys/<int:key_id>/revoke", views.key_revoke, name="key_revoke"),
]
