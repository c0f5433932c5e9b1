// The first call: prints the partner of the key and the service's time.
import { send, signedFetch } from "./psi.mjs";

try {
  const response = await send(signedFetch(), "GET", "/v1/ping");
  console.log(await response.text());
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
