// Step 3: be refused, for invalid fields and for a minor.
import { ApiError, path, send, setting, signedFetch } from "./psi.mjs";

const client = signedFetch();
const user = path("users", setting("EXTERNAL_ID"));
for (const json of [{ email: "nobody", nickname: "Ada" }, { dateOfBirth: "2020-01-01" }]) {
  try {
    await send(client, "PATCH", user, { json });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    console.log(`${error.status} ${error.error}: ${error.reason}`);
    for (const { field, code, message } of error.fieldErrors) {
      // For your program the code, for people the message.
      console.log(`  ${field}: ${code}: ${message}`);
    }
  }
}
