// Types of psi.mjs.
import type {
  CompletedWrite,
  Conversion,
  CreatedUser,
  Document,
  Event,
  FieldError,
  ListedUser,
  NewUser,
  Ping,
  UserChanges,
  Requirement,
  UserSummary,
} from "./types.mjs";

export type * from "./types.mjs";

type Query = Record<string, string | number | boolean | null | undefined>;
type Keyed = { idempotencyKey?: string };

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
}

export declare class Client {
  constructor(options?: ClientOptions);
  ping(): Promise<Ping>;
  createUser(user: NewUser, options?: Keyed): Promise<CreatedUser>;
  updateUser(externalId: string, changes: UserChanges, options?: Keyed): Promise<UserSummary>;
  respondToRequirement(externalId: string, requirementId: string, note: string, options?: Keyed): Promise<Requirement>;
  getUser(externalId: string): Promise<UserSummary>;
  users(options?: { status?: string; limit?: number }): AsyncGenerator<ListedUser, void>;
  transactions(externalId: string, options?: { limit?: number }): AsyncGenerator<Conversion, void>;
  documents(externalId: string, options?: { limit?: number }): AsyncGenerator<Document, void>;
  getDocument(externalId: string, documentId: string, options?: { sha256?: string }): Promise<Buffer>;
  getIdempotencyKey(idempotencyKey: string): Promise<CompletedWrite | null>;
  events(cursor?: string | null, options?: { limit?: number; pollMs?: number }): Events;
  pages<Item = any>(path: string, query?: Query): AsyncGenerator<{ items: Item[]; nextCursor: string | null }, void>;
  request(
    method: string,
    path: string,
    options?: Keyed & { body?: unknown; query?: Query; headers?: Record<string, string> },
  ): Promise<ApiResponse>;
  send(
    method: string,
    target: string,
    body?: unknown,
    idempotencyKey?: string,
    moreHeaders?: Record<string, string>,
  ): Promise<ApiResponse>;
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
