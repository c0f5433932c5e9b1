// Runs the scripts of the Postman page: for each request that it reads, the one before it with what Postman would give
// it, and the one after it with the response. Writes the headers, the path's variables and what is kept, as JSON.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const {sign, remember, requests} = JSON.parse(readFileSync(0, "utf8"));
const cryptoJs = {
  SHA256: (text) => ({toString: () => createHash("sha256").update(text).digest("hex")}),
  HmacSHA256: (text, key) => ({toString: () => createHmac("sha256", key).update(text).digest("hex")}),
};
class SkippedError extends Error {}

function sent(given) {
  const headers = Object.entries(given.headers).map(([key, value]) => ({key, value, disabled: true}));
  headers.upsert = (header) => headers.push(header);
  headers.remove = (name) => {
    const index = headers.findIndex((one) => one.key === name);
    if (index >= 0) headers.splice(index, 1);
  };
  class Clock {
    toISOString() { return given.timestamp; }
  }
  const path = given.pathVariables.map((key) => ({key, value: "<string>"}));
  const pm = {
    request: {
      method: given.method,
      url: {getPath: () => given.path, getQueryString: () => given.query, variables: {each: (use) => path.forEach(use)}},
      headers,
      body: {raw: given.body, update: () => {}},
    },
    execution: {skipRequest: () => { throw new SkippedError(); }},
    variables: {get: (name) => given.variables[name], replaceIn: (text) => text.replace("{{$guid}}", given.guid)},
    collectionVariables: {set: (name, value) => { given.variables[name] = value; }},
    response: {code: 200, headers: {get: () => "application/json"}, json: () => given.response},
  };
  try {
    // The sandbox has a CryptoJS of its own, and a script that declared another one would not run there.
    new Function("pm", "require", "Date", "console", `let CryptoJS; ${sign}`)(pm, () => cryptoJs, Clock, {log() {}});
  } catch (error) {
    if (error instanceof SkippedError) return null;
    throw error;
  }
  new Function("pm", remember)(pm);
  return {
    headers: Object.fromEntries(headers.map(({key, value}) => [key, value])),
    path: Object.fromEntries(path.map(({key, value}) => [key, value])),
    kept: given.variables,
  };
}

process.stdout.write(JSON.stringify(requests.map(sent)));
