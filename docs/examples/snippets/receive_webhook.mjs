// Receives webhooks and verifies them.
//
//     export PSI_WEBHOOK_SECRET=whsec_… PORT=8080
//     export TLS_CERT=cert.pem TLS_KEY=key.pem # for HTTPS; not behind an HTTPS server
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { setting, verifyWebhook, WebhookError } from "./psi.mjs";

const MAX_BODY = 64 * 1024;
const { PORT = "8080", TLS_CERT, TLS_KEY } = process.env;
// While you change from one secret to the next, put both here: either verifies.
const secrets = [setting("PSI_WEBHOOK_SECRET")];
// In place of your database: what was received, by webhook-id.
const received = new Map();

// Stores an event at once, and leaves what it causes to another process: the service waits 15 seconds.
async function receive(request) {
  if (request.method !== "POST") return 405;
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) return 413;
    chunks.push(chunk);
  }
  let event;
  try {
    // The bytes as they were sent, not JSON that was parsed and written again.
    event = verifyWebhook(Buffer.concat(chunks), request.headers, secrets);
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    return 401;
  }
  // An event may come more than once, and later than a newer one of the same user: keep the greatest updatedAt.
  if (!received.has(request.headers["webhook-id"])) {
    received.set(request.headers["webhook-id"], event);
    console.log(event.type, event.data.externalId ?? "");
  }
  return 204;
}

async function respond(request, response) {
  const status = await receive(request).catch(() => 500);
  response.writeHead(status).end();
}

const server = TLS_CERT
  ? createHttpsServer({ cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) }, respond)
  : createServer(respond);
server.listen(Number(PORT), "127.0.0.1");
