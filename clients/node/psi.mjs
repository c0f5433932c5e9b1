// Calls the Partner Service Interface with fetch. Node.js 20.3 or newer, no packages; one file that may be copied.
//
//     const client = signedFetch(); // of PSI_BASE_URL, PSI_API_KEY and PSI_SECRET
//     await send(client, "PATCH", path("users", "cust-1001"), { json: { city: "Ottawa" } });

import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);

// What this module throws. isTemporary: whether the same request may succeed later.
export class PsiError extends Error {
  get name() {
    return this.constructor.name;
  }
  isTemporary = false;
}

// A setting is missing or malformed. The message names it and does not contain its value.
export class SettingError extends PsiError {}

// A webhook is not signed by the service, or is too old: respond with 401.
export class WebhookError extends PsiError {}

// No response, or a damaged one. A write may have taken effect: retry it under the same Idempotency-Key.
export class NoResponseError extends PsiError {
  isTemporary = true;
}

// The service refused or failed. response: its head. status: of HTTP. error: its code; empty if a proxy responded in its
// place. reason: its message, for people. requestId: for support. fieldErrors: each with field, code and message.
export class ApiError extends PsiError {
  constructor(response, body) {
    const { status } = response;
    const text = (name) => (typeof body?.[name] === "string" ? body[name] : "");
    const [error, requestId, reason] = ["error", "requestId", "message"].map(text);
    const said = reason || "The response is not the service's.";
    const fieldErrors = Array.isArray(body?.fieldErrors) ? body.fieldErrors.filter(isObject) : [];
    const fields = fieldErrors.map(({ field, message }) => ` ${field}: ${message}`).join("");
    // In the sandbox, a refused signature has a diagnosis.
    const diagnosis = isObject(body?.diagnosis) ? ` ${body.diagnosis.message}` : "";
    super(`${status}${error && ` ${error}`}: ${said}${fields}${diagnosis}${requestId && ` (request ${requestId})`}`);
    Object.assign(this, { response, status, error, reason: said, requestId, fieldErrors });
    this.isTemporary = TEMPORARY.has(status);
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Returns the six lines to sign. target: path from /v1 on and query, as sent. Throws URIError: it is not UTF-8.
export function canonicalRequest(method, target, timestamp, idempotencyKey, body) {
  const [path, ...query] = target.split("?");
  const pairs = query.join("?").split("&").filter((piece) => piece !== "").map((piece) => {
    const [name, ...value] = piece.replaceAll("+", "%20").split("=");
    return `${encode(name)} ${encode(value.join("="))}`;
  });
  // A space sorts before every character of an encoded name: by name, then by value.
  const canonicalQuery = pairs.sort().join("&").replaceAll(" ", "=");
  const digest = createHash("sha256").update(body).digest("hex");
  return [method, encode(path).replaceAll("%2F", "/"), canonicalQuery, timestamp, idempotencyKey, digest].join("\n");
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

// Returns a value or else an environment variable, without white space around it. Throws SettingError.
export function setting(name, given) {
  const value = (given || process.env[name] || "").trim();
  if (!value) throw new SettingError(`${name} is not set`);
  if (!/^[!-~]+$/.test(value)) throw new SettingError(`${name} has characters that do not belong there`);
  return value;
}

// Returns a fetch that signs: of a path from /v1 on, or of a Request to the service; it makes one attempt and resolves
// to the whole response, whatever its status, or rejects with NoResponseError. By default with the environment's
// PSI_BASE_URL, PSI_API_KEY and PSI_SECRET, and with Node's fetch. timeoutMs: of an attempt. Throws SettingError.
export function signedFetch({ baseUrl, apiKey, secret, timeoutMs = 30_000, fetch = globalThis.fetch } = {}) {
  const given = setting("PSI_BASE_URL", baseUrl).replace(/\/+$/, "");
  const found = /^https?:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?((\/[^/?#\\]+)*)$/i.exec(given);
  if (!found || found[3].endsWith("/v1") || !URL.canParse(given)) {
    throw new SettingError("PSI_BASE_URL is not like https://partners.example: no /v1, ?, #, user name or password");
  }
  const base = new URL(given).href.replace(/\/$/, "");
  const [key, secretKey] = [setting("PSI_API_KEY", apiKey), setting("PSI_SECRET", secret)];
  return async (input, init) => {
    const request = new Request(typeof input === "string" && input.startsWith("/") ? base + input : input, init);
    // Another path would take the key to somebody else.
    if (!request.url.startsWith(`${base}/v1/`)) throw new TypeError("a path begins with /v1/");
    const { method, headers, url } = request;
    const body = new Uint8Array(await request.arrayBuffer());
    const timestamp = new Date().toISOString();
    const target = url.slice(base.length).split("#")[0];
    const canonical = canonicalRequest(method, target, timestamp, headers.get("Idempotency-Key") ?? "", body);
    headers.set("X-Api-Key", key);
    headers.set("X-Request-Timestamp", timestamp);
    headers.set("X-Request-Signature", sign(secretKey, canonical));
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      // A redirect would take the key to another host.
      const options = { method, headers, body: body.length > 0 ? body : undefined, redirect: "manual", signal };
      const response = await fetch(url, options);
      const content = await response.arrayBuffer();
      return new Response(content.byteLength > 0 ? content : null, response);
    } catch (error) {
      request.signal.throwIfAborted();
      throw new NoResponseError(`no response: ${error.cause?.message || error.message}`, { cause: error });
    }
  };
}

// Returns the path of these names below /v1, percent-encoded, such as of "users", externalId, "transactions".
export function path(...names) {
  if (names.some((name) => ["", ".", ".."].includes(name))) {
    throw new TypeError("a part of a path is empty, or one or two dots");
  }
  return ["/v1", ...names.map(encodeURIComponent)].join("/");
}

// Sends a request, and retries it after a failure that is temporary. Resolves to the response of a success.
// path: from /v1 on, percent-encoded. options: json, or body (as fetch takes it, sent as it is); query; headers;
// idempotencyKey (by default a new one for a write; with an empty one it is not retried); attempts; maxWaitMs (the
// longest Retry-After that is waited for); signal. Rejects with ApiError, NoResponseError, the reason of the signal, and
// TypeError or URIError for what nobody can send.
export async function send(client, method, path, options = {}) {
  const { json, body = JSON.stringify(json), query, idempotencyKey, headers, signal } = options;
  const { attempts = 5, maxWaitMs = 60_000 } = options;
  const init = { method: method.toUpperCase(), body, headers: new Headers(headers), signal };
  const isWrite = init.method === "POST" || init.method === "PATCH";
  const key = idempotencyKey ?? init.headers.get("Idempotency-Key") ?? (isWrite ? randomUUID() : "");
  if (key !== "") init.headers.set("Idempotency-Key", key);
  if (isWrite) init.headers.set("Content-Type", "application/json");
  const isSafe = key !== "" || init.method === "GET";
  const target = query ? `${path}?${new URLSearchParams(query)}` : path;
  for (let number = 1; ; number++) {
    try {
      return await checked(await client(target, init));
    } catch (error) {
      const pause = pauseMs(error, number);
      if (!(isSafe && error.isTemporary && number < attempts && pause <= maxWaitMs)) throw error;
      await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

async function checked(response) {
  const body = await response.clone().json().catch(() => null);
  if (!response.ok) throw new ApiError(response, body);
  // A success is a JSON object, or the file of a document; all else is of a proxy.
  if (isObject(body) || response.headers.has("Content-Disposition")) return response;
  throw new NoResponseError(`The response is not the service's: ${response.status} without a JSON object.`);
}

// How long to wait after this attempt: longer each time, and not the same for all who wait.
function pauseMs(error, number) {
  const after = error.response?.headers.get("Retry-After") ?? "";
  if (/^[0-9]{1,9}$/.test(after)) return after * 1000 * (1 + Math.random() / 10);
  return Math.min(500 * 2 ** (number - 1), 30_000) * (0.5 + Math.random() / 2);
}

// Resolves to the write that took effect under a key, or null: so far none has. Rejects with ApiError: it cannot be told.
export async function findWrite(client, idempotencyKey, options) {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(idempotencyKey)) throw new TypeError("the key is no UUID");
  try {
    return await (await send(client, "GET", path("idempotency-keys", idempotencyKey), options)).json();
  } catch (error) {
    // A 404 of a proxy says nothing about the write.
    const isOurs = error.requestId && error.requestId === error.response.headers.get("X-Request-Id");
    if (isOurs && error.status === 404 && error.error === "not_found") return null;
    throw error;
  }
}

// All items of a list, newest first, for `for await`. Pages are requested as they are needed.
export async function* items(client, path, { query, ...options } = {}) {
  let page = { nextCursor: undefined };
  do {
    const cursor = page.nextCursor && { cursor: page.nextCursor };
    page = await (await send(client, "GET", path, { ...options, query: { limit: 100, ...query, ...cursor } })).json();
    yield* page.items;
  } while (page.nextCursor !== null);
}

// The events after a cursor, oldest first, for `for await`: each as [event, cursor], with the cursor to store once it is
// handled. It ends with the newest: wait, and begin again at the stored cursor. After a crash up to a page comes again.
export async function* events(client, cursor, { limit = 100, ...options } = {}) {
  let page;
  do {
    const query = cursor ? { cursor, limit } : { limit };
    page = await (await send(client, "GET", "/v1/events", { ...options, query })).json();
    for (const event of page.items.slice(0, -1)) yield [event, cursor];
    cursor = page.nextCursor;
    for (const event of page.items.slice(-1)) yield [event, cursor];
  } while (page.hasMore);
}

// Returns the event of a webhook that the service has signed (Standard Webhooks 1.0). body: the bytes as they came.
// headers: of node:http, or Headers. secrets: `whsec_…`, both while you change from one to the next. toleranceMs: the
// greatest age. Throws WebhookError; SettingError if a secret is malformed.
export function verifyWebhook(body, headers, secrets, { toleranceMs = 300_000 } = {}) {
  const texts = secrets.map((secret) => secret.trim().replace(/^whsec_/, ""));
  const keys = texts.map((text) => Buffer.from(text, "base64"));
  // Everybody can sign under an empty key.
  if (keys.length === 0 || keys.some((key, i) => key.length < 32 || key.toString("base64") !== texts[i])) {
    throw new SettingError("A webhook's secret is whsec_ and base64 of 32 bytes.");
  }
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const given = Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => given[`webhook-${name}`] ?? "");
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(Date.now() - timestamp * 1000) > toleranceMs) {
    throw new WebhookError("The time of the webhook is missing, malformed, or too far from this clock.");
  }
  const sent = signatures.split(" ").map((one) => Buffer.from(one));
  const isRight = keys.some((key) => {
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
    const expected = Buffer.from(`v1,${signature}`);
    return sent.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
  if (!isRight) throw new WebhookError("No signature of the webhook is right.");
  try {
    const event = JSON.parse(Buffer.from(body).toString());
    if (isObject(event)) return event;
  } catch {} // as if it were no object
  throw new WebhookError("The body of the webhook is no JSON object.");
}
