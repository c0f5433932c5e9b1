// Signs requests to the Partner Service Interface and sends them. Node.js 18 or newer, no packages.
//
//     export PSI_BASE_URL=https://partners.example PSI_API_KEY=psi_key_… PSI_SECRET=psi_secret_…
//     node psi.mjs GET /v1/ping
//     node psi.mjs PATCH /v1/users/cust-1001 '{"city": "Ottawa"}'
//
// The status goes to standard error, the body to standard output: redirect it with `>` to save it.

import { createHash, createHmac, randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

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

// Returns an environment variable. Without it, the program ends with one line.
export function setting(name) {
  if (process.env[name]) return process.env[name];
  console.error(`${name} is not set`);
  process.exit(1);
}

// Signs a request and sends it; resolves to fetch's Response, for an error status too.
// target: percent-encoded. body: JSON, sent as it is signed. idempotencyKey: by default a new one for a write.
// moreHeaders: not signed, such as X-Sandbox-Fault.
export async function send(method, target, body = "", idempotencyKey = "", moreHeaders = {}) {
  const [PSI_BASE_URL, PSI_API_KEY, PSI_SECRET] = ["PSI_BASE_URL", "PSI_API_KEY", "PSI_SECRET"].map(setting);
  const isWrite = method === "POST" || method === "PATCH";
  const key = idempotencyKey || (isWrite ? randomUUID() : "");
  const timestamp = new Date().toISOString();
  const canonical = canonicalRequest(method, target, timestamp, key, isWrite ? body : "");
  const headers = {
    ...moreHeaders,
    "X-Api-Key": PSI_API_KEY,
    "X-Request-Timestamp": timestamp,
    "X-Request-Signature": sign(PSI_SECRET, canonical),
    ...(key && { "Idempotency-Key": key }),
    ...(isWrite && { "Content-Type": "application/json" }),
  };
  return fetch(PSI_BASE_URL.replace(/\/+$/, "") + target, {
    method,
    headers,
    body: isWrite ? body : undefined,
    redirect: "manual", // a redirect would take the key to somebody else
    signal: AbortSignal.timeout(30_000),
  });
}

// Command line: sends one request and writes the response. Exit status 0 for a 2xx.
async function main([method, target, body]) {
  if (!target) throw new Error("usage: node psi.mjs METHOD PATH [JSON]");
  const response = await send(method, target, body, process.env.PSI_IDEMPOTENCY_KEY);
  const bytes = Buffer.from(await response.arrayBuffer());
  console.error(response.status);
  process.stdout.write(bytes, () => console.error());
  process.exitCode = response.ok ? 0 : 1;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(error.cause?.message ?? error.message);
    process.exitCode = 1;
  });
}
