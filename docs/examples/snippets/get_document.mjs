// Downloads the newest document of a user. The client checks its SHA-256.
import { writeFile } from "node:fs/promises";
import { Client } from "./psi.mjs";

const client = new Client();
const { value: newest } = await client.documents("cust-1001", { limit: 1 }).next();
if (newest) {
  const content = await client.getDocument("cust-1001", newest.documentId, { sha256: newest.sha256 });
  // The file name is yours to choose; the title is for people.
  await writeFile(newest.documentId, content);
  console.log(newest.documentId, newest.contentType, content.length, "bytes");
} else {
  console.log("no documents");
}
