<?php

// Signs requests to the Partner Service Interface and sends them. PHP 8.0 or newer, no packages.
//
//     export PSI_BASE_URL=https://partners.example PSI_API_KEY=psi_test_key_… PSI_SECRET=psi_test_secret_…
//     php psi.php GET /v1/ping
//     php psi.php PATCH /v1/users/cust-1001 '{"city": "Ottawa"}'
//
// The status goes to standard error, the body to standard output: redirect it with `>` to save it.

declare(strict_types=1);

namespace Psi;

/**
 * Returns the canonical request, the six lines to sign.
 *
 * @param string $target the path from /v1 on with its query, as sent
 * @throws \UnexpectedValueException if it is not UTF-8
 */
function canonical_request(
    string $method,
    string $target,
    string $timestamp,
    string $idempotencyKey,
    string $body,
): string {
    [$path, $query] = explode('?', $target, 2) + [1 => ''];
    return implode("\n", [
        $method,
        str_replace('%2F', '/', encode($path)),
        canonical_query($query),
        $timestamp,
        $idempotencyKey,
        hash('sha256', $body),
    ]);
}

function canonical_query(string $query): string
{
    $pairs = [];
    foreach (array_filter(explode('&', $query), 'strlen') as $piece) {
        [$name, $value] = explode('=', str_replace('+', '%20', $piece), 2) + [1 => ''];
        $pairs[] = encode($name) . ' ' . encode($value);
    }
    // A space sorts before every character of an encoded name: by name, then by value.
    sort($pairs, SORT_STRING);
    return str_replace(' ', '=', implode('&', $pairs));
}

/** Percent-decodes a text and encodes it again: all but A-Z a-z 0-9 - . _ ~. */
function encode(string $text): string
{
    $decoded = rawurldecode($text);
    if (!preg_match('//u', $decoded)) {
        throw new \UnexpectedValueException('path and query, percent-decoded, must be UTF-8');
    }
    return rawurlencode($decoded);
}

/** Returns the signature: the hex HMAC-SHA256 under the secret as issued. */
function sign(string $secret, string $canonical): string
{
    return hash_hmac('sha256', $canonical, $secret);
}

/**
 * Signs a request and sends it; an error status is returned too.
 *
 * @param string $target percent-encoded
 * @param string $body JSON, sent as it is signed, byte for byte
 * @param string $idempotencyKey by default a new one for a write
 * @return array{status: int, headers: string[], body: string}
 * @throws \RuntimeException if there is no whole response
 */
function send(string $method, string $target, string $body = '', string $idempotencyKey = ''): array
{
    $baseUrl = rtrim(setting('PSI_BASE_URL'), '/');
    if (!preg_match('~^https?://[^/?#@\\\\\s]+(/[^?#\\\\\s]*)?$~Di', $baseUrl) || str_ends_with($baseUrl, '/v1')) {
        throw new \RuntimeException('PSI_BASE_URL is not like https://partners.example: no /v1, ?, #, user name or password');
    }
    $isWrite = in_array($method, ['POST', 'PATCH'], true);
    $key = $idempotencyKey ?: ($isWrite ? uuid() : '');
    $timestamp = gmdate('Y-m-d\TH:i:s\Z');
    $canonical = canonical_request($method, $target, $timestamp, $key, $body);
    $headers = [
        'X-Api-Key: ' . setting('PSI_API_KEY'),
        'X-Request-Timestamp: ' . $timestamp,
        'X-Request-Signature: ' . sign(setting('PSI_SECRET'), $canonical),
        ...($key ? ["Idempotency-Key: $key"] : []),
        ...($isWrite ? ['Content-Type: application/json'] : []),
    ];
    $stream = @fopen($baseUrl . $target, 'r', false, stream_context_create(['http' => [
        'method' => $method,
        'header' => $headers,
        'content' => $body,
        'timeout' => 30,
        'ignore_errors' => true, // an error's body is wanted too
        'follow_location' => 0, // a redirect would take the key to somebody else
    ]]));
    if ($stream === false) {
        throw new \RuntimeException('no response: ' . error_get_last()['message']);
    }
    $head = stream_get_meta_data($stream)['wrapper_data'];
    $body = stream_get_contents($stream);
    // PHP reports no error if the connection breaks.
    if (preg_match('/^Content-Length: *(\d+)/im', implode("\n", $head), $length) && strlen($body) < (int) $length[1]) {
        throw new \RuntimeException('the response broke off');
    }
    return ['status' => (int) explode(' ', $head[0])[1], 'headers' => $head, 'body' => $body];
}

function setting(string $name): string
{
    return getenv($name) ?: throw new \RuntimeException("$name is not set");
}

function uuid(): string
{
    $hex = bin2hex(random_bytes(16));
    return preg_replace('/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/', '$1-$2-4$3-a$4-$5', $hex);
}

// Command line: sends one request and writes the response. Exit status 0 for a 2xx.
if (PHP_SAPI === 'cli' && realpath($argv[0]) === __FILE__) {
    if ($argc < 3) {
        fwrite(STDERR, "usage: php psi.php METHOD PATH [JSON]\n");
        exit(1);
    }
    try {
        $response = send($argv[1], $argv[2], $argv[3] ?? '', getenv('PSI_IDEMPOTENCY_KEY') ?: '');
    } catch (\RuntimeException $error) {
        fwrite(STDERR, $error->getMessage() . "\n");
        exit(1);
    }
    fwrite(STDERR, $response['status'] . "\n");
    echo $response['body'];
    fwrite(STDERR, "\n");
    exit($response['status'] >= 200 && $response['status'] < 300 ? 0 : 1);
}
