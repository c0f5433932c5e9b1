// A provider of OpenID Connect on loopback: npm's oidc-provider, which is certified. Tests say over /test who signs in,
// and what else is to be wrong. The issuer's URL is printed once it listens.
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, importJWK, decodeJwt, decodeProtectedHeader, SignJWT } from "jose";
import Provider from "oidc-provider";

const [redirectUris, secret] = [process.env.REDIRECT_URIS.split(" "), process.env.CLIENT_SECRET];
const clientId = "partner-service";
let said; // {person: {sub, amr, acr, ...claims}, idToken: {claims to replace}, otherKey: true, hang: "/path"}
let provider, key, issuer;

const newKey = async () => {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg: "RS256", use: "sig" };
};

const start = async () => {
  key = await newKey();
  provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [{ client_id: clientId, client_secret: secret, redirect_uris: redirectUris,
                token_endpoint_auth_method: "client_secret_post" }],
    scopes: ["openid", "profile", "email", "groups"],
    claims: { openid: ["sub", "acr", "amr", "auth_time"], profile: ["given_name", "family_name"],
              email: ["email", "email_verified"], groups: ["groups"] },
    conformIdTokenClaims: process.env.THIN !== "true",
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
    if (ctx.path !== "/token" || !ctx.body?.id_token || !(said.idToken || said.otherKey)) return;
    const [claims, header] = [decodeJwt(ctx.body.id_token), decodeProtectedHeader(ctx.body.id_token)];
    const signer = await importJWK(said.otherKey ? await newKey() : key, "RS256");
    ctx.body.id_token = await new SignJWT({ ...claims, ...said.idToken }).setProtectedHeader(header).sign(signer);
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
    if (said.rotate) await start();
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
