// The first call: prints the partner of the key and the service's time.
import { Client } from "./psi.mjs";

try {
  console.log(JSON.stringify(await new Client().ping()));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
