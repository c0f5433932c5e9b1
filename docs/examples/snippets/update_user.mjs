// Changes a user's address: send only the fields that change.
import { Client } from "./psi.mjs";

const changes = { addressLine1: "1 Elgin St", city: "Ottawa", postalCode: "K1P 5W1" };
console.log(JSON.stringify(await new Client().updateUser("cust-1001", changes)));
