"""What is sent and received, made by `make client-types`: do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class AddedWebhook(TypedDict):
    """
    A webhook that was added, with its secret.
    """

    webhookId: str
    """
    The service's identifier of the webhook, a UUID.
    """
    url: str
    """
    Where the events are sent.
    """
    types: list[Literal['user.statusChanged', 'user.requirementsChanged', 'user.erased', 'user.transactionsRecorded', 'user.documentPublished', 'user.documentWithdrawn'] | str]
    """
    Of the events that are sent; without any, all.
    """
    description: str
    """
    What it is for, in your own words.
    """
    state: Literal['active', 'disabled'] | str
    """
    A disabled one gets no events. Staff enable it; or remove it and add it again.
    """
    secret: str
    """
    Signs what is sent, by Standard Webhooks. Shown this once: it cannot be read back.
    """


class ApiKey(TypedDict):
    """
    An API key in force, as staff see it.
    """

    apiKeyPrefix: str
    """
    The key's first 21 characters, by which it is told from others.
    """
    label: str
    """
    What staff called it; a rotated key keeps it. May be empty.
    """
    createdAt: str
    """
    When it was issued.
    """
    lastUsedAt: str | None
    """
    When it last signed a request, within five minutes.
    """
    expiresAt: str | None
    """
    When it ends; null: never.
    """


class ApiKeyList(TypedDict):
    """
    A partner's API keys in force.
    """

    items: list[ApiKey]
    """
    The newest first.
    """


class Closing(TypedDict):
    """
    An object without fields.
    """


class CompletedWrite(TypedDict):
    """
    A write that has taken effect.
    """

    idempotencyKey: str
    """
    The key of the write, in lower case.
    """
    method: Literal['POST', 'PATCH'] | str
    """
    The method of the write.
    """
    path: str
    """
    The canonical path, line 2 of the canonical request.
    """
    status: int
    """
    The HTTP status of its response.
    """
    completedAt: str
    """
    When the write took effect.
    """
    expiresAt: str
    """
    When the key is forgotten: it can be used for another write.
    """


Country: TypeAlias = str
"""
A country, by its two-letter code (ISO 3166-1 alpha-2).
"""


class CreatedUser(TypedDict):
    """
    A registered user.
    """

    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    status: Literal['pendingCompliance']
    """
    The status of the user, which compliance alone changes.
    """


class Diagnosis(TypedDict):
    """
    Why the signature of a request was refused, for sandbox keys alone.
    """

    cause: str
    """
    For programs: headerMissing, timestampFormat, clockSkew, signatureFormat, secret, method, path, query, timestamp, idempotencyKey, body, lineBreaks, lineOrder, reused, unknown. Values may be added.
    """
    message: str
    """
    What to do, for people; may change.
    """
    canonicalRequest: str
    """
    The canonical request as the service built it: compare it with the text that your program signed.
    """


class Document(TypedDict):
    """
    A document issued to the user.
    """

    documentId: str
    """
    The service's identifier of the document, a UUID.
    """
    createdAt: str
    """
    When the document was issued.
    """
    type: Literal['accountStatement', 'tradeConfirmation', 'taxSlip', 'agreement'] | str
    """
    What kind of paper it is.
    """
    title: str
    """
    The title, for people.
    """
    contentType: Literal['application/pdf', 'text/csv', 'text/plain', 'image/png', 'image/jpeg', 'application/zip', 'application/octet-stream'] | str
    """
    The media type of the file.
    """
    sizeBytes: int
    """
    The size of the file, in bytes.
    """
    sha256: str
    """
    The file's SHA-256, 64 lower-case hex digits, to verify the download.
    """


class DocumentPage(TypedDict):
    """
    A page of a user's documents.
    """

    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    nextCursor: str | None
    """
    The cursor of the next page, to be sent back unchanged; null on the last page.
    """
    items: list[Document]
    """
    The documents of this page, newest first.
    """


DocumentType: TypeAlias = Literal['accountStatement', 'tradeConfirmation', 'taxSlip', 'agreement']
"""
A kind of document.
"""


EventType: TypeAlias = Literal['user.statusChanged', 'user.requirementsChanged', 'user.erased', 'user.transactionsRecorded', 'user.documentPublished', 'user.documentWithdrawn']
"""
A type of event.
"""


class FieldError(TypedDict):
    """
    A field, parameter or header that is not valid.
    """

    field: str
    """
    Its name, such as `email`, `items[0].rate` or `Idempotency-Key`.
    """
    message: str
    """
    The problem, for people; never contains the value sent.
    """
    code: str
    """
    The kind of problem, for programs: required, unknown, duplicate, type, format, length, range, notAllowed, inconsistent. Codes may be added.
    """


class Money(TypedDict):
    """
    An amount in a currency.
    """

    currency: str
    """
    The code of the currency: 3 to 10 upper-case letters or digits.
    """
    amount: str
    """
    The amount, zero or more, in plain decimal notation: no sign and no exponent, at most 20 digits before the point and 18 after it. The digits are those recorded.
    """


class NewUser(TypedDict):
    """
    As it is stored. Leading and trailing white space is removed, except from externalId, and country, province and postalCode are accepted in any letter case.
    """

    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    email: str
    """
    The user's e-mail address, of a public domain. No mail is sent to it.
    """
    firstName: str
    """
    The given names, as in the user's papers.
    """
    lastName: str
    """
    The family name, as in the user's papers.
    """
    dateOfBirth: str
    """
    The birth date, YYYY-MM-DD, from 1900-01-01 on. A user younger than 18 is refused with 422.
    """
    addressLine1: str
    """
    Number and street of the home address.
    """
    addressLine2: NotRequired[str | None]
    """
    The rest of the home address, such as a suite. null and the empty text both mean none.
    """
    city: str
    """
    The city of the home address.
    """
    postalCode: NotRequired[str]
    """
    The postal code, in the form of the country and in any letter case. The table of countries (/docs/countries) has the forms, and says where one is required.
    """
    province: NotRequired[str]
    """
    The province, state or other subdivision: its code, such as `ON` or `NY`, in any letter case. The table of countries (/docs/countries) has the codes, and says where one is required. Where it lists none for the country, any text is accepted.
    """
    country: Country
    """
    The country of the home address: its two-letter code (ISO 3166-1 alpha-2), in any letter case.
    """
    occupation: str
    """
    What the user does for a living.
    """
    isCiroAffiliate: bool
    """
    Whether the user works for a member of CIRO, the Canadian Investment Regulatory Organization.
    """


class OtherEvent(TypedDict):
    """
    An event of a type that is newer than this document: ignore it.
    """

    eventId: str
    """
    The same in the feed and in every webhook of the event.
    """
    type: str
    """
    What happened.
    """
    createdAt: str
    """
    When the change was made that the event reports.
    """
    data: dict[str, Any]
    """
    What happened in detail; the fields depend on the type.
    """


class Overlap(TypedDict):
    """
    A rotation.
    """

    overlapHours: NotRequired[int]
    """
    How long the old one stays in force beside the new one, by default 24; 0: it ends at once.
    """


class Ping(TypedDict):
    """
    The response of ping.
    """

    partner: str
    """
    The partner that the API key belongs to: lower-case letters, digits and single hyphens.
    """
    mode: Literal['live', 'sandbox'] | str
    """
    `sandbox` where the partner's users are made up.
    """
    serverTime: str
    """
    The service's clock.
    """


class PublishedDocument(TypedDict):
    """
    The document that was issued to a user.
    """

    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    documentId: str
    """
    The service's identifier of the document, a UUID.
    """
    type: Literal['accountStatement', 'tradeConfirmation', 'taxSlip', 'agreement'] | str
    """
    What kind of paper it is.
    """
    createdAt: str
    """
    When the document was issued.
    """


class RecordedTransactions(TypedDict):
    """
    How many conversions of a user were recorded at once, and of which time.
    """

    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    count: int
    """
    The number of conversions recorded.
    """
    oldestCreatedAt: str
    """
    The earliest createdAt among them, which may be older than conversions that you have read.
    """
    newestCreatedAt: str
    """
    The latest createdAt among them.
    """


class RemovedWebhook(TypedDict):
    """
    A webhook that was removed.
    """

    webhookId: str
    """
    The service's identifier of the webhook, a UUID.
    """


class Requirement(TypedDict):
    """
    What compliance needs about a user.
    """

    requirementId: str
    """
    The service's identifier of the requirement.
    """
    code: Literal['nameUnclear', 'dateOfBirthUnclear', 'addressUnclear', 'occupationUnclear', 'emailUnclear', 'purposeOfUse', 'sourceOfFunds', 'other'] | str
    """
    What is needed. Values may be added: treat an unknown one as `other`.
    """
    fields: list[str]
    """
    The fields that an update must have, all in one, to answer it. Empty: it is answered by a note.
    """
    message: str | None
    """
    What compliance says of it, in English; null: nothing.
    """
    state: Literal['open', 'submitted', 'closed'] | str
    """
    `open` until you have answered, then `submitted`. A closed requirement is not listed.
    """
    createdAt: str
    """
    When compliance opened it.
    """
    dueAt: str
    """
    When the answer is due. When it passes, nothing happens by itself: compliance decides.
    """


RequirementCode: TypeAlias = Literal['nameUnclear', 'dateOfBirthUnclear', 'addressUnclear', 'occupationUnclear', 'emailUnclear', 'purposeOfUse', 'sourceOfFunds', 'other']
"""
What compliance needs.
"""


class RequirementNote(TypedDict):
    """
    A partner's note on a requirement.
    """

    note: str
    """
    Your answer. Of control characters, only line breaks are allowed; white space around it is removed.
    """


class RequirementsChanged(TypedDict):
    """
    The data of user.requirementsChanged.
    """

    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    openRequirements: int
    """
    How many requirements wait for your answer now.
    """
    openedRequirementId: str | None
    """
    The requirement that compliance opened; null if it closed some.
    """


class RequirementsChangedEvent(TypedDict):
    """
    An event of the type user.requirementsChanged.
    """

    eventId: str
    """
    The same in the feed and in every webhook of the event.
    """
    type: Literal['user.requirementsChanged']
    """
    What happened.
    """
    createdAt: str
    """
    When the change was made that the event reports.
    """
    data: RequirementsChanged
    """
    What happened in detail; the fields depend on the type.
    """


class RevokedKey(TypedDict):
    """
    An API key that was revoked.
    """

    apiKeyPrefix: str
    """
    The key's first 21 characters.
    """


class RotatedKey(TypedDict):
    """
    The API key that takes the place of the one that signed.
    """

    apiKey: str
    """
    Shown this once: it cannot be read back.
    """
    secret: str
    """
    Shown this once: it cannot be read back.
    """
    expiresAt: str
    """
    When the old key ends, the one that signed the request.
    """


class RotatedSecret(TypedDict):
    """
    The new secret of a webhook.
    """

    webhookId: str
    """
    The service's identifier of the webhook, a UUID.
    """
    secret: str
    """
    Shown this once: it cannot be read back.
    """


SandboxFault: TypeAlias = Literal['tooManyRequests', 'internalError', 'unavailable', 'slow', 'lostAnswer']
"""
A failure that the sandbox simulates.
"""


class SandboxRequest(TypedDict):
    """
    A request that a key of the partner sent, and how it was answered. Bodies are not kept.
    """

    requestId: str
    """
    X-Request-Id of the response.
    """
    createdAt: str
    """
    When the request arrived.
    """
    method: str
    """
    The method of the request.
    """
    path: str
    """
    The canonical path, line 2 of the canonical request.
    """
    query: str
    """
    As sent; empty if there was none.
    """
    status: int
    """
    The HTTP status of the response.
    """
    error: str | None
    """
    The error code; null where the request succeeded.
    """
    fieldErrors: list[FieldError]
    """
    Those of the response, at most 100.
    """
    idempotencyKey: str | None
    """
    As it was sent; null if there was none.
    """
    replayed: bool
    """
    Whether the response was that of an earlier request.
    """
    milliseconds: int
    """
    How long the service took.
    """
    diagnosis: Diagnosis | None
    """
    Why the signature was refused, if it was.
    """


class SandboxRequestList(TypedDict):
    """
    The partner's last requests, the newest first.
    """

    items: list[SandboxRequest]
    """
    At most as many as the limit.
    """


class SimulatedDocument(TypedDict):
    """
    A document to be published.
    """

    type: DocumentType
    """
    What kind of paper it is.
    """
    title: str
    """
    The title, for people; also the name of the file.
    """


class SimulatedMoney(TypedDict):
    """
    An amount in a currency, to be recorded.
    """

    currency: str
    """
    The code of the currency: 3 to 10 upper-case letters or digits.
    """
    amount: str
    """
    The amount, zero or more, in plain decimal notation: no sign and no exponent, at most 20 digits before the point and 18 after it.
    """


class SimulatedRequirement(TypedDict):
    """
    A requirement of compliance, simulated.
    """

    code: RequirementCode
    """
    What is needed.
    """
    fields: NotRequired[list[str]]
    """
    Names of fields that an update takes; by default none.
    """
    message: NotRequired[str | None]
    """
    What compliance says of it; by default nothing. Words that name a suspicion are refused, as staff's are.
    """
    dueInDays: NotRequired[int]
    """
    In how many days the answer is due; by default 14.
    """


class TestedWebhook(TypedDict):
    """
    What the test of a webhook contains.
    """

    webhookId: str
    """
    The identifier of the webhook that is tested, a UUID.
    """


class TransactionsRecordedEvent(TypedDict):
    """
    An event of the type user.transactionsRecorded.
    """

    eventId: str
    """
    The same in the feed and in every webhook of the event.
    """
    type: Literal['user.transactionsRecorded']
    """
    What happened.
    """
    createdAt: str
    """
    When the change was made that the event reports.
    """
    data: RecordedTransactions
    """
    What happened in detail; the fields depend on the type.
    """


class UserChanges(TypedDict):
    """
    The fields to change. The user that results is validated like a new one: a new country needs its province and postal code.
    """

    email: NotRequired[str]
    """
    The user's e-mail address, of a public domain. No mail is sent to it.
    """
    firstName: NotRequired[str]
    """
    The given names, as in the user's papers.
    """
    lastName: NotRequired[str]
    """
    The family name, as in the user's papers.
    """
    dateOfBirth: NotRequired[str]
    """
    The birth date, YYYY-MM-DD, from 1900-01-01 on. A user younger than 18 is refused with 422.
    """
    addressLine1: NotRequired[str]
    """
    Number and street of the home address.
    """
    addressLine2: NotRequired[str | None]
    """
    The rest of the home address, such as a suite. null and the empty text both mean none.
    """
    city: NotRequired[str]
    """
    The city of the home address.
    """
    postalCode: NotRequired[str]
    """
    The postal code, in the form of the country and in any letter case. The table of countries (/docs/countries) has the forms, and says where one is required.
    """
    province: NotRequired[str]
    """
    The province, state or other subdivision: its code, such as `ON` or `NY`, in any letter case. The table of countries (/docs/countries) has the codes, and says where one is required. Where it lists none for the country, any text is accepted.
    """
    country: NotRequired[Country]
    """
    The country of the home address: its two-letter code (ISO 3166-1 alpha-2), in any letter case.
    """
    occupation: NotRequired[str]
    """
    What the user does for a living.
    """
    isCiroAffiliate: NotRequired[bool]
    """
    Whether the user works for a member of CIRO, the Canadian Investment Regulatory Organization.
    """


class UserErased(TypedDict):
    """
    The user that is no more: its records have reached the end of their retention.
    """

    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """


