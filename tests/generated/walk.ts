// Walks the sandbox with openapi-fetch and the types that openapi-typescript makes from the description.
// Compiled in strict mode: what the description says wrongly does not compile.

import createClient from "openapi-fetch";
import { deepStrictEqual as equal } from "node:assert";
import { randomUUID } from "node:crypto";
import { signedFetch } from "./psi.mjs";
import type { components, paths } from "./types.js";

const { PSI_BASE_URL } = process.env;
const client = createClient<paths>({ baseUrl: PSI_BASE_URL, fetch: signedFetch() });

// The data of a success; an error ends the program.
function succeeded<T>({ data, error }: { data?: T; error?: { error: string; message: string } }): T {
  if (data === undefined) throw new Error(`${error?.error}: ${error?.message}`);
  return data;
}

const ping = succeeded(await client.GET("/v1/ping"));
equal(ping.mode, "sandbox");

const externalId = "Zoë 1";
const user: components["schemas"]["NewUser"] = {
  externalId,
  email: "zoe@example.com",
  firstName: "Zoë",
  lastName: "Byron",
  dateOfBirth: "1990-12-10",
  addressLine1: "100 King St W",
  city: "Toronto",
  postalCode: "M5X 1A9",
  province: "ON",
  country: "CA",
  occupation: "Engineer",
  isCiroAffiliate: false,
};

const refused = await client.POST("/v1/users", { body: { ...user, postalCode: "K1A" } });
if (refused.error?.error !== "bad_request") throw new Error("not refused");
equal(refused.error.fieldErrors.map(({ field, code }) => [field, code]), [["postalCode", "format"]]);

const key = randomUUID();
const create = () => client.POST("/v1/users", { params: { header: { "Idempotency-Key": key } }, body: user });
const created = succeeded(await create());
equal(created.status, "pendingCompliance");
const again = await create();
equal([again.data, again.response.headers.get("Idempotent-Replayed")], [created, "true"]);

const write = succeeded(
  await client.GET("/v1/idempotency-keys/{idempotencyKey}", { params: { path: { idempotencyKey: key } } }),
);
equal([write.method, write.path, write.status], ["POST", "/v1/users", 201]);

const params = { path: { externalId } };
const decided = succeeded(
  await client.POST("/v1/sandbox/users/{externalId}/status", { params, body: { status: "active" } }),
);
equal(decided.status, "active");
const conflict = await client.POST("/v1/sandbox/users/{externalId}/status", { params, body: { status: "rejected" } });
equal([conflict.response.status, conflict.error?.error], [409, "conflict"]);

const conversion = {
  conversionId: "cv-1",
  createdAt: "2025-01-01T00:00:00Z",
  from: { currency: "CAD", amount: "100.00" },
  to: { currency: "USD", amount: "71.50" },
  rate: "0.715",
};
const recorded = succeeded(
  await client.POST("/v1/sandbox/users/{externalId}/transactions", { params, body: { items: [conversion] } }),
);
const page = succeeded(
  await client.GET("/v1/users/{externalId}/transactions", { params: { ...params, query: { limit: 1 } } }),
);
equal([page.items, page.nextCursor], [recorded.items, null]);

const document = succeeded(
  await client.POST("/v1/sandbox/users/{externalId}/documents", { params, body: { type: "taxSlip", title: "T5" } }),
);
const file = succeeded(
  await client.GET("/v1/users/{externalId}/documents/{documentId}", {
    params: { path: { externalId, documentId: document.documentId } },
    parseAs: "arrayBuffer",
  }),
);
equal(Buffer.from(file as ArrayBuffer).subarray(0, 5).toString(), "%PDF-");

const users = succeeded(await client.GET("/v1/users", { params: { query: { status: "active" } } }));
equal(users.items.map((item) => [item.userId, item.updatedAt]), [[created.userId, decided.updatedAt]]);

// Events are in the feed within two seconds.
const events: components["schemas"]["Event"][] = [];
for (let cursor: string | undefined; events.length < 3; ) {
  const part = succeeded(await client.GET("/v1/events", { params: { query: { cursor } } }));
  events.push(...part.items);
  cursor = part.nextCursor;
}
equal(
  events.map(({ type }) => type),
  ["user.statusChanged", "user.transactionsRecorded", "user.documentPublished"],
);
console.log("walked");
