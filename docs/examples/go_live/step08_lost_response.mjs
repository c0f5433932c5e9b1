// Step 8: lose the response to a write, ask whether it has happened, and retry it.
import { randomUUID } from "node:crypto";
import { send, setting } from "./psi.mjs";

const target = `/v1/users/${setting("EXTERNAL_ID")}`;
const changes = JSON.stringify({ addressLine1: "1 Elgin St", city: "Ottawa", postalCode: "K1P 5W1" });
// Store both before you send: a retry needs the same key and the same bytes.
const key = randomUUID();

try {
  const response = await send("PATCH", target, changes, key, { "X-Sandbox-Fault": "lostAnswer" });
  await response.text();
} catch (error) {
  if (!["TypeError", "TimeoutError"].includes(error.name)) throw error;
  console.log("no response");
}

const found = await send("GET", `/v1/idempotency-keys/${key}`);
// 404: it has not happened so far. Retry it under the same key: under a new one it might happen twice.
console.log(found.ok ? "it has happened" : `look-up: ${found.status}`);

const again = await send("PATCH", target, changes, key);
console.log(`retry: ${again.status}, replayed: ${again.headers.get("Idempotent-Replayed")}`);