class UserErasedEvent(TypedDict):
    """
    An event of the type user.erased.
    """

    eventId: str
    """
    The same in the feed and in every webhook of the event.
    """
    type: Literal['user.erased']
    """
    What happened.
    """
    createdAt: str
    """
    When the change was made that the event reports.
    """
    data: UserErased
    """
    What happened in detail; the fields depend on the type.
    """


UserStatus: TypeAlias = Literal['pendingCompliance', 'active', 'rejected', 'suspended', 'closed']
"""
A status of a user.
"""


class UserSummary(TypedDict):
    """
    The status of a user, why, and what compliance needs from you.
    """

    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    status: UserStatus
    """
    The status of the user, which compliance alone changes.
    """
    statusReason: Literal['verified', 'informationMissing', 'notVerified', 'duplicate', 'notServed', 'partnerRequest', 'userRequest', 'underReview'] | str | None
    """
    Why the user has this status, as far as you may be told; null: the user waits for a decision. Values may be added.
    """
    statusChangedAt: str
    """
    When the status began; of a new user, the registration.
    """
    requirements: list[Requirement]
    """
    What compliance needs from you, oldest first; empty if nothing.
    """
    updatedAt: str
    """
    When the profile or the status last changed.
    """


class Webhook(TypedDict):
    """
    A webhook.
    """

    webhookId: str
    """
    The service's identifier of the webhook, a UUID.
    """
    url: str
    """
    Where the events are sent.
    """
    types: list[Literal['user.statusChanged', 'user.requirementsChanged', 'user.erased', 'user.transactionsRecorded', 'user.documentPublished', 'user.documentWithdrawn'] | str]
    """
    Of the events that are sent; without any, all.
    """
    description: str
    """
    What it is for, in your own words.
    """
    state: Literal['active', 'disabled'] | str
    """
    A disabled one gets no events. Staff enable it; or remove it and add it again.
    """


