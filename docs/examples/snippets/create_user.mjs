// Registers a user, or prints the field errors.
import { randomUUID } from "node:crypto";
import { ApiError, send, signedFetch } from "./psi.mjs";

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

try {
  const response = await send(signedFetch(), "POST", "/v1/users", { json: user, idempotencyKey });
  const created = await response.json();
  console.log(`${created.externalId} is ${created.status}, userId ${created.userId}`);
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  for (const { field, message } of error.fieldErrors) console.log(`${field}: ${message}`);
  console.error(`${error.error}: ${error.reason} Request ${error.requestId}.`);
  process.exitCode = 1;
}
