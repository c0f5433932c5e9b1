// Step 1: sign a request, and make sure that the key is one of the sandbox.
import { send, signedFetch } from "./psi.mjs";

const result = await (await send(signedFetch(), "GET", "/v1/ping")).json();
if (result.mode !== "sandbox") throw new Error("This key is live: do not go on with it.");
console.log(`partner ${result.partner}, mode ${result.mode}`);
