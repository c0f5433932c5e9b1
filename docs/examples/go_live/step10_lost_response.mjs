// Step 10: lose the response to a write, ask whether it has happened, and retry it.
import { randomUUID } from "node:crypto";
import { findWrite, NoResponseError, path, send, setting, signedFetch } from "./psi.mjs";

const client = signedFetch();
const user = path("users", setting("EXTERNAL_ID"));
const body = JSON.stringify({ addressLine1: "1 Elgin St", city: "Ottawa", postalCode: "K1P 5W1" });
// Store both before you send: a retry needs the same key and the same bytes.
const idempotencyKey = randomUUID();

// One attempt, to see it fail: `send` retries by itself, under the same key.
try {
  const headers = { "X-Sandbox-Fault": "lostAnswer" };
  await send(client, "PATCH", user, { body, idempotencyKey, headers, attempts: 1 });
} catch (error) {
  if (!(error instanceof NoResponseError)) throw error;
  console.log("no response");
}

// null: it has not happened so far. Retry it under the same key: under a new one it might happen twice.
console.log((await findWrite(client, idempotencyKey)) ? "it has happened" : "it has not happened");

const again = await send(client, "PATCH", user, { body, idempotencyKey });
console.log(`retry: ${again.status}, replayed: ${again.headers.get("Idempotent-Replayed")}`);
