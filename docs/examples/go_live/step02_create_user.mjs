// Step 2: create a user, and note it among your own.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { send, setting, signedFetch } from "./psi.mjs";

const USERS = "users.json"; // in place of your database
const user = {
  externalId: setting("EXTERNAL_ID"),
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

const options = { json: user, idempotencyKey: randomUUID() };
const created = await (await send(signedFetch(), "POST", "/v1/users", options)).json();
const users = existsSync(USERS) ? JSON.parse(readFileSync(USERS, "utf8")) : {};
users[created.externalId] = created.status;
writeFileSync(USERS, JSON.stringify(users));
console.log(`${created.externalId} is ${created.status}`);
