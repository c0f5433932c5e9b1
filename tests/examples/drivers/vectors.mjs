// Signs what it reads with psi.mjs. How drivers talk is said in tests/examples/languages.py.
import { readFileSync } from "node:fs";
import { canonicalRequest, sign } from "./psi.mjs";

const [secret, ...fields] = readFileSync(0, "utf8").split("\0").slice(0, -1);
while (fields.length > 0) {
  let signed = "refused\0\0";
  try {
    const canonical = canonicalRequest(...fields.splice(0, 5));
    signed = `${canonical}\0${sign(secret, canonical)}\0`;
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
  }
  process.stdout.write(signed);
}
