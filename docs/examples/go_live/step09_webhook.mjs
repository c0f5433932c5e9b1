// Step 9: add a webhook, have a test sent to it, verify what arrives, and remove the webhook.
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { path, send, setting, signedFetch } from "./psi.mjs";

const url = setting("PSI_WEBHOOK_URL");
const client = signedFetch();

// The secret is shown this once, in a response that is not stored: no Idempotency-Key.
const options = { json: { url }, idempotencyKey: "" };
const added = await (await send(client, "POST", "/v1/sandbox/webhooks", options)).json();
const webhook = path("sandbox", "webhooks", added.webhookId);
console.log(`webhook ${added.webhookId} is ${added.state}`);

const env = { ...process.env, PSI_WEBHOOK_SECRET: added.secret };
const receiver = spawn(process.execPath, ["receive_webhook.mjs"], { env, stdio: "inherit" });
let result;
try {
  for (let attempt = 0; attempt < 5; attempt++) {
    result = await (await send(client, "POST", `${webhook}/test`, { json: {} })).json();
    if (result.status === 204) break;
    await sleep(1000); // the receiver may still be starting
  }
  console.log(`test: status ${result.status ?? "none"}, error ${result.error ?? "none"}`);
} finally {
  await send(client, "DELETE", webhook);
  receiver.kill();
}
console.log("webhook removed");
if (result.status !== 204) process.exitCode = 1;
