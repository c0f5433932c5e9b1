// Signs what it reads with psi.go. How drivers talk is said in tests/examples/languages.py.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A program has one main, and psi.go has it: this runs before.
func init() {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	fields := strings.Split(string(input), "\x00")
	secret := fields[0]
	for fields = fields[1:]; len(fields) > 5; fields = fields[5:] {
		canonical, err := CanonicalRequest(fields[0], fields[1], fields[2], fields[3], fields[4])
		switch {
		case errors.Is(err, errNotUTF8):
			fmt.Print("refused\x00\x00")
		case err != nil:
			fail(err)
		default:
			fmt.Printf("%s\x00%s\x00", canonical, Sign(secret, canonical))
		}
	}
	os.Exit(0)
}
