/** The endpoints of tenants: who may have one, and how one is verified. */
import { hash, randomBytes } from 'node:crypto';
import { withTimeout } from '../../ports/host/in-time.ts';
import type { Sealer } from '../../ports/sealer.ts';
import type { MaybePromise } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import { isRecord, thrownText } from '../../protocol/record.ts';
import { webhookPayload } from './events.ts';
import { isWebhookSecret, signedHeaders, type WebhookSecrets } from './sign.ts';

/** Where deliveries go; an egress guard is one. */
export interface WebhookFetcher {
  /** Throws for a URL to which nothing may be sent. */
  check(url: string): void;
  /** As the global `fetch`; it must reach no address that the host does not allow. */
  fetch(url: string, init?: RequestInit): Promise<Response>;
  /** Releases its connections: called when the webhooks are closed. */
  close?(): Promise<void>;
}

/** What a tenant wants to be told, and where. */
export interface WebhookEndpoint {
  /** An `https` URL. */
  readonly url: string;
  /** `whsec_` and 24 to 64 bytes in base64; several while one replaces another, each of which signs. */
  readonly secret: WebhookSecrets;
  /** Only these events. Default: all of them. */
  readonly events?: readonly string[] | undefined;
  /** As `verify` returned it for this tenant and this URL. Without it nothing is sent. */
  readonly verification?: string | undefined;
}

/** The endpoints of a tenant. */
export type EndpointSource = (scope: string) => MaybePromise<readonly WebhookEndpoint[]>;

/** Further ones of a tenant are left out. */
const MAX_ENDPOINTS = 16;
const MAX_ANSWER = 64 * 1024;

/** The short name of an endpoint in what is stored. */
export function endpointKey({ url }: Pick<WebhookEndpoint, 'url'>): string {
  return hash('sha256', url).slice(0, 16);
}

/** The tenant's endpoints, as far as they are ones. Rejects if the host's function does, or takes longer than a delivery may. */
export async function readEndpoints(
  { endpoints, timeoutMs }: { readonly endpoints: EndpointSource; readonly timeoutMs: number },
  scope: string,
): Promise<readonly WebhookEndpoint[]> {
  const found: unknown = await withTimeout(
    endpoints(scope),
    timeoutMs,
    () => `endpoints: no answer within ${timeoutMs} ms.`,
  );
  if (!Array.isArray(found)) return [];
  return found.slice(0, MAX_ENDPOINTS).filter(isEndpoint);
}

function isEndpoint(value: unknown): value is WebhookEndpoint {
  if (!isRecord(value) || typeof value.url !== 'string') return false;
  const secrets = [value.secret].flat();
  return secrets.length > 0 && secrets.every(isWebhookSecret);
}

/** Whether `verify` has returned its verification for this tenant and this URL. */
export function isVerified({ url, verification }: WebhookEndpoint, scope: string, sealer: Sealer): boolean {
  return sealer.open(verification, [scope, url]) !== undefined;
}

/**
 * Sends the endpoint a signed challenge, which it must answer with: whoever receives events has then agreed to. Returns the
 * verification to keep with the endpoint. Throws `webhook_unverified`.
 */
export async function verifyEndpoint(
  scope: string,
  { url, secret }: Pick<WebhookEndpoint, 'url' | 'secret'>,
  {
    fetcher,
    sealer,
    signal,
  }: { readonly fetcher: WebhookFetcher; readonly sealer: Sealer; readonly signal: AbortSignal },
): Promise<string> {
  if (!isEndpoint({ url, secret })) throw unverified('its secret must be whsec_ and 24 to 64 bytes in base64');
  const [challenge, id] = [randomBytes(24).toString('base64url'), `evt_${randomBytes(16).toString('hex')}`];
  const at = Date.now();
  const payload = webhookPayload({ id, type: 'endpoint.verification', at }, { challenge });
  let answer: string;
  try {
    fetcher.check(url);
    const headers = signedHeaders(id, at, payload, secret);
    const response = await fetcher.fetch(url, { method: 'POST', headers, body: payload, redirect: 'manual', signal });
    if (!response.ok) throw new Error(`it answered with the status ${response.status}`);
    answer = await shortText(response);
  } catch (cause) {
    throw unverified(thrownText(cause), cause);
  }
  if (objectIn(answer)?.challenge !== challenge) throw unverified('its answer does not repeat the challenge');
  return sealer.seal({ verifiedAt: at }, [scope, url]);
}

async function shortText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.length;
    if (length > MAX_ANSWER) throw new Error('its answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function unverified(why: string, cause?: unknown): ApiError {
  return new ApiError('webhook_unverified', `The webhook endpoint is not verified: ${why}.`, { param: 'url', cause });
}
