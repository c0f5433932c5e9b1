// Follows your events and keeps the latest status of each user. After a restart it continues where it ended.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "./psi.mjs";

const PAUSE_SECONDS = 2;
// In place of your database, where cursor and statuses are best saved in one transaction.
const CURSOR = "events.cursor";
const STATUSES = "statuses.json";

const statuses = existsSync(STATUSES) ? JSON.parse(readFileSync(STATUSES)) : {};

// Handles an event. After a crash it comes again, so twice must be the same as once.
function handle({ type, data }) {
  switch (type) {
    case "user.statusChanged":
      // RFC 3339 in UTC with six fraction digits: texts sort as times do.
      if (data.updatedAt > (statuses[data.externalId]?.updatedAt ?? "")) {
        statuses[data.externalId] = data;
        console.log(data.externalId, "is", data.status);
      }
      break;
    case "user.transactionsRecorded":
      console.log(data.externalId, "has", data.count, "more conversions since", data.oldestCreatedAt);
      break;
    case "user.documentPublished":
      console.log(data.externalId, "has document", data.documentId);
      break;
    case "user.documentWithdrawn":
      console.log(data.externalId, "no longer has document", data.documentId);
      break;
    // New types may appear: ignore them.
  }
}

// Replaces a file at once: after a crash it is the old or the new one.
function save(path, text) {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

for (;;) {
  const parameters = new URLSearchParams({ limit: "100" });
  if (existsSync(CURSOR)) parameters.set("cursor", readFileSync(CURSOR, "utf8"));
  let response, page;
  try {
    response = await send("GET", `/v1/events?${parameters}`);
    page = await response.json();
  } catch (error) {
    if (!["TypeError", "TimeoutError", "SyntaxError"].includes(error.name)) throw error;
    console.error("no response:", error.cause?.message ?? error.message);
    await sleep(PAUSE_SECONDS * 1000);
    continue;
  }
  if ([429, 500, 503].includes(response.status)) {
    await sleep(Number(response.headers.get("Retry-After") ?? PAUSE_SECONDS) * 1000);
    continue;
  }
  if (!response.ok) {
    // A cursor that is too old is one of these: read your users again, and remove the file.
    console.error(page.message, page.fieldErrors ?? "");
    process.exit(1);
  }
  page.items.forEach(handle);
  // Only now: what was not handled is read again.
  save(STATUSES, JSON.stringify(statuses));
  save(CURSOR, page.nextCursor);
  if (!page.hasMore) await sleep(PAUSE_SECONDS * 1000);
}
