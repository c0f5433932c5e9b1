// Step 12: be limited, wait as long as the response says, and go on.
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "./psi.mjs";

// The limit is simulated for the first attempt only.
for (const fault of [{ "X-Sandbox-Fault": "tooManyRequests" }, {}]) {
  const response = await send("GET", "/v1/ping", "", "", fault);
  console.log(response.status);
  if (response.status === 429) {
    const seconds = Number(response.headers.get("Retry-After"));
    console.log(`waiting for ${seconds} s`);
    await sleep(seconds * 1000);
  }
}
