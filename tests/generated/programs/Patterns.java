// Compiles the regular expressions that it reads, each ended by a NUL.
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

class Patterns {
    public static void main(String[] arguments) throws Exception {
        String text = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        for (String pattern : text.split("\0")) {
            Pattern.compile(pattern);
        }
    }
}
