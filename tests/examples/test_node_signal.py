"""The client for Node.js ends at once, with the signal's reason, when the program aborts."""

from tests.examples.calling import Access
from tests.examples.gateway import Gateway
from tests.examples.languages import NODE, Workshop

PROGRAM = """
import { createServer } from "node:net";
import { Client } from "./psi.mjs";

const reason = new Error("enough");
const outcome = (promise) => promise.then(() => "a result", (error) => error.message);
const client = new Client();

console.log(await outcome(client.ping({ signal: AbortSignal.abort(reason) })));

// While there is no response.
const waiting = new AbortController();
const silent = createServer(() => waiting.abort(reason)).listen(0, "127.0.0.1", async () => {
  const silentClient = new Client({ baseUrl: `http://127.0.0.1:${silent.address().port}` });
  console.log(await outcome(silentClient.createUser({}, { signal: waiting.signal })));

  // Before the next attempt: the gateway's Retry-After is half a minute.
  console.log(await outcome(client.ping({ signal: aborting() })));

  // Between two looks for events.
  const read = async () => {
    for await (const event of client.events(null, { pollMs: 60_000, signal: aborting() })) console.log(event.type);
  };
  console.log(await outcome(read()));
  process.exit();
});

function aborting() {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 500);
  return controller.signal;
}
"""


def test_a_request_and_the_pauses_end_with_the_reason_of_the_signal(
    place: Workshop, access: Access, gateway: Gateway
) -> None:
    gateway.faults, gateway.retry_after = [503], 30
    through = Access(gateway.url, access.api_key, access.secret)
    command = ("node", "--input-type=module", "--eval", PROGRAM)
    done = place.built(NODE).run(command, through.environment())
    assert (done.stdout.decode(), done.stderr.decode()) == ("enough\n" * 4, "")
