// A client of the Partner Service Interface. Node.js 20.3 or newer, no packages; one file that may be copied.
//
//     export PSI_BASE_URL=https://partners.example PSI_API_KEY=psi_test_key_… PSI_SECRET=psi_test_secret_…
//     node psi.mjs GET /v1/ping
//     node psi.mjs PATCH /v1/users/cust-1001 '{"city": "Ottawa"}'
//
// The status goes to standard error, the body to standard output: redirect it with `>` to save it.

import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { realpathSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const VERSION = "0.1.0";
const USER_AGENT = `partner-service-interface-client/${VERSION} (Node.js ${process.versions.node})`;
const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
const UNAUTHENTICATED = "The proxy wants credentials (407): its URL is as http://name:password@proxy.example:3128.";
const DIFFERS = "The file is not what was listed: its SHA-256 differs.";

// Signing

// Returns the canonical request, the six lines to sign. target: the path from /v1 on with its query, as sent.
// Throws URIError if it is not UTF-8.
export function canonicalRequest(method, target, timestamp, idempotencyKey, body) {
  const [path, ...query] = target.split("?");
  return [
    method,
    encode(path).replaceAll("%2F", "/"),
    canonicalQuery(query.join("?")),
    timestamp,
    idempotencyKey,
    createHash("sha256").update(body).digest("hex"),
  ].join("\n");
}

function canonicalQuery(query) {
  const pairs = query.split("&").filter((piece) => piece !== "").map((piece) => {
    const [name, ...value] = piece.replaceAll("+", "%20").split("=");
    return `${encode(name)} ${encode(value.join("="))}`;
  });
  // A space sorts before every character of an encoded name: by name, then by value.
  return pairs.sort().join("&").replaceAll(" ", "=");
}

// Percent-decodes a text and encodes it again: all but A-Z a-z 0-9 - . _ ~.
function encode(text) {
  const decoded = decodeURIComponent(text.replace(/%(?![0-9A-Fa-f]{2})/g, "%25"));
  return encodeURIComponent(decoded).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
}

// Returns the signature: the hex HMAC-SHA256 under the secret as issued.
export function sign(secret, canonical) {
  return createHmac("sha256", secret).update(canonical).digest("hex");
}

// Errors

// A request failed. isTemporary: whether the same request may succeed later.
export class PsiError extends Error {
  get name() {
    return this.constructor.name;
  }
  isTemporary = false;
}

// Nothing reached the service: a setting is missing or malformed, the host is unknown or shows a wrong certificate, or a
// proxy wants credentials.
export class ConfigurationError extends PsiError {}

// No response, or a damaged one. A write may have taken effect: retry it under the same Idempotency-Key.
export class NoResponseError extends PsiError {
  isTemporary = true;
}

// The service refused or failed. status: of HTTP. error: its code, for programs; empty if the response is not the
// service's, as from a proxy. reason: its message, for people. requestId: for support. fieldErrors: each with field,
// code and message. body: all of it. response: with its headers and rateLimit.
export class ApiError extends PsiError {
  constructor(response, body) {
    const error = textOf(body, "error");
    const reason = textOf(body, "message") || "The response is not the service's.";
    const requestId = textOf(body, "requestId") || response.requestId;
    const given = Array.isArray(body.fieldErrors) ? body.fieldErrors : [];
    const fieldErrors = given.filter(isObject).map((one) => ({
      field: textOf(one, "field"),
      message: textOf(one, "message"),
      code: textOf(one, "code"),
    }));
    const fields = fieldErrors.map((one) => ` ${one.field}: ${one.message}`).join("");
    // In the sandbox, a refused signature has a diagnosis.
    const diagnosis = textOf(body.diagnosis, "message");
    const { status, headers } = response;
    const more = `${fields}${diagnosis && ` ${diagnosis}`}${requestId && ` (request ${requestId})`}`;
    super(`${status}${error && ` ${error}`}: ${reason}${more}`);
    Object.assign(this, { response, status, headers, body, error, reason, requestId, fieldErrors });
    this.isTemporary = TEMPORARY.has(status);
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// A text of an error's body, which may come from a proxy and be anything; empty where there is none.
function textOf(parsed, name) {
  return isObject(parsed) && typeof parsed[name] === "string" ? parsed[name] : "";
}

// A webhook is not signed by the service, or is too old: respond with 401.
export class WebhookError extends PsiError {}

// Responses

// A Response of fetch with its whole body.
export class ApiResponse extends Response {
  // Rejects with NoResponseError if it is not JSON, as from a proxy.
  async json() {
    try {
      return await super.json();
    } catch (error) {
      throw new NoResponseError(`The response is not the service's: ${this.status} without JSON.`, { cause: error });
    }
  }

  // For support; empty if the response is not the service's.
  get requestId() {
    return this.headers.get("X-Request-Id") ?? "";
  }

  // Whether it is the response of an earlier request with this Idempotency-Key.
  get replayed() {
    return this.headers.get("Idempotent-Replayed") === "true";
  }

  // Of the partner: requests in a window, those that remain of them, and the seconds until the window ends. null if the
  // service did not say, as before authentication.
  get rateLimit() {
    const fields = `${this.headers.get("RateLimit-Policy")}\n${this.headers.get("RateLimit")}`;
    const found = /;q=(\d+).*\n.*;r=(\d+).*;t=(\d+)/.exec(fields);
    if (found === null) return null;
    const [limit, remaining, resetSeconds] = found.slice(1).map(Number);
    return { limit, remaining, resetSeconds };
  }

  // Milliseconds; null if the service did not say.
  get retryAfterMs() {
    const after = this.headers.get("Retry-After") ?? "";
    if (/^\d+$/.test(after)) return after * 1000;
    return / GMT$/.test(after) && Date.parse(after) ? Math.max(Date.parse(after) - Date.now(), 0) : null;
  }
}

const responses = new WeakMap();

// Returns the response that a method's result came in. Throws TypeError for what is no such object.
export function responseOf(result) {
  const response = responses.get(result);
  if (!response) throw new TypeError("only the objects that the client's methods resolve to have a response");
  return response;
}

async function objectOf(response) {
  const value = await response.json();
  if (!isObject(value)) {
    throw new NoResponseError(`The response is not the service's: ${response.status} without a JSON object.`);
  }
  responses.set(value, response);
  return value;
}

// The client

// Calls the service with an API key. baseUrl, apiKey, secret: by default the environment's PSI_BASE_URL, PSI_API_KEY,
// PSI_SECRET. timeoutMs: of an attempt. attempts: at most, for each request. maxWaitMs: the longest Retry-After that is
// waited for. fetch: in place of Node's, which uses the proxies of HTTPS_PROXY and NO_PROXY only under
// NODE_USE_ENV_PROXY=1 (Node.js 24). log: is called with a text for each response and each retry. Throws ConfigurationError. The methods reject with that, ApiError and
// NoResponseError; those that write take an idempotencyKey, by default a new one. All take a signal, an AbortSignal whose
// reason they reject with, and headers, which are not signed.
export class Client {
  #baseUrl;
  #apiKey;
  #secret;
  #timeoutMs;
  #attempts;
  #maxWaitMs;
  #fetch;
  #log;

  constructor(options = {}) {
    const { baseUrl, apiKey, secret, timeoutMs = 30_000, attempts = 5, maxWaitMs = 60_000, fetch, log } = options;
    this.#baseUrl = checkedUrl(plain("PSI_BASE_URL", baseUrl));
    this.#apiKey = plain("PSI_API_KEY", apiKey);
    this.#secret = plain("PSI_SECRET", secret);
    this.#fetch = fetch ?? globalThis.fetch;
    this.#log = log ?? (() => {});
    this.#timeoutMs = timeoutMs;
    this.#attempts = attempts;
    this.#maxWaitMs = maxWaitMs;
  }

  // What sandbox partners can do in addition.
  get sandbox() {
    return new Sandbox((...request) => this.#result(...request));
  }

  // The partner of the key, its mode, and the service's time.
  ping(options) {
    return this.#result("GET", "/v1/ping", options);
  }

  // Registers a user. ApiError: 400 names the fields, 409 is a known externalId, 422 a minor.
  createUser(user, options) {
    return this.#result("POST", "/v1/users", { ...options, body: user });
  }

  // Changes the fields that are sent.
  updateUser(externalId, changes, options) {
    return this.#result("PATCH", userPath(externalId), { ...options, body: changes });
  }

  // Answers a requirement of a user with a note; an update that has all of its fields answers it too.
  respondToRequirement(externalId, requirementId, note, options) {
    const path = userPath(externalId, "requirements", requirementId, "response");
    return this.#result("POST", path, { ...options, body: { note } });
  }

  // The status of a user.
  getUser(externalId, options) {
    return this.#result("GET", userPath(externalId), options);
  }

  // All users, newest first, without personal data. limit: of a page.
  users({ status, limit = 100, ...options } = {}) {
    return this.#items("/v1/users", { status, limit }, options);
  }

  // All conversions of a user, newest first. Amounts are texts: do not convert them to numbers.
  transactions(externalId, { limit = 100, ...options } = {}) {
    return this.#items(userPath(externalId, "transactions"), { limit }, options);
  }

  // All documents of a user, newest first.
  documents(externalId, { limit = 100, ...options } = {}) {
    return this.#items(userPath(externalId, "documents"), { limit }, options);
  }

  // The file of a document, a Buffer. sha256: as listed; a file that differs is requested again like a lost response.
  getDocument(externalId, documentId, { sha256, ...options } = {}) {
    const read = async (response) => {
      const content = Buffer.from(await response.arrayBuffer());
      if (sha256 !== undefined && createHash("sha256").update(content).digest("hex") !== sha256) {
        throw new NoResponseError(DIFFERS);
      }
      return content;
    };
    return this.#retried(read, "GET", userPath(externalId, "documents", documentId), options);
  }

  // The file of a document in parts, as they arrive, for `for await`, `pipeline` and `writeFile`. sha256: as listed; it
  // rejects after the last part of a file that differs. Once the first has come, nothing is retried.
  async *streamDocument(externalId, documentId, { sha256, ...options } = {}) {
    const path = userPath(externalId, "documents", documentId);
    const response = await this.#retried((response) => response, "GET", path, { ...options, isStream: true });
    const hash = createHash("sha256");
    try {
      for await (const chunk of response.body ?? []) {
        hash.update(chunk);
        yield chunk;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      throw this.#failure(error);
    }
    if (sha256 !== undefined && hash.digest("hex") !== sha256) throw new NoResponseError(DIFFERS);
  }

  // The write that took effect under a key, or null: so far none has.
  async getIdempotencyKey(idempotencyKey, options) {
    try {
      return await this.#result("GET", `/v1/idempotency-keys/${encodeURIComponent(idempotencyKey)}`, options);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  // The events after a cursor, oldest first, by default from the oldest kept. pollMs: between looks for new ones; by
  // default the events end with the newest. signal: ends the waiting too.
  events(cursor, { limit = 100, pollMs, signal } = {}) {
    return new Events(this, cursor, limit, pollMs, signal);
  }

  // The pages of a list, each with items and nextCursor. query: a cursor is where to begin.
  async *pages(path, query = {}, options = {}) {
    let cursor = query.cursor;
    do {
      const page = await this.#result("GET", path, { ...options, query: { ...query, cursor } });
      yield page;
      cursor = page.nextCursor;
    } while (cursor !== null);
  }

  // Sends any request, and retries it after a failure that is temporary; resolves to an ApiResponse.
  // method: in any letter case. path: percent-encoded, from /v1 on. body: becomes JSON, but bytes and texts are sent as
  // they are. idempotencyKey: empty for none, and the write is then not retried. headers: not signed.
  request(method, path, options) {
    return this.#retried((response) => response, method, path, options);
  }

  // Signs a request and sends it once; resolves to an ApiResponse, for an error status too.
  // target: path and query, percent-encoded. body: as of `request`, sent as it is signed.
  async send(method, target, body = "", idempotencyKey = undefined, moreHeaders = {}, signal = undefined) {
    return this.#send(method, target, body, idempotencyKey, moreHeaders, signal);
  }

  async #send(method, target, body, idempotencyKey, moreHeaders, signal, isStream = false) {
    method = method.toUpperCase();
    body = contentOf(body);
    const key = keyFor(method, idempotencyKey);
    const timestamp = new Date().toISOString();
    const canonical = canonicalRequest(method, target, timestamp, key, body);
    const headers = new Headers({
      "User-Agent": USER_AGENT,
      ...moreHeaders,
      "X-Api-Key": this.#apiKey,
      "X-Request-Timestamp": timestamp,
      "X-Request-Signature": sign(this.#secret, canonical),
      ...(key && { "Idempotency-Key": key }),
      ...(isWrite(method) && { "Content-Type": "application/json" }),
    });
    // A redirect would take the key to another host.
    const options = { method, headers, body: isWrite(method) ? body : undefined, redirect: "manual" };
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    options.signal = signal ? AbortSignal.any([timeout, signal]) : timeout;
    try {
      const response = await this.#fetch(this.#baseUrl + target, options);
      if (response.status === 407) throw new ConfigurationError(UNAUTHENTICATED);
      const content = isStream && response.ok ? response.body : await response.arrayBuffer();
      this.#log(`${method} ${target}: ${response.status}, ${response.headers.get("X-Request-Id")}`);
      return new ApiResponse(content?.byteLength === 0 ? null : content, response);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#failure(error);
    }
  }

  #failure(error) {
    return failure(error, new URL(this.#baseUrl).hostname);
  }

  #result(method, path, options) {
    return this.#retried(objectOf, method, path, options);
  }

  async *#items(path, query, options) {
    for await (const page of this.pages(path, query, options)) yield* page.items;
  }

  // What is read from the response; one that cannot be read is requested again like a lost one.
  async #retried(read, method, path, options = {}) {
    const { body, query = {}, idempotencyKey, headers, signal, isStream } = options;
    method = method.toUpperCase();
    const content = contentOf(body);
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const target = given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
    const key = keyFor(method, idempotencyKey);
    const isSafe = key !== "" || method === "GET";
    for (let number = 1; ; number++) {
      try {
        // Each attempt has the same key and bytes, a new timestamp and a new signature.
        return await read(await succeeded(await this.#send(method, target, content, key, headers, signal, isStream)));
      } catch (error) {
        if (!(isSafe && error.isTemporary && number < this.#attempts)) throw error;
        const pause = pauseMs(error, number);
        if (pause > this.#maxWaitMs) throw error;
        this.#log(`${method} ${target} is retried in ${(pause / 1000).toFixed(1)} s: ${error.message}`);
        await wait(pause, signal);
      }
    }
  }
}

// What sandbox partners can do in addition: simulate what compliance does, set up webhooks, and manage their keys.
// Methods whose response has a secret send no Idempotency-Key and are not retried: that response is given once.
export class Sandbox {
  #result;

  constructor(result) {
    this.#result = result;
  }

  // Changes the status of a user. ApiError: 409 is a move that is not allowed.
  simulateDecision(externalId, decision, options) {
    return this.#result("POST", sandboxPath("users", externalId, "status"), { ...options, body: decision });
  }

  // Records up to 100 conversions, all or none.
  simulateTransactions(externalId, conversions, options) {
    const body = { items: conversions };
    return this.#result("POST", sandboxPath("users", externalId, "transactions"), { ...options, body });
  }

  // Publishes a sample.
  simulateDocument(externalId, document, options) {
    return this.#result("POST", sandboxPath("users", externalId, "documents"), { ...options, body: document });
  }

  // Opens a requirement.
  simulateRequirement(externalId, requirement, options) {
    return this.#result("POST", sandboxPath("users", externalId, "requirements"), { ...options, body: requirement });
  }

  // Closes a requirement.
  simulateClosing(externalId, requirementId, options) {
    const path = sandboxPath("users", externalId, "requirements", requirementId, "close");
    return this.#result("POST", path, { ...options, body: {} });
  }

  // The webhooks, without their secrets.
  async webhooks(options) {
    return (await this.#result("GET", "/v1/sandbox/webhooks", options)).items;
  }

  // Adds a webhook. Its secret is shown this once.
  addWebhook(settings, options) {
    return this.#result("POST", "/v1/sandbox/webhooks", { ...options, body: settings, idempotencyKey: "" });
  }

  // Removes a webhook.
  removeWebhook(webhookId, options) {
    return this.#result("DELETE", sandboxPath("webhooks", webhookId), options);
  }

  // Has a webhook.test sent, and resolves to how the webhook responded.
  testWebhook(webhookId, options) {
    return this.#result("POST", sandboxPath("webhooks", webhookId, "test"), { ...options, body: {} });
  }

  // Gives a webhook another secret. overlapHours: for which the old one signs too.
  rotateWebhookSecret(webhookId, { overlapHours, ...options } = {}) {
    const path = sandboxPath("webhooks", webhookId, "rotate-secret");
    return this.#result("POST", path, { ...options, body: { overlapHours }, idempotencyKey: "" });
  }

  // The keys in force, newest first, without their secrets.
  async apiKeys(options) {
    return (await this.#result("GET", "/v1/sandbox/api-keys", options)).items;
  }

  // Issues a key in place of the one that signs. overlapHours: for which the old one is in force too.
  rotateApiKey({ overlapHours, ...options } = {}) {
    const path = "/v1/sandbox/api-keys/rotate";
    return this.#result("POST", path, { ...options, body: { overlapHours }, idempotencyKey: "" });
  }

  // Revokes a key, other than the one that signs.
  revokeApiKey(apiKeyPrefix, options) {
    return this.#result("DELETE", sandboxPath("api-keys", apiKeyPrefix), options);
  }

  // The last requests, newest first, with status, errors and diagnosis.
  async requests({ limit = 25, ...options } = {}) {
    return (await this.#result("GET", "/v1/sandbox/requests", { ...options, query: { limit } })).items;
  }

  // One of the last requests.
  getRequest(requestId, options) {
    return this.#result("GET", sandboxPath("requests", requestId), options);
  }
}

function sandboxPath(...names) {
  return ["/v1/sandbox", ...names.map(encodeURIComponent)].join("/");
}

// Events in the feed's order, for `for await`. cursor: where to continue once you have handled the event that you
// have. Store it after that, not before: after a crash, up to a page of events comes again, so handling one twice must
// have the same result as once.
export class Events {
  #client;
  #limit;
  #pollMs;
  #signal;

  constructor(client, cursor, limit, pollMs, signal) {
    this.cursor = cursor;
    this.#client = client;
    this.#limit = limit;
    this.#pollMs = pollMs;
    this.#signal = signal;
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      const query = { cursor: this.cursor, limit: this.#limit };
      const { value: page } = await this.#client.pages("/v1/events", query, { signal: this.#signal }).next();
      yield* page.items.slice(0, -1);
      this.cursor = page.nextCursor;
      yield* page.items.slice(-1);
      if (page.hasMore) continue;
      if (this.#pollMs === undefined) return;
      await wait(this.#pollMs, this.#signal);
    }
  }
}

// What programs use beside the client

// Returns the path of a user, or of what is below it, percent-encoded.
export function userPath(externalId, ...more) {
  return ["/v1/users", ...[externalId, ...more].map(encodeURIComponent)].join("/");
}

// Returns the value if your program handles it, else what you handle it like: values may be added at any time.
//     known(event.type, ["user.statusChanged", "user.documentPublished"], "other")
export function known(value, handled, otherwise) {
  return handled.includes(value) ? value : otherwise;
}

// Returns the event of a webhook that the service has signed (Standard Webhooks 1.0). body: the bytes as they came.
// headers: of node:http, or Headers. secrets: `whsec_…`, several while you change from one to the next. toleranceMs:
// the greatest age, and difference of clocks. Throws WebhookError; TypeError if a secret is malformed.
export function verifyWebhook(body, headers, secrets, { toleranceMs = 300_000 } = {}) {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const given = Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
  const missing = ["webhook-id", "webhook-timestamp", "webhook-signature"].find((name) => !(name in given));
  if (missing) throw new WebhookError(`The header ${missing} is missing.`);
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = given;
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() - timestamp * 1000) > toleranceMs) {
    throw new WebhookError("The time of the webhook is malformed, or too far from this clock.");
  }
  const sent = signatures.split(" ").filter((one) => one.startsWith("v1,")).map((one) => Buffer.from(one.slice(3)));
  const isRight = secrets.map(webhookKey).some((key) => {
    const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
    return sent.some((one) => one.length === expected.length && timingSafeEqual(one, Buffer.from(expected)));
  });
  if (!isRight) throw new WebhookError("No signature of the webhook is right.");
  try {
    return JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString());
  } catch {
    throw new WebhookError("The body of the webhook is not JSON.");
  }
}

function webhookKey(secret) {
  const text = secret.replace(/^whsec_/, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw new TypeError("A webhook's secret is whsec_ and base64.");
  return Buffer.from(text, "base64");
}

// Client.send with the environment's settings: one attempt, and an error status resolves too.
export async function send(...request) {
  return new Client().send(...request);
}

function isWrite(method) {
  return method === "POST" || method === "PATCH";
}

function keyFor(method, idempotencyKey) {
  return idempotencyKey ?? (isWrite(method) ? randomUUID() : "");
}

async function succeeded(response) {
  if (response.ok) return response;
  throw new ApiError(response, await objectOf(response.clone()).catch(() => ({})));
}

async function wait(ms, signal) {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

// How long to wait after this attempt: longer each time, and not the same for all who wait.
function pauseMs(error, number) {
  const after = error.response?.retryAfterMs ?? null;
  if (after !== null) return after * (1 + Math.random() / 10);
  return Math.min(FIRST_PAUSE_MS * 2 ** (number - 1), MAX_PAUSE_MS) * (0.5 + Math.random() / 2);
}

// An environment variable, without white space around it. Throws ConfigurationError where it is not set.
export function setting(name) {
  const value = process.env[name]?.trim();
  if (!value) throw new ConfigurationError(`${name} is not set`);
  return value;
}

// A setting; one that is given has the name of its variable in messages, and is in none itself.
function plain(name, given) {
  const value = given?.trim() || setting(name);
  if (!/^[!-~]+$/.test(value)) throw new ConfigurationError(`${name} has characters that do not belong there`);
  return value;
}

function checkedUrl(url) {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new ConfigurationError("PSI_BASE_URL is no URL such as https://partners.example");
  }
  return url.replace(/\/+$/, "");
}

function contentOf(body) {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  return body === undefined || body === null ? "" : JSON.stringify(body);
}

// What to throw without a response: a wrong certificate or an unknown name is not retried.
function failure(error, host) {
  if (error instanceof PsiError) return error;
  const { code = "", message = error.message } = error.cause ?? {};
  // Node's fetch says nothing of a 407, and something of all else; the agents of undici say these.
  const isSilent = error.message === "fetch failed" && !message && !code;
  if (isSilent || /^Proxy (response|Authentication Required) \(407\)/.test(message)) {
    return new ConfigurationError(UNAUTHENTICATED, { cause: error });
  }
  if (code === "ERR_INVALID_URL") return new ConfigurationError("The path is malformed.", { cause: error });
  if (code === "ENOTFOUND") return new ConfigurationError(`The host ${host} is unknown.`, { cause: error });
  if (/CERT|^UNABLE_TO_|^HOSTNAME_/.test(code)) {
    return new ConfigurationError(`The certificate of ${host} is not trusted: ${message}.`, { cause: error });
  }
  return new NoResponseError(`no response: ${message || error.message}`, { cause: error });
}

// Command line: sends one request and writes the response. Exit status 0 for a 2xx.
async function main([method, target, body]) {
  if (!target) throw new Error("usage: node psi.mjs METHOD PATH [JSON]");
  const response = await send(method, target, body, process.env.PSI_IDEMPOTENCY_KEY || undefined);
  const bytes = Buffer.from(await response.arrayBuffer());
  console.error(response.status);
  process.stdout.write(bytes, () => console.error());
  process.exitCode = response.ok ? 0 : 1;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
