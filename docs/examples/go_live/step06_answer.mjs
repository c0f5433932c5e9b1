// Step 6: be asked for information, see why the user is on hold, and answer with an update.
import { Client, setting } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const client = new Client();
const user = setting("EXTERNAL_ID");

// Prints what the program would show to the user.
async function show() {
  const { status, statusReason, requirements } = await client.getUser(user);
  console.log(`${status}: ${statusReason}`);
  for (const { code, state, message, fields } of requirements) {
    console.log(`  ${code}, ${state}: ${message} (${fields.join(", ")})`);
  }
}

// What compliance would do, simulated.
await client.sandbox.simulateDecision(user, { status: "suspended", reasonCode: "profileChanged" });
const question = { code: "addressUnclear", fields: ["addressLine1", "postalCode"], message: "Which apartment is it?" };
await client.sandbox.simulateRequirement(user, question);
// The message is not in the event: read the user.
await follow(({ data }) => data.externalId === user && data.openRequirements > 0);
await show();

// All fields that are asked for, in one update, also those whose value was right.
await client.updateUser(user, { addressLine1: "100 King St W, Apt 5", postalCode: "M5X 1A9" });
await show();

await client.sandbox.simulateDecision(user, { status: "active" });
await follow(({ data }) => data.externalId === user && data.status === "active");
await show();