class WebhookList(TypedDict):
    """
    A partner's webhooks.
    """

    items: list[Webhook]
    """
    All of them, the oldest first.
    """


class WebhookSettings(TypedDict):
    """
    A webhook to be added.
    """

    url: str
    """
    An https URL with a host name that has public addresses only, without user info and fragment, on port 443 or from 1024 to 65535.
    """
    types: NotRequired[list[EventType]]
    """
    Only events of these types are sent; without any, all.
    """
    description: NotRequired[str]
    """
    What it is for, in your own words.
    """


class WebhookTest(TypedDict):
    """
    A test, which has no options.
    """


class WebhookTestEvent(TypedDict):
    """
    The test of a webhook, which is in no feed.
    """

    eventId: str
    """
    The same in the feed and in every webhook of the event.
    """
    type: Literal['webhook.test']
    """
    What happened.
    """
    createdAt: str
    """
    When the change was made that the event reports.
    """
    data: TestedWebhook
    """
    What happened in detail; the fields depend on the type.
    """


class WebhookTestResult(TypedDict):
    """
    How a webhook responded to a test.
    """

    status: int | None
    """
    The HTTP status that it responded with, if it did.
    """
    milliseconds: int | None
    """
    How long that took, name look-up included; null without a response.
    """
    error: str | None
    """
    Why there was no response, for programs: timeout, dns, connect, tlsExpired, tlsName, tlsSelfSigned, tlsIssuer, tlsProtocol, tls, protocol, secret, internal. Values may be added. Null with a response.
    """


