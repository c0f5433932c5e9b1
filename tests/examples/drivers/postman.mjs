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
  const headers = new Map(vector.idempotencyKey ? [["Idempotency-Key", vector.idempotencyKey]] : []);
  class Clock {
    toISOString() { return vector.timestamp; }
  }
  const pm = {
    request: {
      method: vector.method,
      url: {getPath: () => vector.path, getQueryString: () => vector.query},
      headers: {get: (name) => headers.get(name), upsert: ({key, value}) => headers.set(key, value)},
      body: {raw: vector.body, update: () => {}},
    },
    // Without a key of its own a write gets a new one; those of the vectors have none.
    variables: {get: (name) => ({apiKey, secret})[name], replaceIn: (text) => text.replace("{{$guid}}", "")},
  };
  new Function("pm", "require", "Date", script)(pm, () => cryptoJs, Clock);
  return Object.fromEntries(headers);
}

process.stdout.write(JSON.stringify(vectors.map(headersOf)));
