// Signs requests to the Partner Service Interface and sends them. Java 17 or newer, no packages.
//
//     export PSI_BASE_URL=https://partners.example PSI_API_KEY=psi_test_key_… PSI_SECRET=psi_test_secret_…
//     java Psi.java GET /v1/ping
//     java Psi.java PATCH /v1/users/cust-1001 '{"city": "Ottawa"}'
//
// The status goes to standard error, the body to standard output: redirect it with `>` to save it.

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class Psi {
    private static final Pattern ESCAPE = Pattern.compile("%([0-9A-Fa-f]{2})");
    private static final Pattern TO_ENCODE = Pattern.compile("[^A-Za-z0-9\\-._~]");
    private static final Pattern BASE_URL = Pattern.compile("(?i)https?://[^/?#@\\\\\\s]+(/[^?#\\\\\\s]*)?");
    // It follows no redirects, which could take the key to another host.
    private static final HttpClient CLIENT =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(30)).build();

    /**
     * Returns the canonical request, the six lines to sign.
     *
     * @param target the path from /v1 on with its query, as sent
     * @throws IllegalArgumentException if it is not UTF-8
     */
    static String canonicalRequest(String method, String target, String timestamp, String idempotencyKey, byte[] body)
            throws GeneralSecurityException {
        String[] parts = target.split("\\?", 2);
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(body);
        return String.join(
                "\n",
                method,
                encode(parts[0]).replace("%2F", "/"),
                canonicalQuery(parts.length > 1 ? parts[1] : ""),
                timestamp,
                idempotencyKey,
                HexFormat.of().formatHex(digest));
    }

    private static String canonicalQuery(String query) {
        var pairs = new ArrayList<String>();
        for (String piece : query.split("&")) {
            if (!piece.isEmpty()) {
                String[] pair = piece.replace("+", "%20").split("=", 2);
                pairs.add(encode(pair[0]) + " " + encode(pair.length > 1 ? pair[1] : ""));
            }
        }
        // A space sorts before every character of an encoded name: by name, then by value.
        Collections.sort(pairs);
        return String.join("&", pairs).replace(" ", "=");
    }

    /** Percent-decodes a text and encodes it again: all but A-Z a-z 0-9 - . _ ~. */
    private static String encode(String text) {
        // In Latin-1 a character is a byte.
        String sent = new String(text.getBytes(UTF_8), ISO_8859_1);
        String bytes = ESCAPE.matcher(sent)
                .replaceAll(escape -> Matcher.quoteReplacement("" + (char) Integer.parseInt(escape.group(1), 16)));
        try {
            UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes.getBytes(ISO_8859_1)));
        } catch (CharacterCodingException notUtf8) {
            throw new IllegalArgumentException("path and query, percent-decoded, must be UTF-8", notUtf8);
        }
        return TO_ENCODE.matcher(bytes).replaceAll(found -> String.format("%%%02X", (int) found.group().charAt(0)));
    }

    /** Returns the signature: the hex HMAC-SHA256 under the secret as issued. */
    static String sign(String secret, String canonical) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
        return HexFormat.of().formatHex(mac.doFinal(canonical.getBytes(UTF_8)));
    }

    /**
     * Signs a request and sends it; an error status is returned too.
     *
     * @param target percent-encoded
     * @param body JSON, sent as it is signed, byte for byte
     * @param idempotencyKey if null, a new one for a write
     * @throws IOException if there is no whole response
     * @throws IllegalStateException if a setting is missing or malformed
     */
    static HttpResponse<byte[]> send(String method, String target, String body, String idempotencyKey)
            throws GeneralSecurityException, IOException, InterruptedException {
        String baseUrl = setting("PSI_BASE_URL").replaceAll("/+$", "");
        if (!BASE_URL.matcher(baseUrl).matches() || baseUrl.endsWith("/v1")) {
            throw new IllegalStateException(
                    "PSI_BASE_URL is not like https://partners.example: no /v1, ?, #, user name or password");
        }
        boolean isWrite = Set.of("POST", "PATCH").contains(method);
        String key = idempotencyKey != null ? idempotencyKey : isWrite ? UUID.randomUUID().toString() : "";
        String timestamp = Instant.now().toString();
        String canonical = canonicalRequest(method, target, timestamp, key, body.getBytes(UTF_8));
        var request = HttpRequest.newBuilder(URI.create(baseUrl + target))
                .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
                .timeout(Duration.ofSeconds(30))
                .header("X-Api-Key", setting("PSI_API_KEY"))
                .header("X-Request-Timestamp", timestamp)
                .header("X-Request-Signature", sign(setting("PSI_SECRET"), canonical));
        if (!key.isEmpty()) {
            request.header("Idempotency-Key", key);
        }
        if (isWrite) {
            request.header("Content-Type", "application/json");
        }
        return CLIENT.send(request.build(), BodyHandlers.ofByteArray());
    }

    private static String setting(String name) {
        String value = System.getenv(name);
        if (value == null || value.isEmpty()) {
            throw new IllegalStateException(name + " is not set");
        }
        return value;
    }

    /** Command line: sends one request and writes the response. Exit status 0 for a 2xx. */
    public static void main(String[] arguments) throws GeneralSecurityException, InterruptedException {
        if (arguments.length < 2) {
            System.err.println("usage: java Psi.java METHOD PATH [JSON]");
            System.exit(1);
        }
        try {
            String body = arguments.length > 2 ? arguments[2] : "";
            var response = send(arguments[0], arguments[1], body, System.getenv("PSI_IDEMPOTENCY_KEY"));
            System.err.println(response.statusCode());
            System.out.writeBytes(response.body());
            System.out.flush();
            System.err.println();
            System.exit(response.statusCode() / 100 == 2 ? 0 : 1);
        } catch (IOException error) {
            System.err.println("no response: " + error);
        } catch (IllegalArgumentException | IllegalStateException mistake) {
            System.err.println(mistake.getMessage());
        }
        System.exit(1);
    }
}