class WithdrawnDocument(TypedDict):
    """
    The document that a user no longer has: it was published by mistake.
    """

    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    documentId: str
    """
    The service's identifier of the document, a UUID.
    """


Conversion = TypedDict(
    'Conversion',
    {
        'conversionId': str,
        'createdAt': str,
        'type': Literal['conversion'],
        'from': Money,
        'to': Money,
        'rate': str,
    },
)


class ConversionPage(TypedDict):
    """
    A page of a user's conversions.
    """

    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    nextCursor: str | None
    """
    The cursor of the next page, to be sent back unchanged; null on the last page.
    """
    items: list[Conversion]
    """
    The conversions of this page, newest first.
    """


class DocumentPublishedEvent(TypedDict):
    """
    An event of the type user.documentPublished.
    """

    eventId: str
    """
    The same in the feed and in every webhook of the event.
    """
    type: Literal['user.documentPublished']
    """
    What happened.
    """
    createdAt: str
    """
    When the change was made that the event reports.
    """
    data: PublishedDocument
    """
    What happened in detail; the fields depend on the type.
    """


class DocumentWithdrawnEvent(TypedDict):
    """
    An event of the type user.documentWithdrawn.
    """

    eventId: str
    """
    The same in the feed and in every webhook of the event.
    """
    type: Literal['user.documentWithdrawn']
    """
    What happened.
    """
    createdAt: str
    """
    When the change was made that the event reports.
    """
    data: WithdrawnDocument
    """
    What happened in detail; the fields depend on the type.
    """


