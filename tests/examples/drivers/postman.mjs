// Runs the script of the Postman collection for each vector that it reads, with what Postman would give it, and writes
// the headers it sets, as JSON.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const {script, apiKey, secret, vectors} = JSON.parse(readFileSync(0, "utf8"));
const cryptoJs = {
  SHA256: (text) => ({toString: () => createHash("sha256").update(text).digest("hex")}),
  HmacSHA256: (text, key) => ({toString: () => createHmac("sha256", key).update(text).digest("hex")}),
};

function headersOf(vector) {
  // Postman's list of headers finds those that are switched off too.
  const headers = [{key: "idempotency-key", value: "switched off", disabled: true}];
  if (vector.idempotencyKey) headers.push({key: "Idempotency-Key", value: "{{key}}"});
  headers.upsert = (header) => headers.push(header);
  class Clock {
    toISOString() { return vector.timestamp; }
  }
  const pm = {
    request: {
      method: vector.method,
      url: {getPath: () => vector.path, getQueryString: () => vector.query},
      headers,
      body: {raw: vector.body, update: () => {}},
    },
    variables: {
      get: (name) => ({apiKey, secret})[name],
      replaceIn: (text) => text.replace("{{key}}", vector.idempotencyKey),
    },
  };
  // The sandbox has a CryptoJS of its own, and a script that declared another one would not run there.
  new Function("pm", "require", "Date", `let CryptoJS; ${script}`)(pm, () => cryptoJs, Clock);
  return Object.fromEntries(headers.filter((one) => !one.disabled).map(({key, value}) => [key, value]));
}

process.stdout.write(JSON.stringify(vectors.map(headersOf)));
