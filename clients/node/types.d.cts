// Made by clients/commonjs.py: do not edit.
// What is sent and received, made by clients/generate_types.py from the description: do not edit.
// Fields may be added to what is received, and values to its enumerations: `(string & {})` is for those.

/** A webhook that was added, with its secret. */
export interface AddedWebhook {
  webhookId: string;
  url: string;
  types: Array<"user.statusChanged" | "user.requirementsChanged" | "user.erased" | "user.transactionsRecorded" | "user.documentPublished" | "user.documentWithdrawn" | (string & {})>;
  description: string;
  state: "active" | "disabled" | (string & {});
  secret: string;
}

/** An API key in force, as staff see it. */
export interface ApiKey {
  apiKeyPrefix: string;
  label: string;
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
}

/** A partner's API keys in force. */
export interface ApiKeyList {
  items: Array<ApiKey>;
}

/** An object without fields. */
export type Closing = Record<string, any>;

/** A write that has taken effect. */
export interface CompletedWrite {
  idempotencyKey: string;
  method: "POST" | "PATCH" | (string & {});
  path: string;
  status: number;
  completedAt: string;
  expiresAt: string;
}

/** A conversion from one currency to another. */
export interface Conversion {
  conversionId: string;
  createdAt: string;
  type: "conversion";
  from: Money;
  to: Money;
  rate: string;
}

/** A page of a user's conversions. */
export interface ConversionPage {
  externalId: string;
  userId: string;
  nextCursor: string | null;
  items: Array<Conversion>;
}

/** A country, by its two-letter code (ISO 3166-1 alpha-2). */
export type Country = string;

/** A registered user. */
export interface CreatedUser {
  userId: string;
  externalId: string;
  status: "pendingCompliance";
}

/** Why the signature of a request was refused, for sandbox keys alone. */
export interface Diagnosis {
  cause: string;
  message: string;
  canonicalRequest: string;
}

/** A document issued to the user. */
export interface Document {
  documentId: string;
  createdAt: string;
  type: "accountStatement" | "tradeConfirmation" | "taxSlip" | "agreement" | (string & {});
  title: string;
  contentType: "application/pdf" | "text/csv" | "text/plain" | "image/png" | "image/jpeg" | "application/zip" | "application/octet-stream" | (string & {});
  sizeBytes: number;
  sha256: string;
}

/** A page of a user's documents. */
export interface DocumentPage {
  externalId: string;
  userId: string;
  nextCursor: string | null;
  items: Array<Document>;
}

/** An event of the type user.documentPublished. */
export interface DocumentPublishedEvent {
  eventId: string;
  type: "user.documentPublished";
  createdAt: string;
  data: PublishedDocument;
}

/** A kind of document. */
export type DocumentType = "accountStatement" | "tradeConfirmation" | "taxSlip" | "agreement";

/** An event of the type user.documentWithdrawn. */
export interface DocumentWithdrawnEvent {
  eventId: string;
  type: "user.documentWithdrawn";
  createdAt: string;
  data: WithdrawnDocument;
}

/** An event, by its type. It contains no personal data but the externalId. */
export type Event = StatusChangedEvent | RequirementsChangedEvent | UserErasedEvent | TransactionsRecordedEvent | DocumentPublishedEvent | DocumentWithdrawnEvent;

/** A page of the feed. */
export interface EventPage {
  nextCursor: string;
  hasMore: boolean;
  items: Array<Event>;
}

/** A type of event. */
export type EventType = "user.statusChanged" | "user.requirementsChanged" | "user.erased" | "user.transactionsRecorded" | "user.documentPublished" | "user.documentWithdrawn";

/** A field, parameter or header that is not valid. */
export interface FieldError {
  field: string;
  message: string;
  code: string;
}

/** A user in a list, without personal data. */
export interface ListedUser {
  userId: string;
  externalId: string;
  status: UserStatus;
  createdAt: string;
  updatedAt: string;
  openRequirements: number;
}

/** An amount in a currency. */
export interface Money {
  currency: string;
  amount: string;
}

