import static java.nio.charset.StandardCharsets.UTF_8;

/** Signs what it reads with Psi.java. How drivers talk is said in tests/examples/languages.py. */
final class Vectors {
    public static void main(String[] arguments) throws Exception {
        // Java's split drops what is empty at the end unless told not to.
        String[] fields = new String(System.in.readAllBytes(), UTF_8).split("\0", -1);
        var signed = new StringBuilder();
        for (int i = 1; i + 5 < fields.length; i += 5) {
            byte[] body = fields[i + 4].getBytes(UTF_8);
            try {
                String canonical = Psi.canonicalRequest(fields[i], fields[i + 1], fields[i + 2], fields[i + 3], body);
                signed.append(canonical + "\0" + Psi.sign(fields[0], canonical) + "\0");
            } catch (IllegalArgumentException notUtf8) {
                signed.append("refused\0\0");
            }
        }
        System.out.write(signed.toString().getBytes(UTF_8));
        System.out.flush();
    }
}
