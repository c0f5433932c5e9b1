// Fetches the newest document of a user, and keeps it where it is whole.
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { send } from "./psi.mjs";

async function get(target) {
  const answer = await send("GET", target);
  if (!answer.ok) throw new Error(`${answer.status} ${(await answer.json()).message}`);
  return answer;
}

const documents = `/v1/users/${encodeURIComponent("cust-1001")}/documents`;
const { items: [item] } = await (await get(`${documents}?limit=1`)).json();
if (item) {
  const content = Buffer.from(await (await get(`${documents}/${item.documentId}`)).arrayBuffer());
  const sha256 = createHash("sha256").update(content).digest("hex");
  if (content.length !== item.sizeBytes || sha256 !== item.sha256) throw new Error("Not what was listed: fetch it again.");
  // A name of your own making: the title is for people.
  await writeFile(item.documentId, content);
  console.log(item.documentId, item.contentType, content.length, "bytes");
} else {
  console.log("no documents");
}
