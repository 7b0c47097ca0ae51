/** MCP servers behind OAuth, with the installed SDK's own provider, which the host hands in. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ClientCredentialsProvider as NewerProvider } from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as OlderProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import type { UnauthorizedInfo } from '../../../src/tools/mcp/index.ts';
import { closeAll, closeLater, never, openTools, startServer } from '../../support/mcp-client.ts';

afterEach(closeAll);

const Provider = process.env.MCP_SDK === 'v1' ? OlderProvider : NewerProvider;
const SECRET = 'a-secret-of-the-client';

/** An authorization server that issues a token to whoever knows the secret, and describes itself and a resource. */
async function startAuthorizationServer(resource: () => string) {
  const issued: string[] = [];
  const keysSeen: unknown[] = [];
  const http = createServer((request, response) => {
    const { url = '' } = request;
    if (request.headers['x-api-key']) keysSeen.push(request.headers['x-api-key']);
    const json = (value: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (url.startsWith('/resource')) return void json({ resource: resource(), authorization_servers: [origin] });
    if (url.startsWith('/.well-known'))
      return void json({
        issuer: origin,
        token_endpoint: `${origin}/token`,
        authorization_endpoint: `${origin}/authorize`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      });
    const basic = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64').toString();
    if (!basic.endsWith(SECRET)) return void json({ error: 'invalid_client' }, 401);
    issued.push(`issued-token-${issued.length}`);
    json({ access_token: issued.at(-1), token_type: 'Bearer', expires_in: 3600 });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  closeLater(() => new Promise((resolve) => http.close(resolve)));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return { origin, issued, keysSeen };
}

async function startProtected() {
  const server = await startServer();
  const authorization = await startAuthorizationServer(() => server.url);
  server.challenge = `Bearer resource_metadata="${authorization.origin}/resource"`;
  server.refuseWhere = ({ headers }) => headers.authorization !== `Bearer ${authorization.issued.at(-1)}`;
  return { server, authorization };
}

const request = (scope: string) => ({ scope, requestId: 'req', request: {} });

describe('a server behind OAuth', () => {
  it('[X-15] is reached with the tokens that the provider gets', async () => {
    const { server, authorization } = await startProtected();
    const reported: UnauthorizedInfo[] = [];
    const authProvider = new Provider({ clientId: 'us', clientSecret: SECRET, expectedIssuer: authorization.origin });
    const tools = openTools(
      { a: { url: server.url, authProvider } },
      { onUnauthorized: (info) => reported.push(info) },
    );
    expect([(await tools.list(never())).length, authorization.issued.length, reported[0]?.resourceMetadataUrl]).toEqual(
      [18, 1, `${authorization.origin}/resource`],
    );
  });

  it('[X-15] is reached with a new token when the old one has expired', async () => {
    const { server, authorization } = await startProtected();
    const authProvider = new Provider({ clientId: 'us', clientSecret: SECRET, expectedIssuer: authorization.origin });
    const tools = openTools({ a: { url: server.url, authProvider } });
    await tools.list(never());
    authorization.issued.push('none-has-this');
    const call = { server: 'a', name: 'echo', arguments: { text: 'hello' }, ...request('one') };
    expect([await tools.call(call, never()), authorization.issued.length]).toEqual([{ content: 'hello' }, 3]);
  });

  it('[X-15] is reached with the provider of each user', async () => {
    const { server, authorization } = await startProtected();
    const right = new Provider({ clientId: 'one', clientSecret: SECRET, expectedIssuer: authorization.origin });
    const wrong = new Provider({
      clientId: 'two',
      clientSecret: 'unknown-to-the-server',
      expectedIssuer: authorization.origin,
    });
    const tools = openTools({
      a: { url: server.url, authProvider: (_request, { scope }) => (scope === 'one' ? right : wrong) },
    });
    const counts = [];
    for (const scope of ['one', 'two', 'one']) counts.push((await tools.list(never(), request(scope))).length);
    expect([counts, authorization.issued.length, tools.status()]).toEqual([
      [18, 0, 18],
      1,
      [expect.objectContaining({ connections: 2 })],
    ]);
    expect(JSON.stringify([tools.status(), tools.warnings])).not.toContain('unknown-to-the-server');
  });

  it('[X-15] keeps its tokens out of results, and the headers of its config out of other servers', async () => {
    const { server, authorization } = await startProtected();
    const authProvider = new Provider({ clientId: 'us', clientSecret: SECRET, expectedIssuer: authorization.origin });
    const tools = openTools({ a: { url: server.url, authProvider, headers: { 'x-api-key': 'a-key-for-the-server' } } });
    const call = { server: 'a', name: 'headers', arguments: {}, ...request('one') };
    const { content } = await tools.call(call, never());
    expect([String(content).includes('***'), String(content).includes('issued-token')]).toEqual([true, false]);
    expect([server.requests[0]?.headers['x-api-key'], authorization.keysSeen]).toEqual(['a-key-for-the-server', []]);
  });

  it('[X-15] whose user is not logged in is asked for once more, and the user is sent to log in', async () => {
    const { server } = await startProtected();
    const asked: unknown[] = [];
    const sentTo: string[] = [];
    const loggedOut = {
      redirectUrl: 'https://app.example/callback',
      clientMetadata: { redirect_uris: ['https://app.example/callback'] },
      clientInformation: () => ({ client_id: 'us' }),
      tokens: () => undefined,
      saveTokens() {},
      saveCodeVerifier() {},
      codeVerifier: () => 'verifier',
      redirectToAuthorization: ({ pathname }: URL) => void sentTo.push(pathname),
    };
    const tools = openTools({
      a: {
        url: server.url,
        authProvider(_request, { challenge }) {
          asked.push(challenge?.status);
          return loggedOut;
        },
      },
    });
    expect([await tools.list(never(), request('one')), asked, sentTo[0], tools.warnings]).toEqual([
      [],
      [undefined, 401],
      '/authorize',
      ["mcpTools: server 'a' fails for a user: The MCP server 'a' answered with HTTP 401 (Unauthorized)."],
    ]);
  });

  it('[X-15] is closed even if the provider does not answer any more', async () => {
    const server = await startServer();
    let isSilent = false;
    const authProvider = {
      redirectUrl: undefined,
      clientMetadata: { redirect_uris: [] },
      clientInformation: () => ({ client_id: 'us' }),
      tokens: () => (isSilent ? new Promise(() => {}) : { access_token: 'a-token', token_type: 'Bearer' }),
    };
    const tools = openTools({ a: { url: server.url, authProvider } });
    await tools.list(never());
    isSilent = true;
    await tools.close();
    await server.allSocketsClosed();
    expect(tools.status()).toMatchObject([{ state: 'closed' }]);
  });
});
