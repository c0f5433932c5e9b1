"""Paths of the sign-in with the company's account, under /admin/account/company/."""

from django.urls import path

from staff.oidc import views

urlpatterns = [
    path("login/", views.sign_in, name="staff_oidc_login"),
    # Registered at the provider.
    path("callback/", views.callback, name="staff_oidc_callback"),
    path("confirm/", views.confirm, name="staff_oidc_confirm"),
]
