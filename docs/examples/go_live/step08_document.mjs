// Step 8: have a document published, wait for its event, download it, and check its SHA-256.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { items, path, send, setting, signedFetch } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const client = signedFetch();
const user = setting("EXTERNAL_ID");

const json = { type: "accountStatement", title: "Statement of January" };
const published = await (await send(client, "POST", path("sandbox", "users", user, "documents"), { json })).json();
await follow(client, ({ data }) => data.documentId === published.documentId);

const { value: item } = await items(client, path("users", user, "documents"), { query: { limit: 1 } }).next();
const file = await send(client, "GET", path("users", user, "documents", item.documentId));
const content = Buffer.from(await file.arrayBuffer());
if (createHash("sha256").update(content).digest("hex") !== item.sha256) {
  throw new Error("Not what was listed: download it again.");
}
writeFileSync(`${item.documentId}.pdf`, content);
console.log(`${item.title}: ${content.length} bytes, SHA-256 is right`);
