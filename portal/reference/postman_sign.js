// Signs the request before Postman sends it, with the collection's variables apiKey and secret.
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

const isWrite = method === "POST" || method === "PATCH";
const timestamp = new Date().toISOString();
const keyHeader = headers.find((one) => one.key.toLowerCase() === "idempotency-key" && !one.disabled);
const idempotencyKey = keyHeader ? resolved(keyHeader.value) : "";
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
if (keyHeader) keyHeader.value = idempotencyKey;
headers.upsert({key: "X-Api-Key", value: apiKey});
headers.upsert({key: "X-Request-Timestamp", value: timestamp});
headers.upsert({key: "X-Request-Signature", value: hashes.HmacSHA256(canonical, secret).toString()});
