"""What is sent and received, made by clients/generate_types.py from the description: do not edit.

Fields may be added to what is received, and values to its enumerations: `| str` is for those.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class AddedWebhook(TypedDict):
    """A webhook that was added, with its secret."""

    webhookId: str
    url: str
    types: list[Literal["user.statusChanged", "user.requirementsChanged", "user.erased", "user.transactionsRecorded", "user.documentPublished", "user.documentWithdrawn"] | str]
    description: str
    state: Literal["active", "disabled"] | str
    secret: str


class ApiKey(TypedDict):
    """An API key in force, as staff see it."""

    apiKeyPrefix: str
    label: str
    createdAt: str
    lastUsedAt: str | None
    expiresAt: str | None


class ApiKeyList(TypedDict):
    """A partner's API keys in force."""

    items: list[ApiKey]


class CompletedWrite(TypedDict):
    """A write that has taken effect."""

    idempotencyKey: str
    method: Literal["POST", "PATCH"] | str
    path: str
    status: int
    completedAt: str
    expiresAt: str


# A conversion from one currency to another.
Conversion = TypedDict("Conversion", {
    "conversionId": 'str',
    "createdAt": 'str',
    "type": 'Literal["conversion"]',
    "from": 'Money',
    "to": 'Money',
    "rate": 'str',
})


class ConversionPage(TypedDict):
    """A page of a user's conversions."""

    externalId: str
    userId: str
    nextCursor: str | None
    items: list[Conversion]


class CreatedUser(TypedDict):
    """A registered user."""

    userId: str
    externalId: str
    status: Literal["pendingCompliance"]


class Diagnosis(TypedDict):
    """Why the signature of a request was refused, for sandbox keys alone."""

    cause: str
    message: str
    canonicalRequest: str


class Document(TypedDict):
    """A document issued to the user."""

    documentId: str
    createdAt: str
    type: Literal["accountStatement", "tradeConfirmation", "taxSlip", "agreement"] | str
    title: str
    contentType: Literal["application/pdf", "text/csv", "text/plain", "image/png", "image/jpeg", "application/zip", "application/octet-stream"] | str
    sizeBytes: int
    sha256: str


class DocumentPage(TypedDict):
    """A page of a user's documents."""

    externalId: str
    userId: str
    nextCursor: str | None
    items: list[Document]


class DocumentPublishedEvent(TypedDict):
    """An event of the type user.documentPublished."""

    eventId: str
    type: Literal["user.documentPublished"]
    createdAt: str
    data: PublishedDocument


class DocumentWithdrawnEvent(TypedDict):
    """An event of the type user.documentWithdrawn."""

    eventId: str
    type: Literal["user.documentWithdrawn"]
    createdAt: str
    data: WithdrawnDocument


class EventPage(TypedDict):
    """A page of the feed."""

    nextCursor: str
    hasMore: bool
    items: list[Event]


class FieldError(TypedDict):
    """A field, parameter or header that is not valid."""

    field: str
    message: str
    code: str


class ListedUser(TypedDict):
    """A user in a list, without personal data."""

    userId: str
    externalId: str
    status: UserStatus
    createdAt: str
    updatedAt: str
    openRequirements: int


class Money(TypedDict):
    """An amount in a currency."""

    currency: str
    amount: str


class NewUser(TypedDict):
    """As it is stored. Leading and trailing white space is removed, except from externalId, and country, province and postalCode are accepted in any letter case."""

    externalId: str
    email: str
    firstName: str
    lastName: str
    dateOfBirth: str
    addressLine1: str
    addressLine2: NotRequired[str | None]
    city: str
    postalCode: NotRequired[str]
    province: NotRequired[str]
    country: Country
    occupation: str
    isCiroAffiliate: bool


class OtherEvent(TypedDict):
    """An event of a type that is newer than this document: ignore it."""

    eventId: str
    type: str
    createdAt: str
    data: dict[str, Any]


