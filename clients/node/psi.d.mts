// Types of psi.mjs.
import type {
  AddedWebhook,
  ApiKey,
  CompletedWrite,
  Conversion,
  CreatedUser,
  Document,
  Event,
  FieldError,
  ListedUser,
  NewUser,
  Ping,
  RecordedConversions,
  RemovedWebhook,
  Requirement,
  RevokedKey,
  RotatedKey,
  RotatedSecret,
  SandboxRequest,
  SimulatedConversion,
  SimulatedDecision,
  SimulatedDocument,
  SimulatedRequirement,
  UserChanges,
  UserSummary,
  Webhook,
  WebhookSettings,
  WebhookTestResult,
} from "./types.mjs";

export type * from "./types.mjs";

type Query = Record<string, string | number | boolean | null | undefined>;
type Options = { signal?: AbortSignal; headers?: Record<string, string> };
type Keyed = Options & { idempotencyKey?: string };
type Overlapping = Options & { overlapHours?: number };

export declare function canonicalRequest(
  method: string,
  target: string,
  timestamp: string,
  idempotencyKey: string,
  body: string | Uint8Array,
): string;
export declare function sign(secret: string, canonical: string): string;

export declare class PsiError extends Error {
  readonly isTemporary: boolean;
}
export declare class ConfigurationError extends PsiError {}
export declare class NoResponseError extends PsiError {}
export declare class ApiError extends PsiError {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, any>;
  readonly error: string;
  readonly reason: string;
  readonly response: ApiResponse;
  readonly requestId: string;
  readonly fieldErrors: FieldError[];
}
export declare class WebhookError extends PsiError {}

export interface RateLimit {
  limit: number;
  remaining: number;
  resetSeconds: number;
}
export declare class ApiResponse extends Response {
  private constructor();
  readonly requestId: string;
  readonly replayed: boolean;
  readonly rateLimit: RateLimit | null;
  readonly retryAfterMs: number | null;
}
export declare function responseOf(result: object): ApiResponse;

export interface ClientOptions {
  baseUrl?: string;
  apiKey?: string;
  secret?: string;
  timeoutMs?: number;
  attempts?: number;
  maxWaitMs?: number;
  fetch?: typeof globalThis.fetch;
  log?: (text: string) => void;
}

export declare class Client {
  constructor(options?: ClientOptions);
  get sandbox(): Sandbox;
  ping(options?: Options): Promise<Ping>;
  createUser(user: NewUser, options?: Keyed): Promise<CreatedUser>;
  updateUser(externalId: string, changes: UserChanges, options?: Keyed): Promise<UserSummary>;
  respondToRequirement(externalId: string, requirementId: string, note: string, options?: Keyed): Promise<Requirement>;
  getUser(externalId: string, options?: Options): Promise<UserSummary>;
  users(options?: Options & { status?: string; limit?: number }): AsyncGenerator<ListedUser, void>;
  transactions(externalId: string, options?: Options & { limit?: number }): AsyncGenerator<Conversion, void>;
  documents(externalId: string, options?: Options & { limit?: number }): AsyncGenerator<Document, void>;
  getDocument(externalId: string, documentId: string, options?: Options & { sha256?: string }): Promise<Buffer>;
  streamDocument(
    externalId: string,
    documentId: string,
    options?: Options & { sha256?: string },
  ): AsyncGenerator<Uint8Array, void>;
  getIdempotencyKey(idempotencyKey: string, options?: Options): Promise<CompletedWrite | null>;
  events(cursor?: string | null, options?: { limit?: number; pollMs?: number; signal?: AbortSignal }): Events;
  pages<Item = any>(
    path: string,
    query?: Query,
    options?: Options,
  ): AsyncGenerator<{ items: Item[]; nextCursor: string | null }, void>;
  request(
    method: string,
    path: string,
    options?: Keyed & { body?: unknown; query?: Query },
  ): Promise<ApiResponse>;
  send(
    method: string,
    target: string,
    body?: unknown,
    idempotencyKey?: string,
    moreHeaders?: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<ApiResponse>;
}

export declare class Sandbox {
  private constructor();
  simulateDecision(externalId: string, decision: SimulatedDecision, options?: Keyed): Promise<UserSummary>;
  simulateTransactions(
    externalId: string,
    conversions: readonly SimulatedConversion[],
    options?: Keyed,
  ): Promise<RecordedConversions>;
  simulateDocument(externalId: string, document: SimulatedDocument, options?: Keyed): Promise<Document>;
  simulateRequirement(externalId: string, requirement: SimulatedRequirement, options?: Keyed): Promise<Requirement>;
  simulateClosing(externalId: string, requirementId: string, options?: Keyed): Promise<Requirement>;
  webhooks(options?: Options): Promise<Webhook[]>;
  addWebhook(settings: WebhookSettings, options?: Options): Promise<AddedWebhook>;
  removeWebhook(webhookId: string, options?: Options): Promise<RemovedWebhook>;
  testWebhook(webhookId: string, options?: Options): Promise<WebhookTestResult>;
  rotateWebhookSecret(webhookId: string, options?: Overlapping): Promise<RotatedSecret>;
  apiKeys(options?: Options): Promise<ApiKey[]>;
  rotateApiKey(options?: Overlapping): Promise<RotatedKey>;
  revokeApiKey(apiKeyPrefix: string, options?: Options): Promise<RevokedKey>;
  requests(options?: Options & { limit?: number }): Promise<SandboxRequest[]>;
  getRequest(requestId: string, options?: Options): Promise<SandboxRequest>;
}

export declare class Events implements AsyncIterable<Event> {
  private constructor();
  cursor: string | null | undefined;
  [Symbol.asyncIterator](): AsyncGenerator<Event, void>;
}

export declare function setting(name: string): string;
export declare function userPath(externalId: string, ...more: string[]): string;
export declare function known<const Value extends string, const Other extends string>(
  value: string | null | undefined,
  handled: readonly Value[],
  otherwise: Other,
): Value | Other;
export declare function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secrets: readonly string[],
  options?: { toleranceMs?: number },
): Event;
export declare const send: Client["send"];
