// Downloads the newest document of a user, and checks its SHA-256.
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { items, path, send, signedFetch } from "./psi.mjs";

const client = signedFetch();
const documents = path("users", "cust-1001", "documents");
const { value: newest } = await items(client, documents, { query: { limit: 1 } }).next();
if (newest) {
  const response = await send(client, "GET", `${documents}/${newest.documentId}`);
  const content = Buffer.from(await response.arrayBuffer());
  if (createHash("sha256").update(content).digest("hex") !== newest.sha256) {
    throw new Error("Not what was listed: fetch it again.");
  }
  // The file name is yours to choose; the title is for people.
  await writeFile(newest.documentId, content);
  console.log(newest.documentId, newest.contentType, content.length, "bytes");
} else {
  console.log("no documents");
}