class Overlap(TypedDict):
    """A rotation."""

    overlapHours: NotRequired[int]


class Ping(TypedDict):
    """The response of ping."""

    partner: str
    mode: Literal["live", "sandbox"] | str
    serverTime: str


class PublishedDocument(TypedDict):
    """The document that was issued to a user."""

    externalId: str
    userId: str
    documentId: str
    type: Literal["accountStatement", "tradeConfirmation", "taxSlip", "agreement"] | str
    createdAt: str


class RecordedConversions(TypedDict):
    """The conversions as they are in the list."""

    items: list[Conversion]


class RecordedTransactions(TypedDict):
    """How many conversions of a user were recorded at once, and of which time."""

    externalId: str
    userId: str
    count: int
    oldestCreatedAt: str
    newestCreatedAt: str


class RemovedWebhook(TypedDict):
    """A webhook that was removed."""

    webhookId: str


class Requirement(TypedDict):
    """What compliance needs about a user."""

    requirementId: str
    code: Literal["nameUnclear", "dateOfBirthUnclear", "addressUnclear", "occupationUnclear", "emailUnclear", "purposeOfUse", "sourceOfFunds", "other"] | str
    fields: list[str]
    message: str | None
    state: Literal["open", "submitted", "closed"] | str
    createdAt: str
    dueAt: str


class RequirementNote(TypedDict):
    """A partner's note on a requirement."""

    note: str


class RequirementsChanged(TypedDict):
    """The data of user.requirementsChanged."""

    userId: str
    externalId: str
    openRequirements: int
    openedRequirementId: str | None


class RequirementsChangedEvent(TypedDict):
    """An event of the type user.requirementsChanged."""

    eventId: str
    type: Literal["user.requirementsChanged"]
    createdAt: str
    data: RequirementsChanged


class RevokedKey(TypedDict):
    """An API key that was revoked."""

    apiKeyPrefix: str


class RotatedKey(TypedDict):
    """The API key that takes the place of the one that signed."""

    apiKey: str
    secret: str
    expiresAt: str


class RotatedSecret(TypedDict):
    """The new secret of a webhook."""

    webhookId: str
    secret: str


class SandboxRequest(TypedDict):
    """A request that a key of the partner sent, and how it was answered. Bodies are not kept."""

    requestId: str
    createdAt: str
    method: str
    path: str
    query: str
    status: int
    error: str | None
    fieldErrors: list[FieldError]
    idempotencyKey: str | None
    replayed: bool
    milliseconds: int
    diagnosis: Diagnosis | None


class SandboxRequestList(TypedDict):
    """The partner's last requests, the newest first."""

    items: list[SandboxRequest]


# A conversion to be recorded.
SimulatedConversion = TypedDict("SimulatedConversion", {
    "conversionId": 'NotRequired[str]',
    "createdAt": 'NotRequired[str]',
    "from": 'SimulatedMoney',
    "to": 'SimulatedMoney',
    "rate": 'str',
})


class SimulatedConversions(TypedDict):
    """Conversions to be recorded, all or none."""

    items: list[SimulatedConversion]


class SimulatedDecision(TypedDict):
    """A decision of compliance, simulated."""

    status: UserStatus
    reasonCode: NotRequired[str]


class SimulatedDocument(TypedDict):
    """A document to be published."""

    type: DocumentType
    title: str


class SimulatedMoney(TypedDict):
    """An amount in a currency, to be recorded."""

    currency: str
    amount: str


class SimulatedRequirement(TypedDict):
    """A requirement of compliance, simulated."""

    code: RequirementCode
    fields: NotRequired[list[str]]
    message: NotRequired[str | None]
    dueInDays: NotRequired[int]


class StatusChanged(TypedDict):
    """The data of user.statusChanged."""

    userId: str
    externalId: str
    status: UserStatus
    statusReason: Literal["verified", "informationMissing", "notVerified", "duplicate", "notServed", "partnerRequest", "userRequest", "underReview"] | str | None
    updatedAt: str


