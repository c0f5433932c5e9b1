"""How a person's identity was verified: contract, section 15."""

from django.utils.translation import gettext_lazy as _

from users.file.kinds import Kind, register
from users.file.verification_methods import DocumentType, Information, Method, VerificationSerializer
from users.models import FileKind

IDENTITY_VERIFICATION = register(
    Kind(
        code=FileKind.IDENTITY_VERIFICATION,
        serializer=VerificationSerializer(),
        labels={
            "method": _("Method"),
            "verifiedOn": _("Verified on"),
            "documentType": _("Document"),
            "documentNumber": _("Document number"),
            "issuingCountry": _("Issuing country"),
            "issuingSubdivision": _("Issuing province"),
            "expiresOn": _("Expires on"),
            "source": _("Source"),
            "information": _("Information"),
            "reference": _("Reference"),
        },
        choices={"method": Method, "documentType": DocumentType, "information": Information},
        due="expiresOn",
        secret={"documentNumber", "reference"},
        icon="badge",
        partner_sees=_("The partner sees the method and the dates."),
        is_told=True,
    )
)
