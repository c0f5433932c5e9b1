// Changes a user's address: send only the fields that change.
import { path, send, signedFetch } from "./psi.mjs";

const json = { addressLine1: "1 Elgin St", city: "Ottawa", postalCode: "K1P 5W1" };
const response = await send(signedFetch(), "PATCH", path("users", "cust-1001"), { json });
console.log(await response.text());
