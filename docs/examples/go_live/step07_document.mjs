// Step 7: have a document published, wait for its event, download it, and check its SHA-256.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { send, setting } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const user = setting("EXTERNAL_ID");

// The response, which is a success.
async function request(method, target, body) {
  const response = await send(method, target, body);
  if (!response.ok) throw new Error(`${response.status} ${(await response.json()).message}`);
  return response;
}

const sample = JSON.stringify({ type: "accountStatement", title: "Statement of January" });
const published = await (await request("POST", `/v1/sandbox/users/${user}/documents`, sample)).json();
await follow(({ data }) => data.documentId === published.documentId);

const { items: [item] } = await (await request("GET", `/v1/users/${user}/documents?limit=1`)).json();
const file = await request("GET", `/v1/users/${user}/documents/${item.documentId}`);
const content = Buffer.from(await file.arrayBuffer());
if (createHash("sha256").update(content).digest("hex") !== item.sha256) {
  throw new Error("Not what was listed: download it again.");
}
writeFileSync(`${item.documentId}.pdf`, content);
console.log(`${item.title}: ${content.length} bytes, SHA-256 is right`);
