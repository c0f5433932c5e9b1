// Post-response script of the collection: keeps the ids of each response in variables, which later requests use.

const NAMES = ["externalId", "requirementId", "documentId", "webhookId", "requestId"];

function keep(node) {
  if (node === null || typeof node !== "object") return;
  for (const name of NAMES) if (typeof node[name] === "string") pm.collectionVariables.set(name, node[name]);
  // Of a list, the first one.
  for (const value of Object.values(node)) keep(Array.isArray(value) ? value[0] : value);
}

if (pm.response.code < 300 && (pm.response.headers.get("Content-Type") || "").includes("json")) keep(pm.response.json());
