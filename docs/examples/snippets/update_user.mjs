// Changes a user's address: send only the fields that change.
import { send } from "./psi.mjs";

const externalId = "cust-1001";
const changes = { addressLine1: "1 Elgin St", city: "Ottawa", postalCode: "K1P 5W1" };

const response = await send("PATCH", `/v1/users/${encodeURIComponent(externalId)}`, JSON.stringify(changes));
console.log(response.status, await response.text());
