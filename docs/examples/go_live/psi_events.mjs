// Reads your feed of events, keeps your users' statuses, and remembers where it ended. From step 5 on.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { events } from "./psi.mjs";

// In place of your database, where both are best saved in one transaction.
const CURSOR = "events.cursor";
const USERS = "users.json";

// Handles new events: up to one that isLast accepts, for which it waits a minute, or by default all there are.
export async function follow(client, isLast) {
  const users = JSON.parse(readFileSync(USERS, "utf8"));
  let isDone = !isLast;
  for (let attempt = 0; attempt < 60; attempt++) {
    const stored = existsSync(CURSOR) ? readFileSync(CURSOR, "utf8") : undefined;
    for await (const [event, cursor] of events(client, stored)) {
      const { type, data } = event;
      console.log(type, data.externalId, data.status ?? "");
      if (type === "user.statusChanged") users[data.externalId] = data.status;
      if (isLast && (await isLast(event))) isDone = true;
      writeFileSync(USERS, JSON.stringify(users));
      // Only now: after a crash, what was not handled comes again.
      writeFileSync(CURSOR, cursor ?? "");
    }
    if (isDone) return;
    await sleep(1000);
  }
  throw new Error("The event did not arrive within a minute.");
}
