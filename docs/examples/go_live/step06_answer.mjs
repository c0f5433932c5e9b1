// Step 6: be asked for information, see why the user is on hold, and answer with an update.
import { path, send, setting, signedFetch } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const client = signedFetch();
const user = setting("EXTERNAL_ID");

// Does what compliance would do, which only the sandbox allows.
async function simulate(what, json) {
  await send(client, "POST", path("sandbox", "users", user, what), { json });
}

// Prints what the program would show to the user.
async function show() {
  const { status, statusReason, requirements } = await (await send(client, "GET", path("users", user))).json();
  console.log(`${status}: ${statusReason}`);
  for (const { code, state, message, fields } of requirements) {
    console.log(`  ${code}, ${state}: ${message} (${fields.join(", ")})`);
  }
}

await simulate("status", { status: "suspended", reasonCode: "profileChanged" });
const question = { code: "addressUnclear", fields: ["addressLine1", "postalCode"], message: "Which apartment is it?" };
await simulate("requirements", question);
// The message is not in the event: read the user.
await follow(client, ({ data }) => data.externalId === user && data.openRequirements > 0);
await show();

// All fields that are asked for, in one update, also those whose value was right.
const json = { addressLine1: "100 King St W, Apt 5", postalCode: "M5X 1A9" };
await send(client, "PATCH", path("users", user), { json });
await show();

await simulate("status", { status: "active" });
await follow(client, ({ data }) => data.externalId === user && data.status === "active");
await show();
