// A write that is retried until the service accepts or refuses it. It takes effect once.
import { randomUUID } from "node:crypto";
import { Client, PsiError, userPath } from "./psi.mjs";

// Store both before you send: should this program end, the next one goes on with the same key and the same changes.
const idempotencyKey = randomUUID();
const body = { city: "Ottawa", postalCode: "K1P 5W1" };

const client = new Client({ attempts: 5 });
try {
  // The client waits for Retry-After, or a little longer each time. Each attempt has a new signature.
  const response = await client.request("PATCH", userPath("cust-1001"), { body, idempotencyKey });
  console.log(response.status, await response.text());
} catch (error) {
  if (!(error instanceof PsiError)) throw error;
  // With isTemporary, later attempts may succeed, under the same key.
  console.error(error.message);
  process.exitCode = 1;
}
