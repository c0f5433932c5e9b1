// Reads {"schema", "value"} in lines; writes each value as the generated client does that has read it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	psi "github.com/GIT_USER_ID/GIT_REPO_ID"
)

var models = map[string]func() any{
	// MODELS
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var given struct {
			Schema string
			Value  json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			panic(err)
		}
		model := models[given.Schema]()
		if err := json.Unmarshal(given.Value, model); err != nil {
			fmt.Printf("%q\n", err.Error())
			continue
		}
		written, err := json.Marshal(model)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(written))
	}
}
