// Pre-request script of the collection: signs each request with the variables apiKey and secret.
// Postman's sandbox declares names such as CryptoJS, which cannot be declared again.

const hashes = require("crypto-js");

// Percent-decodes a text and encodes it again: all but A-Z a-z 0-9 - . _ ~.
function encode(text) {
  const decoded = decodeURIComponent(text.replace(/%(?![0-9A-Fa-f]{2})/g, "%25"));
  return encodeURIComponent(decoded).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
}

function canonicalQuery(query) {
  const pairs = query.split("&").filter((piece) => piece !== "").map((piece) => {
    const [name, ...value] = piece.replace(/\+/g, "%20").split("=");
    return `${encode(name)} ${encode(value.join("="))}`;
  });
  // A space sorts before every character of an encoded name: by name, then by value.
  return pairs.sort().join("&").replace(/ /g, "=");
}

const {method, url, headers, body} = pm.request;
const resolved = (text) => pm.variables.replaceIn(text || "");
const apiKey = pm.variables.get("apiKey");
const secret = pm.variables.get("secret");
if (!apiKey || !secret) throw new Error("Set the collection's variables apiKey and secret.");

// A run of the whole collection must not end a key, such as the one that runs it, or replace a webhook's secret.
const endsCredentials = /\/rotate(-secret)?$/.test(url.getPath()) || (method === "DELETE" && /\/api-keys\//.test(url.getPath()));
if (endsCredentials && pm.variables.get("allowRotation") !== "true") {
  console.log("Not sent: set the variable allowRotation to true to replace or revoke a key or a secret.");
  pm.execution.skipRequest();
}

// Ids in the path are those of earlier responses, kept in variables of the same names.
url.variables.each((one) => {
  const kept = pm.variables.get(one.key);
  if (kept) one.value = encodeURIComponent(kept);
});

// A failure is simulated only if the variable fault names one, such as conflict.
headers.remove("X-Sandbox-Fault");
const fault = pm.variables.get("fault");
if (fault) headers.upsert({key: "X-Sandbox-Fault", value: fault});

const isWrite = method === "POST" || method === "PATCH";
const timestamp = new Date().toISOString();
// Each write has a key of its own, unless the variable retryKey has that of an earlier one.
const takesKey = headers.find((one) => one.key.toLowerCase() === "idempotency-key");
const idempotencyKey = takesKey ? pm.variables.get("retryKey") || resolved("{{$guid}}") : "";
const content = isWrite && body ? resolved(body.raw) : "";
const canonical = [
  method,
  encode(resolved(url.getPath())).replace(/%2F/g, "/"),
  canonicalQuery(resolved(url.getQueryString())),
  timestamp,
  idempotencyKey,
  hashes.SHA256(content).toString(),
].join("\n");

// Send exactly what is signed: without variables.
if (content) body.update({mode: "raw", raw: content});
headers.remove("Idempotency-Key");
if (idempotencyKey) headers.upsert({key: "Idempotency-Key", value: idempotencyKey});
if (idempotencyKey) pm.collectionVariables.set("idempotencyKey", idempotencyKey);
headers.upsert({key: "X-Api-Key", value: apiKey});
headers.upsert({key: "X-Request-Timestamp", value: timestamp});
headers.upsert({key: "X-Request-Signature", value: hashes.HmacSHA256(canonical, secret).toString()});
