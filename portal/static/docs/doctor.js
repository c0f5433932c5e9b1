// The diagnosis without a page load, and the test of a secret, which must not leave the browser.

const SECRET_PREFIX = /psi_(?:test_)?secret_/i;
const SECRET_AS_KEY = /X[-_]Api[-_]Key['"]?\s*[:=]\s*['"]?psi_(?:test_)?secret_/i;
const KINDS = {key: /psi_(test_)?key_/, secret: /psi_(test_)?secret_/};
const form = document.getElementById("question");
const encoder = new TextEncoder();

// --- The form ---

function showRefusal(text) {
  const note = document.createElement("div");
  note.className = "note bad";
  note.setAttribute("role", "alert");
  note.append(Object.assign(document.createElement("p"), {textContent: text}));
  document.getElementById("result").replaceChildren(note);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const data = new URLSearchParams(new FormData(form));
  if ([...data.values()].some((text) => SECRET_PREFIX.test(text))) {
    const exchanged = [...data.values()].some((text) => SECRET_AS_KEY.test(text));
    showRefusal("Not sent: the text contains a secret. Remove it and, unless it is a test secret, rotate that key."
      + (exchanged ? " X-Api-Key holds it: key and secret are exchanged." : ""));
    return;
  }
  const button = form.querySelector("[type=submit]");
  button.disabled = true;
  try {
    const response = await fetch(form.action, {method: "POST", body: data});
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const result = page.getElementById("result");
    if (!result) throw new Error("unexpected response");
    document.getElementById("result").replaceWith(document.adoptNode(result));
    document.dispatchEvent(new CustomEvent("docs:added", {detail: result}));
    document.getElementById("tried").replaceChildren();
    result.focus({preventScroll: true});
    result.scrollIntoView({block: "start"});
  } catch {
    showRefusal("The doctor cannot be reached. Try again in a moment.");
  } finally {
    button.disabled = false;
  }
});

const fill = document.getElementById("fill");
fill.hidden = false;
fill.addEventListener("click", () => {
  const [request, canonical] = document.querySelectorAll("#example pre");
  form.elements.request.value = request.textContent;
  form.elements.canonicalRequest.value = canonical.textContent;
  form.elements.request.focus();
});

// --- A test secret ---

const secret = document.getElementById("secret");
const tried = document.getElementById("tried");
const AS_ISSUED = "the secret as issued";

function fromHex(text) {
  if (!/^([0-9a-f]{2})+$/i.test(text)) return null;
  return Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
}

function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}

// What files and editors leave around a secret.
const SURROUNDINGS = [
  ["a line feed at its end", "", "\n"],
  ["a carriage return at its end", "", "\r"],
  ["CRLF at its end", "", "\r\n"],
  ["a blank at its end", "", " "],
  ["a blank before it", " ", ""],
  ["a tab at its end", "", "\t"],
  ["a tab before it", "\t", ""],
  ["a byte order mark before it", "\ufeff", ""],
];

// Possible keys of the HMAC: the first is right, the others are mistakes.
function keysOf(text) {
  const [prefix] = text.match(/^psi_(?:test_)?secret_/) ?? [""];
  const bare = text.slice(prefix.length);
  return [
    [AS_ISSUED, encoder.encode(text)],
    ...SURROUNDINGS.map(([what, before, after]) => [
      `the secret with ${what}`, encoder.encode(before + text + after),
    ]),
    [`the secret without ${prefix}`, bare === text ? null : encoder.encode(bare)],
    ["the secret decoded from Base64", fromBase64(bare)],
    ["the secret decoded from hex", fromHex(bare)],
    // An unset variable. HMAC pads keys with zeros, and browsers refuse empty ones.
    ["an empty secret", new Uint8Array(1)],
  ].filter(([, bytes]) => bytes?.length);
}

async function sign(bytes, text) {
  const key = await crypto.subtle.importKey("raw", bytes, {name: "HMAC", hash: "SHA-256"}, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return Array.from(signature, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function findMatch(text, signature, candidates) {
  for (const [secretForm, bytes] of keysOf(text)) {
    for (const candidate of candidates) {
      const fits = await sign(bytes, JSON.parse(candidate.dataset.canonical)) === signature;
      if (fits) return {secretForm, candidate, isIssued: secretForm === AS_ISSUED};
    }
  }
  return null;
}

function show(kind, title, text) {
  const note = document.createElement("div");
  note.className = `note ${kind}`;
  const strong = Object.assign(document.createElement("strong"), {textContent: title});
  const line = document.createElement("p");
  line.append(strong, ` ${text}`);
  note.append(line);
  tried.replaceChildren(note);
}

function showMatch({secretForm, candidate, isIssued}) {
  const isRight = candidate.dataset.cause === "correct";
  const what = `The signature you sent is that of “${candidate.textContent}” under ${secretForm}.`;
  if (isRight && isIssued && document.querySelector("#result li.error, #result li.warning")) {
    show("good", "The signature is right.", `${what} See the findings above for other mistakes.`);
  } else if (isRight && isIssued) {
    show("good", "The signature is right.", `${what} A 401 then means that the key is not valid or belongs to`
      + " another secret, or that a proxy changed the request.");
  } else if (isRight) {
    show("bad", "The HMAC key is wrong.", `${what} Use the secret as issued, prefix included, as UTF-8 bytes.`);
  } else {
    show("bad", "The canonical request is wrong.", `${what} Sign our canonical request${isIssued ? "" : " with the secret as issued"}.`);
  }
}

async function trySecret() {
  const {signature} = document.getElementById("result").dataset;
  const candidates = [...document.querySelectorAll("#candidates [data-canonical]")];
  if (!candidates.length) return show("warning", "There is no request.", "Diagnose a request first.");
  if (!signature) return show("warning", "There is no signature.", "The request has no valid X-Request-Signature.");
  if (!secret.value) return show("warning", "There is no secret.", "Type a test secret first.");
  const match = await findMatch(secret.value, signature, candidates);
  if (match) return showMatch(match);
  const [ofKey, ofSecret] = [KINDS.key.exec(form.elements.request.value), KINDS.secret.exec(secret.value)];
  if (ofKey && ofSecret && ofKey[1] !== ofSecret[1]) {
    const [here, there] = ofKey[1] ? ["a sandbox key", "a live one"] : ["a live key", "a sandbox one"];
    return show("bad", "Key and secret do not belong together.", `The request has ${here}, and the secret is ${there}.`);
  }
  return show("warning", "No match.", `None of ${candidates.length} canonical requests has your signature under this secret.`
    + " The secret is another one, or the canonical request differs in another way: paste yours too.");
}

document.getElementById("try-not").hidden = true;
document.getElementById("try-form").hidden = false;
if (globalThis.crypto?.subtle) {
  document.getElementById("try-button").addEventListener("click", trySecret);
  secret.addEventListener("keydown", (event) => { if (event.key === "Enter") trySecret(); });
  // Also when the browser keeps the page for its Back button.
  addEventListener("pagehide", () => { secret.value = ""; });
} else {
  secret.disabled = document.getElementById("try-button").disabled = true;
  show("warning", "Not available.", "Browsers compute signatures in secure contexts (https:// or localhost) only.");
}
