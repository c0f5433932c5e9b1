// Prints all transactions of a user, page by page, newest first.
import { send } from "./psi.mjs";

async function* transactions(externalId) {
  const parameters = new URLSearchParams({ limit: "100" });
  for (;;) {
    const response = await send("GET", `/v1/users/${encodeURIComponent(externalId)}/transactions?${parameters}`);
    const page = await response.json();
    if (!response.ok) throw new Error(page.message);
    yield* page.items;
    if (page.nextCursor === null) return;
    // Send the cursor unchanged.
    parameters.set("cursor", page.nextCursor);
  }
}

let count = 0;
for await (const item of transactions("cust-1001")) {
  count += 1;
  // Amounts are strings, so that no digit is lost: do not convert them to numbers.
  console.log(item.conversionId, item.createdAt, item.from.amount, item.from.currency);
}
if (count === 0) console.log("no conversions");
