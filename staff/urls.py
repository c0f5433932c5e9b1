"""Paths of the staff login, under /admin/account/. There is no sign-up, no mail, and no password reset by mail."""

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.db.transaction import atomic
from django.http import Http404
from django.urls import path, re_path
from django.views.defaults import page_not_found

from staff.login import factors, views
from staff.oidc import sign_in as oidc

urlpatterns = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("password/", views.change_password, name="account_change_password"),
    path("invitation/", views.accept_invitation, name="staff_invitation"),
    # allauth requires these names. What it does not write in a transaction by itself would name nobody.
    path("factors/", mfa.index, name="mfa_index"),
    path("factors/code/", mfa.authenticate, name="mfa_authenticate"),
    path("factors/confirm/", mfa.reauthenticate, name="mfa_reauthenticate"),
    path("factors/download/", factors.begin_download, name="staff_download"),
    path("factors/app/", views.EnrolTOTP.as_view(), name="mfa_activate_totp"),
    path("factors/app/remove/", atomic(totp.deactivate_totp), name="mfa_deactivate_totp"),
    path("factors/passkeys/", webauthn.list_webauthn, name="mfa_list_webauthn"),
    path("factors/passkeys/add/", atomic(views.EnrolPasskey.as_view()), name="mfa_add_webauthn"),
    path("factors/passkeys/login/", webauthn.login_webauthn, name="mfa_login_webauthn"),
    path("factors/passkeys/confirm/", webauthn.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
    path("factors/passkeys/<int:pk>/", webauthn.edit_webauthn, name="mfa_edit_webauthn"),
    path("factors/passkeys/<int:pk>/remove/", atomic(views.RemovePasskey.as_view()), name="mfa_remove_webauthn"),
    path("factors/recovery-codes/", recovery_codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("factors/recovery-codes/new/", recovery_codes.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    # The company's account; the second is registered at the provider.
    path("company/login/", oidc.sign_in, name="staff_oidc_login"),
    path("company/callback/", oidc.callback, name="staff_oidc_callback"),
    path("company/confirm/", oidc.confirm, name="staff_oidc_confirm"),
    # The admin would redirect anonymous visitors to the login.
    re_path(r"", page_not_found, {"exception": Http404()}),
]
