// Step 9: switch to another API key while both are in force.
import { randomUUID } from "node:crypto";
import { send } from "./psi.mjs";

const target = `/v1/users/${process.env.EXTERNAL_ID}`;
const changes = JSON.stringify({ occupation: "Architect" });
const idempotencyKey = randomUUID();

let response = await send("PATCH", target, changes, idempotencyKey);
console.log(`old key: ${response.status}`);

const { PSI_NEW_API_KEY: PSI_API_KEY, PSI_NEW_SECRET: PSI_SECRET } = process.env;
Object.assign(process.env, { PSI_API_KEY, PSI_SECRET });
// A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = await send("PATCH", target, changes, idempotencyKey);
console.log(`new key: ${response.status}, replayed: ${response.headers.get("Idempotent-Replayed")}`);
