#!/usr/bin/env bash
# The first call: who the service takes you for, and its clock.
source ./psi.sh

psi_send GET /v1/ping || exit
echo "$psi_status $psi_body"