class ListedUser(TypedDict):
    """
    A user in a list, without personal data.
    """

    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    status: UserStatus
    """
    The status of the user, which compliance alone changes.
    """
    createdAt: str
    """
    When the user was registered.
    """
    updatedAt: str
    """
    When the profile or the status last changed.
    """
    openRequirements: int
    """
    How many requirements wait for your answer.
    """


class RecordedConversions(TypedDict):
    """
    The conversions as they are in the list.
    """

    items: list[Conversion]
    """
    The conversions, in the order sent.
    """


SimulatedConversion = TypedDict(
    'SimulatedConversion',
    {
        'conversionId': NotRequired[str],
        'createdAt': NotRequired[str],
        'from': SimulatedMoney,
        'to': SimulatedMoney,
        'rate': str,
    },
)


class SimulatedConversions(TypedDict):
    """
    Conversions to be recorded, all or none.
    """

    items: list[SimulatedConversion]
    """
    The conversions to be recorded.
    """


class SimulatedDecision(TypedDict):
    """
    A decision of compliance, simulated.
    """

    status: UserStatus
    """
    The new status.
    """
    reasonCode: NotRequired[str]
    """
    The code of the decision: one of the move's in section 13 of the contract, whose table makes `statusReason` of it.
    """


class StatusChanged(TypedDict):
    """
    The data of user.statusChanged.
    """

    userId: str
    """
    The service's identifier of the user, a UUID.
    """
    externalId: str
    """
    Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts.
    """
    status: UserStatus
    """
    The status of the user, which compliance alone changes.
    """
    statusReason: Literal['verified', 'informationMissing', 'notVerified', 'duplicate', 'notServed', 'partnerRequest', 'userRequest', 'underReview'] | str | None
    """
    Why the user has this status, as far as you may be told; null: the user waits for a decision. Values may be added.
    """
    updatedAt: str
    """
    When the profile or the status last changed.
    """


class StatusChangedEvent(TypedDict):
    """
    An event of the type user.statusChanged.
    """

    eventId: str
    """
    The same in the feed and in every webhook of the event.
    """
    type: Literal['user.statusChanged']
    """
    What happened.
    """
    createdAt: str
    """
    When the change was made that the event reports.
    """
    data: StatusChanged
    """
    What happened in detail; the fields depend on the type.
    """


class UserPage(TypedDict):
    """
    A page of users.
    """

    nextCursor: str | None
    """
    The cursor of the next page, to be sent back unchanged; null on the last page.
    """
    items: list[ListedUser]
    """
    The users of this page, newest first.
    """


Event: TypeAlias = StatusChangedEvent | RequirementsChangedEvent | UserErasedEvent | TransactionsRecordedEvent | DocumentPublishedEvent | DocumentWithdrawnEvent
"""
An event, by its type. It contains no personal data but the externalId.
"""


class EventPage(TypedDict):
    """
    A page of the feed.
    """

    nextCursor: str
    """
    Where to continue, now or later: to be kept, and sent back unchanged. Never null.
    """
    hasMore: bool
    """
    Whether more events follow now.
    """
    items: list[Event]
    """
    The events of this page, oldest first.
    """
