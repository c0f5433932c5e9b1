// Follows your events and keeps the latest status of each user. After a restart it continues where it ended.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { events, signedFetch } from "./psi.mjs";

const PAUSE_MS = 2000;
// In place of your database, where cursor and statuses are best saved in one transaction.
const CURSOR = "events.cursor";
const STATUSES = "statuses.json";

const client = signedFetch();
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
    case "user.requirementsChanged":
      // What they are is read with the user.
      console.log(data.externalId, "has", data.openRequirements, "open requirements");
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
  const stored = existsSync(CURSOR) ? readFileSync(CURSOR, "utf8") : undefined;
  try {
    for await (const [event, cursor] of events(client, stored, { limit: 100 })) {
      handle(event);
      // Only now: what was not handled is read again.
      save(STATUSES, JSON.stringify(statuses));
      if (cursor) save(CURSOR, cursor);
    }
  } catch (error) {
    // A cursor that is too old is none of these: read your users again, and remove the file.
    if (!error.isTemporary) throw error;
    console.error(error.message);
  }
  await sleep(PAUSE_MS);
}
