// Sends a write until the service has taken it, or refused it for good. It takes effect once.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "./psi.mjs";

const ATTEMPTS = 5;

// Each attempt has the same Idempotency-Key and the same body, and is signed anew.
async function write(method, target, body, idempotencyKey) {
  for (let attempt = 1; ; attempt++) {
    let seconds = 2 ** (attempt - 1);
    try {
      const answer = await send(method, target, body, idempotencyKey);
      if (![429, 503].includes(answer.status) || attempt === ATTEMPTS) return answer;
      seconds = Number(answer.headers.get("Retry-After") ?? seconds);
    } catch (error) {
      // Where fetch had no answer, nobody knows whether it took effect: the next attempt tells.
      if (attempt === ATTEMPTS || !["TypeError", "TimeoutError"].includes(error.name)) throw error;
    }
    await sleep(seconds * 1000);
  }
}

const changes = JSON.stringify({ city: "Ottawa", postalCode: "K1P 5W1" });
const answer = await write("PATCH", "/v1/users/cust-1001", changes, randomUUID());
console.log(answer.status, await answer.text());
