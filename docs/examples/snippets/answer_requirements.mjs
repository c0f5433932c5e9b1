// Shows why a user has its status and what compliance asks for, and answers it.
import { path, send, signedFetch } from "./psi.mjs";

const USER = path("users", "cust-1001");
// In place of a form of yours, which shows the message and asks for the fields.
const entered = { addressLine1: "100 King St W, Apt 5", postalCode: "M5X 1A9" };
const note = "The income is the salary of the employer on file.";

const client = signedFetch();
const read = async () => (await send(client, "GET", USER)).json();
const { externalId, status, statusReason, requirements } = await read();
console.log(externalId, "is", status, `(${statusReason ?? "no reason"})`);
for (const { requirementId, code, fields, message, state, dueAt } of requirements) {
  console.log(code, state, "until", dueAt);
  console.log(`  ${message ?? "no message"} ${fields.join(", ")}`);
  if (state !== "open") continue;
  if (fields.length === 0) {
    await send(client, "POST", `${USER}/requirements/${requirementId}/response`, { json: { note } });
  } else if (fields.every((field) => field in entered)) {
    // All of its fields in one update, also those whose value stays.
    const json = Object.fromEntries(fields.map((field) => [field, entered[field]]));
    await send(client, "PATCH", USER, { json });
  }
}
const now = await read();
console.log(`${now.requirements.filter(({ state }) => state === "open").length} open`);
