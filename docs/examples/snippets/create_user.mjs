// Registers a user, or prints the field errors.
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
// Store it with the user before you send: with the same key, a retry is safe.
const idempotencyKey = randomUUID();

const response = await send("POST", "/v1/users", JSON.stringify(user), idempotencyKey);
const result = await response.json();
if (response.status === 201) {
  console.log(`${result.externalId} is ${result.status}, userId ${result.userId}`);
} else {
  for (const { field, message } of result.fieldErrors ?? []) console.log(`${field}: ${message}`);
  console.error(`${result.error}: ${result.message} Request ${result.requestId}.`);
  process.exitCode = 1;
}
