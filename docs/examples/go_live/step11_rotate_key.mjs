// Step 11: rotate your API key, and switch to the new one while both are in force.
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { Client, setting, userPath } from "./psi.mjs";

const oldClient = new Client();
const target = userPath(setting("EXTERNAL_ID"));

// The secret is shown this once, in a response that is not stored: no Idempotency-Key. If it is lost, rotate again.
const { apiKey, secret, expiresAt } = await oldClient.sandbox.rotateApiKey({ overlapHours: 24 });
// In place of your secret store.
writeFileSync("new_key.env", `export PSI_API_KEY='${apiKey}' PSI_SECRET='${secret}'\n`, { mode: 0o600 });
console.log(`the old key ends at ${expiresAt}`);

const newClient = new Client({ apiKey, secret });
const changes = JSON.stringify({ occupation: "Architect" });
const idempotencyKey = randomUUID();

let response = await oldClient.send("PATCH", target, changes, idempotencyKey);
console.log(`old key: ${response.status}`);

// A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = await newClient.send("PATCH", target, changes, idempotencyKey);
console.log(`new key: ${response.status}, replayed: ${response.replayed}`);
