// Verifies requests: reads a list of objects with secret, headers and body; writes a list of true and false.
// The argument names the package, whose Webhook verifies.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { Webhook } = createRequire(import.meta.url)(process.argv[2]);
const results = JSON.parse(readFileSync(0, "utf8")).map(({ secret, headers, body }) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch (error) {
    if (error.constructor.name !== "WebhookVerificationError") throw error;
    return false;
  }
});
process.stdout.write(JSON.stringify(results));
