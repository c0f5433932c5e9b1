// Makes the calls that it reads with the client, as tests/examples/driven.py has them, and writes the results.
import { readFileSync } from "node:fs";
import { Client, Events, responseOf, verifyWebhook } from "./psi.mjs";

// A result as JSON has it.
async function plain(value) {
  if (value instanceof Events) {
    const seen = [];
    for await (const event of value) seen.push({ event, cursor: value.cursor });
    return seen;
  }
  if (value?.[Symbol.asyncIterator]) {
    const seen = [];
    for await (const item of value) seen.push(item);
    return seen;
  }
  const found = await value;
  if (found instanceof Response) return { status: found.status, body: await found.text() };
  return Buffer.isBuffer(found) ? { hex: found.toString("hex") } : found;
}

async function whole(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function call(client, name, given, options) {
  if (name === "verifyWebhook") {
    const [body, headers, secrets] = given;
    const { tolerance, ...others } = options;
    if (tolerance !== undefined) others.toleranceMs = tolerance * 1000;
    return verifyWebhook(Buffer.from(body), headers, secrets, others);
  }
  if (name === "streamDocument") return whole(client.streamDocument(...given, options));
  if (name.startsWith("sandbox.")) return client.sandbox[name.slice("sandbox.".length)](...given, options);
  return client[name](...given, ...(name === "send" ? [] : [options]));
}

function parts({ requestId, replayed, rateLimit }) {
  return { requestId, replayed, rateLimit };
}

function responseParts(result) {
  try {
    return parts(responseOf(result));
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

const { calls, attempts, maxWaitSeconds, timeoutSeconds } = JSON.parse(readFileSync(0, "utf8"));
const results = [];
let client;
const lines = [];
const log = (text) => lines.push(text);
for (const [name, given, options] of calls) {
  // In Python, a body is an argument.
  const [first, second, body, ...more] = given;
  const settled = name === "request" ? [[first, second], { ...options, body }] : [given, options];
  try {
    client ??= new Client({ attempts, maxWaitMs: maxWaitSeconds * 1000, timeoutMs: timeoutSeconds * 1000, log });
    const result = await call(client, name, ...settled);
    results.push({ result: await plain(result), response: responseParts(result) });
  } catch (error) {
    const { name: raised, message: text, isTemporary, status, error: code, reason, requestId, fieldErrors } = error;
    const response = error.response && parts(error.response);
    results.push({ raised, text, isTemporary, status, error: code, message: reason, requestId, fieldErrors, response });
  }
}
results.at(-1).log = lines;
process.stdout.write(JSON.stringify(results));
