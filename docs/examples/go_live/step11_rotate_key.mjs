// Step 11: rotate your API key, and switch to the new one while both are in force.
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { path, send, setting, signedFetch } from "./psi.mjs";

const oldClient = signedFetch();
const user = path("users", setting("EXTERNAL_ID"));

// The secret is shown this once, in a response that is not stored: no Idempotency-Key. If it is lost, rotate again.
const rotation = { json: { overlapHours: 24 }, idempotencyKey: "" };
const issued = await (await send(oldClient, "POST", "/v1/sandbox/api-keys/rotate", rotation)).json();
const { apiKey, secret, expiresAt } = issued;
// In place of your secret store.
writeFileSync("new_key.env", `export PSI_API_KEY='${apiKey}' PSI_SECRET='${secret}'\n`, { mode: 0o600 });
console.log(`the old key ends at ${expiresAt}`);

const newClient = signedFetch({ apiKey, secret });
const change = { json: { occupation: "Architect" }, idempotencyKey: randomUUID() };

let response = await send(oldClient, "PATCH", user, change);
console.log(`old key: ${response.status}`);

// A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = await send(newClient, "PATCH", user, change);
console.log(`new key: ${response.status}, replayed: ${response.headers.get("Idempotent-Replayed")}`);
