"""`python3 -m psi GET /v1/ping`."""

from psi import main

main()
