// The doctor without a page load, and what must not leave the browser: trying a secret.

const SECRET_PREFIX = "psi_secret_";
const form = document.getElementById("question");
const encoder = new TextEncoder();

// --- The question ---

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
  if ([...data.values()].some((text) => text.toLowerCase().includes(SECRET_PREFIX))) {
    showRefusal("Not sent: there is a secret in what you pasted. Take it out; if it is not a test secret, have that"
      + " key rotated, since whatever was copied once may be copied again.");
    return;
  }
  const button = form.querySelector("[type=submit]");
  button.disabled = true;
  try {
    const answer = await fetch(form.action, {method: "POST", body: data});
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const result = page.getElementById("result");
    if (!result) throw new Error("no answer of the doctor");
    document.getElementById("result").replaceWith(document.adoptNode(result));
    document.dispatchEvent(new CustomEvent("docs:added", {detail: result}));
    document.getElementById("tried").replaceChildren();
    result.focus({preventScroll: true});
    result.scrollIntoView({block: "start"});
  } catch {
    showRefusal("The doctor cannot be reached just now. Try again shortly.");
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

// The bytes that a program may have taken for the key of the HMAC: the first is right, the others are mistakes.
function keysOf(text) {
  const bare = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : text;
  return [
    [AS_ISSUED, encoder.encode(text)],
    ["the secret with a line feed at its end", encoder.encode(`${text}\n`)],
    [`the secret without ${SECRET_PREFIX}`, bare === text ? null : encoder.encode(bare)],
    ["the secret decoded from Base64", fromBase64(bare)],
    ["the secret decoded from hex", fromHex(bare)],
    // An unset variable. HMAC fills keys up with zeros, and browsers take no empty one.
    ["an empty secret", new Uint8Array(1)],
  ].filter(([, bytes]) => bytes?.length);
}

async function sign(bytes, text) {
  const key = await crypto.subtle.importKey("raw", bytes, {name: "HMAC", hash: "SHA-256"}, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return Array.from(signature, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function findFit(text, signature, candidates) {
  for (const [way, bytes] of keysOf(text)) {
    for (const candidate of candidates) {
      const fits = await sign(bytes, JSON.parse(candidate.dataset.canonical)) === signature;
      if (fits) return {way, candidate, isIssued: way === AS_ISSUED};
    }
  }
  return null;
}

function tell(kind, title, text) {
  const note = document.createElement("div");
  note.className = `note ${kind}`;
  const strong = Object.assign(document.createElement("strong"), {textContent: title});
  const line = document.createElement("p");
  line.append(strong, ` ${text}`);
  note.append(line);
  tried.replaceChildren(note);
}

function tellFit({way, candidate, isIssued}) {
  const isRight = candidate.dataset.cause === "correct";
  const what = `The signature you sent is that of “${candidate.textContent}” under ${way}.`;
  if (isRight && isIssued && document.querySelector("#result li.error, #result li.warning")) {
    tell("good", "The signature is right.", `${what} See the findings above for what else is wrong.`);
  } else if (isRight && isIssued) {
    tell("good", "The signature is right.", `${what} A 401 then means that the key is not in force, belongs to another`
      + " secret, or that the request was changed on its way.");
  } else if (isRight) {
    tell("bad", "The key of the HMAC is wrong.", `${what} Use the secret as issued: its text, prefix included, as UTF-8 bytes.`);
  } else {
    tell("bad", "Found:", `${what} Sign our canonical request${isIssued ? "" : ", with the secret as issued,"} instead.`);
  }
}

async function trySecret() {
  const {signature} = document.getElementById("result").dataset;
  const candidates = [...document.querySelectorAll("#candidates [data-canonical]")];
  if (!candidates.length) return tell("warning", "Examine a request first.", "Then its signature can be tried.");
  if (!signature) return tell("warning", "There is no signature.", "The request has no X-Request-Signature that holds the 32 bytes of one.");
  if (!secret.value) return tell("warning", "Type a test secret first.", "");
  const fit = await findFit(secret.value, signature, candidates);
  if (fit) return tellFit(fit);
  return tell("warning", "Nothing fits.", `None of ${candidates.length} canonical requests gives the signature you sent under this secret,`
    + " in any form. It is another secret, or what was signed differs in a way that the doctor does not know: paste your canonical request too.");
}

document.getElementById("try-not").hidden = true;
document.getElementById("try-form").hidden = false;
if (globalThis.crypto?.subtle) {
  document.getElementById("try-button").addEventListener("click", trySecret);
  secret.addEventListener("keydown", (event) => { if (event.key === "Enter") trySecret(); });
  // Nor for who comes back by the button of the browser.
  addEventListener("pagehide", () => { secret.value = ""; });
} else {
  secret.disabled = document.getElementById("try-button").disabled = true;
  tell("warning", "Not on this address.", "Browsers compute signatures on https:// and on this machine’s own addresses only.");
}
