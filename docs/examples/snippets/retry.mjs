// A write that is retried until the service accepts or refuses it. It takes effect once.
import { randomUUID } from "node:crypto";
import { path, PsiError, send, signedFetch } from "./psi.mjs";

// Store both before you send: should this program end, the next one goes on with the same key and the same changes.
const write = { idempotencyKey: randomUUID(), json: { city: "Ottawa", postalCode: "K1P 5W1" } };

const client = signedFetch();
try {
  // It waits for Retry-After, or a little longer each time. Each attempt has a new signature.
  const response = await send(client, "PATCH", path("users", "cust-1001"), { ...write, attempts: 5 });
  console.log(response.status, await response.text());
} catch (error) {
  if (!(error instanceof PsiError)) throw error;
  // With isTemporary, later attempts may succeed, under the same key.
  console.error(error.message);
  process.exitCode = 1;
}
