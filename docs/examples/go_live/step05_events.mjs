// Step 5: read the events until the approval.
import { follow } from "./psi_events.mjs";

await follow(({ data }) => data.externalId === process.env.EXTERNAL_ID && data.status === "active");
