// The first call: prints the partner of the key and the service's time.
import { send } from "./psi.mjs";

const response = await send("GET", "/v1/ping");
console.log(response.status, await response.text());
