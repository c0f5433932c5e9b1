// Step 8: have a document published, wait for its event, download it, and check its SHA-256.
import { writeFileSync } from "node:fs";
import { Client, setting } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const client = new Client();
const user = setting("EXTERNAL_ID");

const sample = { type: "accountStatement", title: "Statement of January" };
const published = await client.sandbox.simulateDocument(user, sample);
await follow(({ data }) => data.documentId === published.documentId);

const { value: item } = await client.documents(user, { limit: 1 }).next();
// Rejects where the file is not the one that was listed.
const content = await client.getDocument(user, item.documentId, { sha256: item.sha256 });
writeFileSync(`${item.documentId}.pdf`, content);
console.log(`${item.title}: ${content.length} bytes, SHA-256 is right`);
