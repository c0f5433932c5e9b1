// Step 1: sign a request, and make sure that the key is one of the sandbox.
import { send } from "./psi.mjs";

const response = await send("GET", "/v1/ping");
const result = await response.json();
if (!response.ok) throw new Error(`${response.status} ${result.message}`);
if (result.mode !== "sandbox") throw new Error("This key is live: do not go on with it.");
console.log(`partner ${result.partner}, mode ${result.mode}`);
