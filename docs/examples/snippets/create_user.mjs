// Registers a user, and says what is wrong with it where the service refuses it.
import { randomUUID } from "node:crypto";
import { send } from "./psi.mjs";

const user = {
  externalId: "cust-1001",
  email: "ada@example.com",
  firstName: "Ada",
  lastName: "Byron",
  dateOfBirth: "1990-12-10",
  addressLine1: "100 King St W",
  city: "Toronto",
  postalCode: "M5X 1A9",
  province: "ON",
  country: "CA",
  occupation: "Engineer",
  isCiroAffiliate: false,
};
// Keep it with the user before you send: with the same key a second try is harmless.
const idempotencyKey = randomUUID();

const answer = await send("POST", "/v1/users", JSON.stringify(user), idempotencyKey);
const result = await answer.json();
if (answer.status === 201) {
  console.log(`${result.externalId} is ${result.status}, userId ${result.userId}`);
} else {
  for (const { field, message } of result.fieldErrors ?? []) console.log(`${field}: ${message}`);
  console.error(`${result.error}: ${result.message} Request ${result.requestId}.`);
  process.exitCode = 1;
}
