// Step 12: be limited, wait as long as the response says, and go on.
import { setTimeout as sleep } from "node:timers/promises";
import { signedFetch } from "./psi.mjs";

// The client alone makes one attempt: `send` waits by itself. The limit is simulated for the first one.
const client = signedFetch();
for (const headers of [{ "X-Sandbox-Fault": "tooManyRequests" }, {}]) {
  const response = await client("/v1/ping", { headers });
  console.log(response.status);
  if (response.status === 429) {
    const seconds = Number(response.headers.get("Retry-After"));
    console.log(`waiting for ${seconds} s`);
    await sleep(seconds * 1000);
  }
}
