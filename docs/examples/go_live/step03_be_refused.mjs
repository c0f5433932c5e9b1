// Step 3: be refused, for invalid fields and for a minor.
import { ApiError, Client, setting } from "./psi.mjs";

const client = new Client();
for (const changes of [{ email: "nobody", nickname: "Ada" }, { dateOfBirth: "2020-01-01" }]) {
  try {
    await client.updateUser(setting("EXTERNAL_ID"), changes);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    console.log(`${error.status} ${error.error}: ${error.reason}`);
    for (const { field, code, message } of error.fieldErrors) {
      // For your program the code, for people the message.
      console.log(`  ${field}: ${code}: ${message}`);
    }
  }
}
