// Step 4: simulate the decisions of compliance, a rejection and an approval.
import { Client, setting } from "./psi.mjs";

const client = new Client();
const user = setting("EXTERNAL_ID");
for (const status of ["rejected", "pendingCompliance", "active"]) {
  const result = await client.sandbox.simulateDecision(user, { status });
  console.log(`${user} is ${result.status}`);
}
