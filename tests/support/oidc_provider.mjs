// A provider of OpenID Connect on loopback: npm's oidc-provider, which is certified. Tests say over /test who signs in,
// and what else is to be wrong. The issuer's URL is printed once it listens.
import { createServer } from "node:http";
import { CompactSign, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK } from "jose";
import Provider from "oidc-provider";

const [redirectUris, secret] = [process.env.REDIRECT_URIS.split(" "), process.env.CLIENT_SECRET];
const clientId = "partner-service";
// {person: {sub, amr, acr, ...claims}, idToken: {claims to replace; null removes}, otherKey: true, hang: "/path",
//  discovery: {members to replace; null removes}, bareKey: true (without kid and alg), rotate: "RS256" or "ES256"}
let said;
let provider, key, issuer;

const newKey = async (alg = "RS256") => {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg, use: "sig" };
};

// null removes.
const replace = (object, values = {}) =>
  Object.fromEntries(Object.entries({ ...object, ...values }).filter(([, value]) => value !== null));

const start = async (alg) => {
  key = await newKey(alg);
  provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [{ client_id: clientId, client_secret: secret, redirect_uris: redirectUris,
                token_endpoint_auth_method: process.env.AUTH_METHOD ?? "client_secret_post",
                id_token_signed_response_alg: key.alg }],
    scopes: ["openid", "profile", "email", "groups"],
    claims: { openid: ["sub", "acr", "amr", "auth_time"], profile: ["given_name", "family_name"],
              email: ["email", "email_verified"], groups: ["groups"] },
    // Otherwise they are in userinfo alone.
    conformIdTokenClaims: process.env.CLAIMS_IN_ID_TOKEN !== "true",
    acrValues: ["gold", "bronze"],
    cookies: { keys: ["tests-only"] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false }, resourceIndicators: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => said.person }),
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({ clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope("openid profile email groups");
      await grant.save();
      return grant;
    },
  });
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path.startsWith("/.well-known/")) ctx.body = replace(ctx.body, said?.discovery);
    if (ctx.path === "/jwks" && said.bareKey) ctx.body = { keys: ctx.body.keys.map(({ kid, alg, ...rest }) => rest) };
    if (ctx.path !== "/token" || !ctx.body?.id_token || !(said.idToken || said.otherKey || said.bareKey)) return;
    const [claims, { kid, ...header }] = [decodeJwt(ctx.body.id_token), decodeProtectedHeader(ctx.body.id_token)];
    const signer = await importJWK(said.otherKey ? await newKey(key.alg) : key, key.alg);
    // SignJWT would refuse a time that is a text.
    const payload = new TextEncoder().encode(JSON.stringify(replace(claims, said.idToken)));
    ctx.body.id_token = await new CompactSign(payload)
      .setProtectedHeader(said.bareKey ? header : { kid, ...header }).sign(signer);
  });
};

const read = async (request) => {
  let text = "";
  for await (const part of request) text += part;
  return JSON.parse(text);
};

const server = createServer(async (request, response) => {
  if (request.url === "/test") {
    said = await read(request);
    if (said.rotate) await start(said.rotate);
    return response.end("{}");
  }
  if (request.url === said?.hang) return undefined;
  const [, uid, confirmed] = request.url.match(/^\/interaction\/([^/?]+)(\?ok)?/) ?? [];
  if (!uid) return provider.callback()(request, response);
  if (said.page && !confirmed) {
    response.setHeader("content-type", "text/html");
    return response.end(`<h1>Company</h1><a href="/interaction/${uid}?ok">Continue as ${said.person.sub}</a>`);
  }
  const { sub, amr, acr } = said.person;
  const result = said.cancel ? { error: "access_denied" } : { login: { accountId: sub, amr, acr } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
});

server.listen(0, "127.0.0.1", async () => {
  issuer = `http://${process.env.HOST_NAME ?? "127.0.0.1"}:${server.address().port}`;
  await start();
  console.log(issuer);
});
