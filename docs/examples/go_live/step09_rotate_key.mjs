// Step 9: switch to another API key while both are in force.
import { randomUUID } from "node:crypto";
import { Client, userPath } from "./psi.mjs";

const { PSI_NEW_API_KEY, PSI_NEW_SECRET } = process.env;
if (!(PSI_NEW_API_KEY && PSI_NEW_SECRET)) throw new Error("PSI_NEW_API_KEY and PSI_NEW_SECRET are not set");
const oldClient = new Client();
const newClient = new Client({ apiKey: PSI_NEW_API_KEY, secret: PSI_NEW_SECRET });

const target = userPath(process.env.EXTERNAL_ID);
const changes = JSON.stringify({ occupation: "Architect" });
const idempotencyKey = randomUUID();

let response = await oldClient.send("PATCH", target, changes, idempotencyKey);
console.log(`old key: ${response.status}`);

// A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = await newClient.send("PATCH", target, changes, idempotencyKey);
console.log(`new key: ${response.status}, replayed: ${response.headers.get("Idempotent-Replayed")}`);
