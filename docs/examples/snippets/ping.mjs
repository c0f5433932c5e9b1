// The first call: who the service takes you for, and its clock.
import { send } from "./psi.mjs";

const answer = await send("GET", "/v1/ping");
console.log(answer.status, await answer.text());
