// Step 7: page through conversions while one arrives late, and miss none.
import { Client, setting, userPath } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const client = new Client();
const user = setting("EXTERNAL_ID");
const CONVERSION = {
  from: { currency: "CAD", amount: "100.00" },
  to: { currency: "USD", amount: "71.82" },
  rate: "0.7182",
};

// Simulates a conversion, of now unless createdAt is given. Resolves to its conversionId.
async function record(fields = {}) {
  const { items } = await client.sandbox.simulateTransactions(user, [{ ...CONVERSION, ...fields }]);
  return items[0].conversionId;
}

const recorded = [];
for (let number = 0; number < 5; number++) recorded.push(await record());
const seen = [];
let late;
for await (const { items } of client.pages(userPath(user, "transactions"), { limit: 2 })) {
  seen.push(...items.map((item) => item.conversionId));
  // As old as one that has been read: the following pages do not have it.
  late ??= await record({ createdAt: items[0].createdAt });
}

function report() {
  const count = (id) => seen.filter((one) => one === id).length;
  console.log(`${recorded.filter((id) => count(id) === 1).length} of 5 once each, ${count(late)} of 1 late`);
}
report();

// Reads from the newest conversion down to the oldest that the event is about.
async function readAgain({ type, data }) {
  if (type === "user.transactionsRecorded" && data.externalId === user) {
    for await (const { conversionId, createdAt } of client.transactions(user)) {
      if (createdAt < data.oldestCreatedAt) break;
      if (!seen.includes(conversionId)) seen.push(conversionId);
    }
  }
  return seen.includes(late);
}

await follow(readAgain);
report();