class StatusChangedEvent(TypedDict):
    """An event of the type user.statusChanged."""

    eventId: str
    type: Literal["user.statusChanged"]
    createdAt: str
    data: StatusChanged


class TestedWebhook(TypedDict):
    """What the test of a webhook contains."""

    webhookId: str


class TransactionsRecordedEvent(TypedDict):
    """An event of the type user.transactionsRecorded."""

    eventId: str
    type: Literal["user.transactionsRecorded"]
    createdAt: str
    data: RecordedTransactions


class UserChanges(TypedDict):
    """The fields to change. The user that results is validated like a new one: a new country needs its province and postal code."""

    email: NotRequired[str]
    firstName: NotRequired[str]
    lastName: NotRequired[str]
    dateOfBirth: NotRequired[str]
    addressLine1: NotRequired[str]
    addressLine2: NotRequired[str | None]
    city: NotRequired[str]
    postalCode: NotRequired[str]
    province: NotRequired[str]
    country: NotRequired[Country]
    occupation: NotRequired[str]
    isCiroAffiliate: NotRequired[bool]


class UserErased(TypedDict):
    """The user that is no more: its records have reached the end of their retention."""

    userId: str
    externalId: str


class UserErasedEvent(TypedDict):
    """An event of the type user.erased."""

    eventId: str
    type: Literal["user.erased"]
    createdAt: str
    data: UserErased


class UserPage(TypedDict):
    """A page of users."""

    nextCursor: str | None
    items: list[ListedUser]


class UserSummary(TypedDict):
    """The status of a user, why, and what compliance needs from you."""

    userId: str
    externalId: str
    status: UserStatus
    statusReason: Literal["verified", "informationMissing", "notVerified", "duplicate", "notServed", "partnerRequest", "userRequest", "underReview"] | str | None
    statusChangedAt: str
    requirements: list[Requirement]
    updatedAt: str


class Webhook(TypedDict):
    """A webhook."""

    webhookId: str
    url: str
    types: list[Literal["user.statusChanged", "user.requirementsChanged", "user.erased", "user.transactionsRecorded", "user.documentPublished", "user.documentWithdrawn"] | str]
    description: str
    state: Literal["active", "disabled"] | str


class WebhookList(TypedDict):
    """A partner's webhooks."""

    items: list[Webhook]


class WebhookSettings(TypedDict):
    """A webhook to be added."""

    url: str
    types: NotRequired[list[EventType]]
    description: NotRequired[str]


class WebhookTestEvent(TypedDict):
    """The test of a webhook, which is in no feed."""

    eventId: str
    type: Literal["webhook.test"]
    createdAt: str
    data: TestedWebhook


class WebhookTestResult(TypedDict):
    """How a webhook responded to a test."""

    status: int | None
    milliseconds: int | None
    error: str | None


class WithdrawnDocument(TypedDict):
    """The document that a user no longer has: it was published by mistake."""

    externalId: str
    userId: str
    documentId: str


Closing = dict[str, Any]


Country = str


DocumentType = Literal["accountStatement", "tradeConfirmation", "taxSlip", "agreement"]


Event = StatusChangedEvent | RequirementsChangedEvent | UserErasedEvent | TransactionsRecordedEvent | DocumentPublishedEvent | DocumentWithdrawnEvent


EventType = Literal["user.statusChanged", "user.requirementsChanged", "user.erased", "user.transactionsRecorded", "user.documentPublished", "user.documentWithdrawn"]


RequirementCode = Literal["nameUnclear", "dateOfBirthUnclear", "addressUnclear", "occupationUnclear", "emailUnclear", "purposeOfUse", "sourceOfFunds", "other"]


SandboxFault = Literal["tooManyRequests", "internalError", "unavailable", "slow", "lostAnswer"]


UserStatus = Literal["pendingCompliance", "active", "rejected", "suspended", "closed"]


WebhookTest = dict[str, Any]
