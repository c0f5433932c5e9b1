"""Step 9: add a webhook, have a test sent to it, verify what arrives, and remove the webhook."""

import os
import subprocess
import sys
import time

import psi

url, client = psi.setting("PSI_WEBHOOK_URL"), psi.Client()

# The secret is shown this once, in a response that is not stored: no Idempotency-Key.
added = client.sandbox.add_webhook({"url": url})
webhook = added["webhookId"]
print(f"webhook {webhook} is {added['state']}", flush=True)

settings = os.environ | {"PSI_WEBHOOK_SECRET": added["secret"]}
receiver = subprocess.Popen([sys.executable, "receive_webhook.py"], env=settings)
try:
    for _ in range(5):
        result = client.sandbox.test_webhook(webhook)
        if result["status"] == 204:
            break
        time.sleep(1)  # the receiver may still be starting
    print(f"test: status {result['status'] or 'none'}, error {result['error'] or 'none'}")
finally:
    client.sandbox.remove_webhook(webhook)
    receiver.terminate()
print("webhook removed")
sys.exit(result["status"] != 204)
