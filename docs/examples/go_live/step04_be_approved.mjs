// Step 4: simulate the decisions of compliance, a rejection and an approval.
import { Client, setting } from "./psi.mjs";

const client = new Client();
const user = setting("EXTERNAL_ID");
for (const status of ["rejected", "pendingCompliance", "active"]) {
  const response = await client.request("POST", `/v1/sandbox/users/${user}/status`, { body: { status } });
  console.log(`${user} is ${(await response.json()).status}`);
}
