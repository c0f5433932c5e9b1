// Step 7: page through conversions while one arrives late, and miss none.
import { items, path, send, setting, signedFetch } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const client = signedFetch();
const user = setting("EXTERNAL_ID");
const conversions = path("users", user, "transactions");
const CONVERSION = {
  from: { currency: "CAD", amount: "100.00" },
  to: { currency: "USD", amount: "71.82" },
  rate: "0.7182",
};

// Simulates a conversion, of now unless createdAt is given. Resolves to its conversionId.
async function record(fields = {}) {
  const json = { items: [{ ...CONVERSION, ...fields }] };
  const response = await send(client, "POST", path("sandbox", "users", user, "transactions"), { json });
  return (await response.json()).items[0].conversionId;
}

const recorded = [];
for (let number = 0; number < 5; number++) recorded.push(await record());
const seen = [];
let late;
// In pages of two, one after the other.
for await (const { conversionId, createdAt } of items(client, conversions, { query: { limit: 2 } })) {
  seen.push(conversionId);
  // As old as one that has been read: the following pages do not have it.
  late ??= await record({ createdAt });
}

function report() {
  const count = (id) => seen.filter((one) => one === id).length;
  console.log(`${recorded.filter((id) => count(id) === 1).length} of 5 once each, ${count(late)} of 1 late`);
}
report();

// Reads from the newest conversion down to the oldest that the event is about.
async function readAgain({ type, data }) {
  if (type === "user.transactionsRecorded" && data.externalId === user) {
    for await (const { conversionId, createdAt } of items(client, conversions)) {
      if (createdAt < data.oldestCreatedAt) break;
      if (!seen.includes(conversionId)) seen.push(conversionId);
    }
  }
  return seen.includes(late);
}

await follow(client, readAgain);
report();
