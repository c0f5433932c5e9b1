// Signs as Node.js programs do that make mistakes. Input: the request as JSON; output: signatures by name.
import {createHash, createHmac} from "node:crypto";

const sent = JSON.parse(process.argv[2]);
const [method, path, query, timestamp, key, digest] = sent.lines;
const url = new URL(sent.target, "http://testserver");
const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const hmac = (text, secret = sent.secret) => createHmac("sha256", secret).update(text);
const sign = (...lines) => hmac(lines.join("\n")).digest("hex");
const body = JSON.parse(sent.body);

console.log(JSON.stringify({
  "method:axios": sign(method.toLowerCase(), path, query, timestamp, key, digest),
  "path:decodeURIComponent": sign(method, decodeURIComponent(path), query, timestamp, key, digest),
  "path:encodeURI": sign(method, encodeURI(decodeURIComponent(path)), query, timestamp, key, digest),
  "path:encodeURIComponent": sign(method, decodeURIComponent(path).split("/").map(encodeURIComponent).join("/"), query, timestamp, key, digest),
  "path:href": sign(method, url.href.split("?")[0], query, timestamp, key, digest),
  "path:pathname+search": sign(method, path + url.search, "", timestamp, key, digest),
  "query:search": sign(method, path, url.search, timestamp, key, digest),
  "query:URLSearchParams": sign(method, path, (url.searchParams.sort(), url.searchParams.toString()), timestamp, key, digest),
  "query:encodeURIComponent": sign(method, path, [...url.searchParams].map((pair) => pair.map(encodeURIComponent).join("=")).sort().join("&"), timestamp, key, digest),
  "query:decoded": sign(method, path, [...url.searchParams].map((pair) => pair.join("=")).join("&"), timestamp, key, digest),
  "timestamp:Date.now": sign(method, path, query, String(new Date(timestamp).getTime()), key, digest),
  "timestamp:again": sign(method, path, query, new Date(new Date(timestamp).getTime() + 1).toISOString(), key, digest),
  "idempotencyKey:missing": sign(method, path, query, timestamp, "", digest),
  "body:JSON.stringify": sign(method, path, query, timestamp, key, sha256(JSON.stringify(body))),
  "body:indented": sign(method, path, query, timestamp, key, sha256(JSON.stringify(body, null, 2))),
  "body:base64": sign(method, path, query, timestamp, key, createHash("sha256").update(sent.body).digest("base64")),
  "body:empty": sign(method, path, query, timestamp, key, sha256("")),
  "body:string": sign(method, path, query, timestamp, key, sha256(JSON.stringify(sent.body))),
  "lineBreaks:os.EOL of Windows": hmac(sent.lines.join("\r\n")).digest("hex"),
  "lineBreaks:comma": hmac(sent.lines.join("")).digest("hex"),
  "secret:Buffer": createHmac("sha256", Buffer.from(sent.secret.slice("psi_test_secret_".length), "base64url")).update(sent.lines.join("\n")).digest("hex"),
  "secret:unset": createHmac("sha256", "").update(sent.lines.join("\n")).digest("hex"),
  "secret:hash": sha256(sent.lines.join("\n")),
  "signatureFormat:base64": hmac(sent.lines.join("\n")).digest("base64"),
}));
