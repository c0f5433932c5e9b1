// Prints all transactions of a user, newest first. The client requests the pages, one after the other.
import { Client } from "./psi.mjs";

let count = 0;
for await (const item of new Client().transactions("cust-1001")) {
  count += 1;
  // Amounts are strings, so that no digit is lost: do not convert them to numbers.
  console.log(item.conversionId, item.createdAt, item.from.amount, item.from.currency);
}
if (count === 0) console.log("no conversions");
