// Step 9: add a webhook, have a test sent to it, verify what arrives, and remove the webhook.
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, setting } from "./psi.mjs";

const url = setting("PSI_WEBHOOK_URL");
const client = new Client();

// The secret is shown this once, in a response that is not stored: no Idempotency-Key.
const added = await client.sandbox.addWebhook({ url });
const webhook = added.webhookId;
console.log(`webhook ${webhook} is ${added.state}`);

const env = { ...process.env, PSI_WEBHOOK_SECRET: added.secret };
const receiver = spawn(process.execPath, ["receive_webhook.mjs"], { env, stdio: "inherit" });
let result;
try {
  for (let attempt = 0; attempt < 5; attempt++) {
    result = await client.sandbox.testWebhook(webhook);
    if (result.status === 204) break;
    await sleep(1000); // the receiver may still be starting
  }
  console.log(`test: status ${result.status ?? "none"}, error ${result.error ?? "none"}`);
} finally {
  await client.sandbox.removeWebhook(webhook);
  receiver.kill();
}
console.log("webhook removed");
if (result.status !== 204) process.exitCode = 1;
