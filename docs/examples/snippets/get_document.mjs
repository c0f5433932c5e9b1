// Downloads the newest document of a user, and checks its SHA-256.
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { send } from "./psi.mjs";

async function get(target) {
  const response = await send("GET", target);
  if (!response.ok) throw new Error(`${response.status} ${(await response.json()).message}`);
  return response;
}

const documents = `/v1/users/${encodeURIComponent("cust-1001")}/documents`;
const { items: [item] } = await (await get(`${documents}?limit=1`)).json();
if (item) {
  const content = Buffer.from(await (await get(`${documents}/${item.documentId}`)).arrayBuffer());
  const sha256 = createHash("sha256").update(content).digest("hex");
  if (content.length !== item.sizeBytes || sha256 !== item.sha256) throw new Error("Not what was listed: fetch it again.");
  // The file name is yours to choose; the title is for people.
  await writeFile(item.documentId, content);
  console.log(item.documentId, item.contentType, content.length, "bytes");
} else {
  console.log("no documents");
}
