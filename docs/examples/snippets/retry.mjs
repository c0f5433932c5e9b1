// Retries a write until the service accepts or refuses it. It takes effect once.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "./psi.mjs";

const ATTEMPTS = 5;

// Each attempt has the same Idempotency-Key and body, and a new signature.
async function write(method, target, body, idempotencyKey) {
  for (let attempt = 1; ; attempt++) {
    let seconds = 2 ** (attempt - 1);
    try {
      const response = await send(method, target, body, idempotencyKey);
      const text = await response.text();
      if (![429, 500, 503].includes(response.status) || attempt === ATTEMPTS) return { status: response.status, text };
      seconds = Number(response.headers.get("Retry-After") ?? seconds);
    } catch (error) {
      // Without a whole response, the write may have taken effect: retry.
      if (attempt === ATTEMPTS || !["TypeError", "TimeoutError"].includes(error.name)) throw error;
    }
    await sleep(seconds * 1000);
  }
}

const changes = JSON.stringify({ city: "Ottawa", postalCode: "K1P 5W1" });
const { status, text } = await write("PATCH", "/v1/users/cust-1001", changes, randomUUID());
console.log(status, text);
