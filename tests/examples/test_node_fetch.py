"""The client for Node.js tells what a fetch of the program's own rejects with."""

import json

from tests.examples.languages import NODE, Workshop

PROGRAM = """
import { Client } from "./psi.mjs";

const failed = (message, code) => new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });
const errors = [
  // The agents of undici, for TLS and without; Node's fetch, whose error has no text then.
  failed("Proxy response (407) !== 200 when HTTP Tunneling", "UND_ERR_ABORTED"),
  failed("Proxy Authentication Required (407)", "UND_ERR_INVALID_ARG"),
  failed(""),
  failed("Proxy response (403) !== 200 when HTTP Tunneling", "UND_ERR_ABORTED"),
  failed("", "ECONNREFUSED"),
  new TypeError("fetch failed"),
  new Error(),
];
const settings = { baseUrl: "https://partners.example", apiKey: "key", secret: "secret", attempts: 1 };
const seen = [];
for (const error of errors) {
  const fetch = async () => { throw error; };
  const client = new Client({ ...settings, fetch });
  await client.createUser({}).catch((raised) => seen.push([raised.name, raised.isTemporary]));
}
console.log(JSON.stringify(seen));
"""


def test_only_a_407_of_a_proxy_is_a_wrong_configuration(place: Workshop) -> None:
    done = place.built(NODE).run(("node", "--input-type=module", "--eval", PROGRAM))
    assert done.stderr.decode() == ""
    assert json.loads(done.stdout) == [["ConfigurationError", False]] * 3 + [["NoResponseError", True]] * 4
