// Step 10: lose the response to a write, ask whether it has happened, and retry it.
import { randomUUID } from "node:crypto";
import { Client, NoResponseError, setting, userPath } from "./psi.mjs";

const client = new Client();
const target = userPath(setting("EXTERNAL_ID"));
const changes = JSON.stringify({ addressLine1: "1 Elgin St", city: "Ottawa", postalCode: "K1P 5W1" });
// Store both before you send: a retry needs the same key and the same bytes.
const key = randomUUID();

// `send` makes one attempt only: the other methods retry by themselves, under the same key.
try {
  await client.send("PATCH", target, changes, key, { "X-Sandbox-Fault": "lostAnswer" });
} catch (error) {
  if (!(error instanceof NoResponseError)) throw error;
  console.log("no response");
}

// null: it has not happened so far. Retry it under the same key: under a new one it might happen twice.
console.log((await client.getIdempotencyKey(key)) ? "it has happened" : "it has not happened");

const again = await client.send("PATCH", target, changes, key);
console.log(`retry: ${again.status}, replayed: ${again.headers.get("Idempotent-Replayed")}`);
