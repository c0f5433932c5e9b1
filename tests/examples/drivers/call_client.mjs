// Makes the calls that it reads with psi.mjs, as tests/examples/driven.py has them, and writes the results.
import { readFileSync } from "node:fs";
import * as psi from "./psi.mjs";

async function all(iterable) {
  const seen = [];
  for await (const one of iterable) seen.push(one);
  return seen;
}

async function call(name, given, options, timeoutMs) {
  if (name === "path") return psi.path(...given);
  if (name === "settings") {
    const [baseUrl, apiKey, secret] = given;
    psi.signedFetch({ baseUrl, apiKey, secret });
    return null;
  }
  if (name === "verifyWebhook") {
    const [body, headers, secrets] = given;
    return psi.verifyWebhook(Buffer.from(body), headers, secrets, options);
  }
  const client = psi.signedFetch({ timeoutMs });
  if (name === "items") return all(psi.items(client, ...given, options));
  if (name === "events") return all(psi.events(client, ...given, options));
  if (name === "findWrite") return psi.findWrite(client, ...given);
  const response = await psi.send(client, ...given, options);
  const hex = Buffer.from(await response.arrayBuffer()).toString("hex");
  return { status: response.status, headers: Object.fromEntries(response.headers), hex };
}

const { calls, timeoutMs } = JSON.parse(readFileSync(0, "utf8"));
const results = [];
for (const [name, given, options] of calls) {
  try {
    results.push({ result: await call(name, given, options, timeoutMs) });
  } catch (thrown) {
    const { name: raised, message: text, isTemporary, status, error, reason, requestId, fieldErrors } = thrown;
    results.push({ raised, text, isTemporary, status, error, reason, requestId, fieldErrors });
  }
}
process.stdout.write(JSON.stringify(results));
