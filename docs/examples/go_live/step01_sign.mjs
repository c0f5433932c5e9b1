// Step 1: sign a request, and make sure that the key is one of the sandbox.
import { Client } from "./psi.mjs";

const result = await new Client().ping();
if (result.mode !== "sandbox") throw new Error("This key is live: do not go on with it.");
console.log(`partner ${result.partner}, mode ${result.mode}`);
