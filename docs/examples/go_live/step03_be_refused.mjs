// Step 3: be refused, for invalid fields and for a minor.
import { send, setting } from "./psi.mjs";

const target = `/v1/users/${setting("EXTERNAL_ID")}`;
for (const changes of [{ email: "nobody", nickname: "Ada" }, { dateOfBirth: "2020-01-01" }]) {
  const response = await send("PATCH", target, JSON.stringify(changes));
  const result = await response.json();
  console.log(`${response.status} ${result.error}: ${result.message}`);
  for (const { field, code, message } of result.fieldErrors ?? []) {
    // For your program the code, for people the message.
    console.log(`  ${field}: ${code}: ${message}`);
  }
}
