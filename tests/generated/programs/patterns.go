// Compiles the regular expressions that it reads, each ended by a NUL.
package main

import (
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	text, _ := io.ReadAll(os.Stdin)
	for _, pattern := range strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00") {
		regexp.MustCompile(pattern)
	}
}
