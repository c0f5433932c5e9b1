// Step 4: simulate the decisions of compliance, a rejection and an approval.
import { send, setting } from "./psi.mjs";

const user = setting("EXTERNAL_ID");
for (const status of ["rejected", "pendingCompliance", "active"]) {
  const response = await send("POST", `/v1/sandbox/users/${user}/status`, JSON.stringify({ status }));
  const result = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${result.message}`);
  console.log(`${user} is ${result.status}`);
}
