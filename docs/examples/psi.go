// Signs requests to the Partner Service Interface and sends them. Go 1.19 or newer, no packages.
//
//	export PSI_BASE_URL=https://partners.example PSI_API_KEY=psi_test_key_… PSI_SECRET=psi_test_secret_…
//	go run psi.go GET /v1/ping
//	go run psi.go PATCH /v1/users/cust-1001 '{"city": "Ottawa"}'
//
// The status goes to standard error, the body to standard output: redirect it with `>` to save it.
package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

var errNotUTF8 = errors.New("path and query, percent-decoded, must be UTF-8")

var escape = regexp.MustCompile("%[0-9A-Fa-f]{2}")

var baseURL = regexp.MustCompile(`^(?i)https?://[^/?#@\\\s]+(/[^?#\\\s]*)?$`)

// client follows no redirects, which could take the key to another host.
var client = http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// CanonicalRequest returns the six lines to sign. The target is the path from /v1 on with its query, as sent;
// it must be UTF-8.
func CanonicalRequest(method, target, timestamp, idempotencyKey, body string) (string, error) {
	path, query, _ := strings.Cut(target, "?")
	path, err := encode(path)
	if err != nil {
		return "", err
	}
	query, err = canonicalQuery(query)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(body))
	lines := []string{
		method,
		strings.ReplaceAll(path, "%2F", "/"),
		query,
		timestamp,
		idempotencyKey,
		hex.EncodeToString(digest[:]),
	}
	return strings.Join(lines, "\n"), nil
}

func canonicalQuery(query string) (string, error) {
	var pairs []string
	for _, piece := range strings.Split(query, "&") {
		if piece == "" {
			continue
		}
		name, value, _ := strings.Cut(strings.ReplaceAll(piece, "+", "%20"), "=")
		name, err := encode(name)
		if err != nil {
			return "", err
		}
		value, err = encode(value)
		if err != nil {
			return "", err
		}
		pairs = append(pairs, name+" "+value)
	}
	// A space sorts before every character of an encoded name: by name, then by value.
	sort.Strings(pairs)
	return strings.ReplaceAll(strings.Join(pairs, "&"), " ", "="), nil
}

// encode percent-decodes a text and encodes it again: all but A-Z a-z 0-9 - . _ ~.
func encode(text string) (string, error) {
	decoded := escape.ReplaceAllStringFunc(text, func(found string) string {
		value, _ := hex.DecodeString(found[1:])
		return string(value)
	})
	if !utf8.ValidString(decoded) {
		return "", errNotUTF8
	}
	return strings.ReplaceAll(url.QueryEscape(decoded), "+", "%20"), nil
}

// Sign returns the signature: the hex HMAC-SHA256 under the secret as issued.
func Sign(secret, canonical string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(canonical))
	return hex.EncodeToString(mac.Sum(nil))
}

// Send signs a request and sends it; an error status is returned too. The target is percent-encoded; the body
// is JSON, sent as it is signed. A write gets a new Idempotency-Key by default.
func Send(method, target, body, idempotencyKey string) (*http.Response, error) {
	for _, name := range []string{"PSI_BASE_URL", "PSI_API_KEY", "PSI_SECRET"} {
		if os.Getenv(name) == "" {
			return nil, errors.New(name + " is not set")
		}
	}
	base := strings.TrimRight(os.Getenv("PSI_BASE_URL"), "/")
	if !baseURL.MatchString(base) || strings.HasSuffix(base, "/v1") {
		return nil, errors.New("PSI_BASE_URL is not like https://partners.example: no /v1, ?, #, user name or password")
	}
	isWrite := method == http.MethodPost || method == http.MethodPatch
	if idempotencyKey == "" && isWrite {
		idempotencyKey = newUUID()
	}
	timestamp := time.Now().UTC().Format(time.RFC3339Nano)
	canonical, err := CanonicalRequest(method, target, timestamp, idempotencyKey, body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, base+target, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", os.Getenv("PSI_API_KEY"))
	request.Header.Set("X-Request-Timestamp", timestamp)
	request.Header.Set("X-Request-Signature", Sign(os.Getenv("PSI_SECRET"), canonical))
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	if isWrite {
		request.Header.Set("Content-Type", "application/json")
	}
	return client.Do(request)
}

func newUUID() string {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	random[6] = random[6]&0x0f | 0x40
	random[8] = random[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", random[:4], random[4:6], random[6:8], random[8:10], random[10:])
}

// Command line: sends one request and writes the response. Exit status 0 for a 2xx.
func main() {
	if len(os.Args) < 3 {
		fail("usage: go run psi.go METHOD PATH [JSON]")
	}
	response, err := Send(os.Args[1], os.Args[2], strings.Join(os.Args[3:], ""), os.Getenv("PSI_IDEMPOTENCY_KEY"))
	if err != nil {
		fail(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		fail(err)
	}
	fmt.Fprintln(os.Stderr, response.StatusCode)
	if _, err := os.Stdout.Write(body); err != nil {
		fail(err)
	}
	fmt.Fprintln(os.Stderr)
	if response.StatusCode/100 != 2 {
		os.Exit(1)
	}
}

func fail(reason any) {
	fmt.Fprintln(os.Stderr, reason)
	os.Exit(1)
}
