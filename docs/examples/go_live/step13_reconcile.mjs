// Step 13: compare all users of the service with your own.
import { readFileSync } from "node:fs";
import { items, signedFetch } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const client = signedFetch();
// What the feed still holds is not a difference.
await follow(client);
const own = JSON.parse(readFileSync("users.json", "utf8"));

const service = {};
for await (const { externalId, status } of items(client, "/v1/users")) service[externalId] = status;

const ids = [...new Set([...Object.keys(own), ...Object.keys(service)])].sort();
const different = ids.filter((id) => own[id] !== service[id]);
for (const id of different) console.log(`${id}: own ${own[id] ?? "none"}, service ${service[id] ?? "none"}`);
const [owned, served] = [own, service].map((users) => Object.keys(users).length);
console.log(`users: own ${owned}, service ${served}, different ${different.length}`);
