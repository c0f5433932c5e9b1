"""Step 9: add a webhook, have a test sent to it, verify what arrives, and remove the webhook."""

import os
import subprocess
import sys
import time

import httpx

import psi

url, client = psi.setting("PSI_WEBHOOK_URL"), httpx.Client(**psi.options())

# The secret is shown this once, in a response that is not stored: no Idempotency-Key.
added = psi.send(client, "POST", "/v1/sandbox/webhooks", json={"url": url}, idempotency_key="").json()
webhook = psi.path("sandbox", "webhooks", added["webhookId"])
print(f"webhook {added['webhookId']} is {added['state']}", flush=True)

settings = os.environ | {"PSI_WEBHOOK_SECRET": added["secret"]}
receiver = subprocess.Popen([sys.executable, "receive_webhook.py"], env=settings)
try:
    for _ in range(5):
        result = psi.send(client, "POST", f"{webhook}/test", json={}).json()
        if result["status"] == 204:
            break
        time.sleep(1)  # the receiver may still be starting
    print(f"test: status {result['status'] or 'none'}, error {result['error'] or 'none'}")
finally:
    psi.send(client, "DELETE", webhook)
    receiver.terminate()
print("webhook removed")
sys.exit(result["status"] != 204)
