#!/usr/bin/env bash
# The first call: prints the partner of the key and the service's time.
source ./psi.sh

psi_send GET /v1/ping || exit
echo "$psi_status $psi_body"
