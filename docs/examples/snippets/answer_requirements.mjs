// Shows why a user has its status and what compliance asks for, and answers it.
import { Client } from "./psi.mjs";

const USER = "cust-1001";
// In place of a form of yours, which shows the message and asks for the fields.
const entered = { addressLine1: "100 King St W, Apt 5", postalCode: "M5X 1A9" };
const note = "The income is the salary of the employer on file.";

const client = new Client();
const { status, statusReason, requirements } = await client.getUser(USER);
console.log(USER, "is", status, `(${statusReason ?? "no reason"})`);
for (const { requirementId, code, fields, message, state, dueAt } of requirements) {
  console.log(code, state, "until", dueAt);
  console.log(`  ${message ?? "no message"} ${fields.join(", ")}`);
  if (state !== "open") continue;
  if (fields.length === 0) {
    await client.respondToRequirement(USER, requirementId, note);
  } else if (fields.every((field) => field in entered)) {
    // All of its fields in one update, also those whose value stays.
    await client.updateUser(USER, Object.fromEntries(fields.map((field) => [field, entered[field]])));
  }
}
const now = await client.getUser(USER);
console.log(`${now.requirements.filter(({ state }) => state === "open").length} open`);
