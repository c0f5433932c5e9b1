// Step 5: read the events until the approval.
import { setting, signedFetch } from "./psi.mjs";
import { follow } from "./psi_events.mjs";

const user = setting("EXTERNAL_ID");
await follow(signedFetch(), ({ data }) => data.externalId === user && data.status === "active");
