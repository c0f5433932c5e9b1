// Prints all transactions of a user, page by page, newest first.
import { send } from "./psi.mjs";

async function* transactions(externalId) {
  const parameters = new URLSearchParams({ limit: "100" });
  for (;;) {
    const answer = await send("GET", `/v1/users/${encodeURIComponent(externalId)}/transactions?${parameters}`);
    const page = await answer.json();
    if (!answer.ok) throw new Error(page.message);
    yield* page.items;
    if (page.nextCursor === null) return;
    // As it came: what it holds is the service's business.
    parameters.set("cursor", page.nextCursor);
  }
}

let count = 0;
for await (const item of transactions("cust-1001")) {
  count += 1;
  // Amounts are text, so that no digit is lost: do not make numbers of them.
  console.log(item.conversionId, item.createdAt, item.from.amount, item.from.currency);
}
if (count === 0) console.log("no conversions");
