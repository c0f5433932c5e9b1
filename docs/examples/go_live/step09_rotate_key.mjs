// Step 9: switch to another API key while both are in force.
import { randomUUID } from "node:crypto";
import { send, setting } from "./psi.mjs";

const [PSI_NEW_API_KEY, PSI_NEW_SECRET] = ["PSI_NEW_API_KEY", "PSI_NEW_SECRET"].map(setting);

const target = `/v1/users/${setting("EXTERNAL_ID")}`;
const changes = JSON.stringify({ occupation: "Architect" });
const idempotencyKey = randomUUID();

let response = await send("PATCH", target, changes, idempotencyKey);
console.log(`old key: ${response.status}`);

Object.assign(process.env, { PSI_API_KEY: PSI_NEW_API_KEY, PSI_SECRET: PSI_NEW_SECRET });
// A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = await send("PATCH", target, changes, idempotencyKey);
console.log(`new key: ${response.status}, replayed: ${response.headers.get("Idempotent-Replayed")}`);
