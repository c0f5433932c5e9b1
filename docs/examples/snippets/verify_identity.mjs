// Records how a user's identity was verified, and lists the records: numbers are not given back.
import { path, send, signedFetch } from "./psi.mjs";

const json = {
  method: "photoDocument",
  verifiedOn: "2026-01-15",
  documentType: "driversLicence",
  documentNumber: "B1234-56789-01234",
  issuingCountry: "CA",
  issuingSubdivision: "ON",
  expiresOn: "2031-04-30",
};
const client = signedFetch();
const target = `${path("users", "cust-1001")}/verifications`;
await send(client, "POST", target, { json });
const { items } = await (await send(client, "GET", target)).json();
for (const { verifiedOn, method, expiresOn } of items) {
  console.log(verifiedOn, method, `until ${expiresOn ?? "no date"}`);
}
