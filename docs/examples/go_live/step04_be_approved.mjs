// Step 4: simulate the decisions of compliance, a rejection and an approval.
import { path, send, setting, signedFetch } from "./psi.mjs";

const client = signedFetch();
const decisions = path("sandbox", "users", setting("EXTERNAL_ID"), "status");
for (const status of ["rejected", "pendingCompliance", "active"]) {
  const user = await (await send(client, "POST", decisions, { json: { status } })).json();
  console.log(`${user.externalId} is ${user.status}`);
}