/** As it is stored. Leading and trailing white space is removed, except from externalId, and country, province and postalCode are accepted in any letter case. */
export interface NewUser {
  externalId: string;
  email: string;
  firstName: string;
  lastName: string;
  dateOfBirth: string;
  addressLine1: string;
  addressLine2?: string | null;
  city: string;
  postalCode?: string;
  province?: string;
  country: Country;
  occupation: string;
  isCiroAffiliate: boolean;
}

/** An event of a type that is newer than this document: ignore it. */
export interface OtherEvent {
  eventId: string;
  type: string;
  createdAt: string;
  data: Record<string, any>;
}

/** A rotation. */
export interface Overlap {
  overlapHours?: number;
}

/** The response of ping. */
export interface Ping {
  partner: string;
  mode: "live" | "sandbox" | (string & {});
  serverTime: string;
}

/** The document that was issued to a user. */
export interface PublishedDocument {
  externalId: string;
  userId: string;
  documentId: string;
  type: "accountStatement" | "tradeConfirmation" | "taxSlip" | "agreement" | (string & {});
  createdAt: string;
}

/** The conversions as they are in the list. */
export interface RecordedConversions {
  items: Array<Conversion>;
}

/** How many conversions of a user were recorded at once, and of which time. */
export interface RecordedTransactions {
  externalId: string;
  userId: string;
  count: number;
  oldestCreatedAt: string;
  newestCreatedAt: string;
}

/** A webhook that was removed. */
export interface RemovedWebhook {
  webhookId: string;
}

/** What compliance needs about a user. */
export interface Requirement {
  requirementId: string;
  code: "nameUnclear" | "dateOfBirthUnclear" | "addressUnclear" | "occupationUnclear" | "emailUnclear" | "purposeOfUse" | "sourceOfFunds" | "other" | (string & {});
  fields: Array<string>;
  message: string | null;
  state: "open" | "submitted" | "closed" | (string & {});
  createdAt: string;
  dueAt: string;
}

/** What compliance needs. */
export type RequirementCode = "nameUnclear" | "dateOfBirthUnclear" | "addressUnclear" | "occupationUnclear" | "emailUnclear" | "purposeOfUse" | "sourceOfFunds" | "other";

/** A partner's note on a requirement. */
export interface RequirementNote {
  note: string;
}

/** The data of user.requirementsChanged. */
export interface RequirementsChanged {
  userId: string;
  externalId: string;
  openRequirements: number;
  openedRequirementId: string | null;
}

/** An event of the type user.requirementsChanged. */
export interface RequirementsChangedEvent {
  eventId: string;
  type: "user.requirementsChanged";
  createdAt: string;
  data: RequirementsChanged;
}

/** An API key that was revoked. */
export interface RevokedKey {
  apiKeyPrefix: string;
}

/** The API key that takes the place of the one that signed. */
export interface RotatedKey {
  apiKey: string;
  secret: string;
  expiresAt: string;
}

/** The new secret of a webhook. */
export interface RotatedSecret {
  webhookId: string;
  secret: string;
}

/** A failure that the sandbox simulates. */
export type SandboxFault = "tooManyRequests" | "internalError" | "unavailable" | "slow" | "lostAnswer";

/** A request that a key of the partner sent, and how it was answered. Bodies are not kept. */
export interface SandboxRequest {
  requestId: string;
  createdAt: string;
  method: string;
  path: string;
  query: string;
  status: number;
  error: string | null;
  fieldErrors: Array<FieldError>;
  idempotencyKey: string | null;
  replayed: boolean;
  milliseconds: number;
  diagnosis: Diagnosis | null;
}

/** The partner's last requests, the newest first. */
export interface SandboxRequestList {
  items: Array<SandboxRequest>;
}

/** A conversion to be recorded. */
export interface SimulatedConversion {
  conversionId?: string;
  createdAt?: string;
  from: SimulatedMoney;
  to: SimulatedMoney;
  rate: string;
}

