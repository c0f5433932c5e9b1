// Step 6: page through conversions while one arrives late, and miss none.
import { send, setting } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const user = setting("EXTERNAL_ID");
const CONVERSION = {
  from: { currency: "CAD", amount: "100.00" },
  to: { currency: "USD", amount: "71.82" },
  rate: "0.7182",
};

// Simulates a conversion, of now unless createdAt is given. Resolves to its conversionId.
async function record(fields = {}) {
  const body = JSON.stringify({ items: [{ ...CONVERSION, ...fields }] });
  const response = await send("POST", `/v1/sandbox/users/${user}/transactions`, body);
  const result = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${result.message}`);
  return result.items[0].conversionId;
}

// The pages of the list, newest first.
async function* pages(limit) {
  const query = new URLSearchParams({ limit });
  for (;;) {
    const response = await send("GET", `/v1/users/${user}/transactions?${query}`);
    const page = await response.json();
    if (!response.ok) throw new Error(`${response.status} ${page.message}`);
    yield page.items;
    if (page.nextCursor === null) return;
    query.set("cursor", page.nextCursor);
  }
}

const recorded = [];
for (let number = 0; number < 5; number++) recorded.push(await record());
const seen = [];
let late;
for await (const items of pages(2)) {
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
    for await (const items of pages(100)) {
      const recent = items.filter((item) => item.createdAt >= data.oldestCreatedAt);
      seen.push(...recent.map((item) => item.conversionId).filter((id) => !seen.includes(id)));
      if (recent.length < items.length) break;
    }
  }
  return seen.includes(late);
}

await follow(readAgain);
report();
