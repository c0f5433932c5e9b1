// Prints all transactions of a user, newest first. The pages are requested one after the other.
import { items, path, signedFetch } from "./psi.mjs";

let count = 0;
for await (const item of items(signedFetch(), path("users", "cust-1001", "transactions"))) {
  count += 1;
  // Amounts are strings, so that no digit is lost: do not convert them to numbers.
  console.log(item.conversionId, item.createdAt, item.from.amount, item.from.currency);
}
if (count === 0) console.log("no conversions");
