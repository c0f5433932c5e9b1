// Step 2: create a user, and note it among your own.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { send, setting } from "./psi.mjs";

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

const response = await send("POST", "/v1/users", JSON.stringify(user), randomUUID());
const result = await response.json();
if (!response.ok) throw new Error(`${response.status} ${result.message}`);
const users = existsSync(USERS) ? JSON.parse(readFileSync(USERS, "utf8")) : {};
users[result.externalId] = result.status;
writeFileSync(USERS, JSON.stringify(users));
console.log(`${result.externalId} is ${result.status}`);