/** Conversions to be recorded, all or none. */
export interface SimulatedConversions {
  items: Array<SimulatedConversion>;
}

/** A decision of compliance, simulated. */
export interface SimulatedDecision {
  status: UserStatus;
  reasonCode?: string;
}

/** A document to be published. */
export interface SimulatedDocument {
  type: DocumentType;
  title: string;
}

/** An amount in a currency, to be recorded. */
export interface SimulatedMoney {
  currency: string;
  amount: string;
}

/** A requirement of compliance, simulated. */
export interface SimulatedRequirement {
  code: RequirementCode;
  fields?: Array<string>;
  message?: string | null;
  dueInDays?: number;
}

/** The data of user.statusChanged. */
export interface StatusChanged {
  userId: string;
  externalId: string;
  status: UserStatus;
  statusReason: "verified" | "informationMissing" | "notVerified" | "duplicate" | "notServed" | "partnerRequest" | "userRequest" | "underReview" | (string & {}) | null;
  updatedAt: string;
}

/** An event of the type user.statusChanged. */
export interface StatusChangedEvent {
  eventId: string;
  type: "user.statusChanged";
  createdAt: string;
  data: StatusChanged;
}

/** What the test of a webhook contains. */
export interface TestedWebhook {
  webhookId: string;
}

/** An event of the type user.transactionsRecorded. */
export interface TransactionsRecordedEvent {
  eventId: string;
  type: "user.transactionsRecorded";
  createdAt: string;
  data: RecordedTransactions;
}

/** The fields to change. The user that results is validated like a new one: a new country needs its province and postal code. */
export interface UserChanges {
  email?: string;
  firstName?: string;
  lastName?: string;
  dateOfBirth?: string;
  addressLine1?: string;
  addressLine2?: string | null;
  city?: string;
  postalCode?: string;
  province?: string;
  country?: Country;
  occupation?: string;
  isCiroAffiliate?: boolean;
}

/** The user that is no more: its records have reached the end of their retention. */
export interface UserErased {
  userId: string;
  externalId: string;
}

/** An event of the type user.erased. */
export interface UserErasedEvent {
  eventId: string;
  type: "user.erased";
  createdAt: string;
  data: UserErased;
}

/** A page of users. */
export interface UserPage {
  nextCursor: string | null;
  items: Array<ListedUser>;
}

/** A status of a user. */
export type UserStatus = "pendingCompliance" | "active" | "rejected" | "suspended" | "closed";

/** The status of a user, why, and what compliance needs from you. */
export interface UserSummary {
  userId: string;
  externalId: string;
  status: UserStatus;
  statusReason: "verified" | "informationMissing" | "notVerified" | "duplicate" | "notServed" | "partnerRequest" | "userRequest" | "underReview" | (string & {}) | null;
  statusChangedAt: string;
  requirements: Array<Requirement>;
  updatedAt: string;
}

/** A webhook. */
export interface Webhook {
  webhookId: string;
  url: string;
  types: Array<"user.statusChanged" | "user.requirementsChanged" | "user.erased" | "user.transactionsRecorded" | "user.documentPublished" | "user.documentWithdrawn" | (string & {})>;
  description: string;
  state: "active" | "disabled" | (string & {});
}

/** A partner's webhooks. */
export interface WebhookList {
  items: Array<Webhook>;
}

/** A webhook to be added. */
export interface WebhookSettings {
  url: string;
  types?: Array<EventType>;
  description?: string;
}

/** A test, which has no options. */
export type WebhookTest = Record<string, any>;

/** The test of a webhook, which is in no feed. */
export interface WebhookTestEvent {
  eventId: string;
  type: "webhook.test";
  createdAt: string;
  data: TestedWebhook;
}

/** How a webhook responded to a test. */
export interface WebhookTestResult {
  status: number | null;
  milliseconds: number | null;
  error: string | null;
}

/** The document that a user no longer has: it was published by mistake. */
export interface WithdrawnDocument {
  externalId: string;
  userId: string;
  documentId: string;
}
