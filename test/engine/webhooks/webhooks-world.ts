/** A receiver of webhooks, and the webhooks of a host that may reach it. */
import { randomBytes } from 'node:crypto';
import OpenAI from 'openai';
import { memoryStore } from '../../../src/index.ts';
import { egressGuard } from '../../../src/tools/egress/index.ts';
import { createWebhooks, type WebhookEndpoint, type Webhooks, type WebhooksOptions } from '../../../src/webhooks.ts';
import { type Listening, listening } from '../../support/listening.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

/** A request that has arrived. */
export interface Received {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly event: any;
}

/** How the receiver answers: with a status and a body, or never. */
export type Answer =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | 'hang';

/** A server that receives. */
export class Receiver {
  readonly received: Received[] = [];
  /** Answers events; challenges are repeated as long as it agrees. */
  answer: (request: Received) => Answer = () => ({ status: 200 });
  agrees = true;
  private readonly server: Listening;

  private constructor(server: Listening) {
    this.server = server;
  }

  static async start(): Promise<Receiver> {
    // The cast: set before the first request.
    const own = {} as { receiver: Receiver };
    const server = await listening(async (req, res) => {
      let body = '';
      for await (const piece of req) body += piece;
      own.receiver.receive({ headers: req.headers as Record<string, string>, body, event: JSON.parse(body) }, res);
    });
    own.receiver = new Receiver(server);
    return own.receiver;
  }

  get url(): string {
    return `${this.server.url}/hooks`;
  }

  /** The events, without challenges. */
  get events(): readonly Received[] {
    return this.received.filter(({ event }) => event.type !== 'endpoint.verification');
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private receive(request: Received, res: import('node:http').ServerResponse): void {
    this.received.push(request);
    const { challenge } = request.event.data;
    if (challenge !== undefined) return void res.end(JSON.stringify({ challenge: this.agrees ? challenge : 'other' }));
    const answer = this.answer(request);
    if (answer !== 'hang') res.writeHead(answer.status, answer.headers).end(answer.body);
  }
}

/** A new secret. */
export function newSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}

/** Webhooks of these tenants, each of which has the receiver as its endpoint, verified. Default: `alice`. */
export async function startWebhooks(
  receiver: Receiver,
  { tenants = ['alice'], ...options }: Partial<WebhooksOptions> & { readonly tenants?: readonly string[] } = {},
  events?: readonly string[],
): Promise<{
  readonly webhooks: Webhooks;
  readonly secret: string;
  readonly endpoints: WebhookEndpoint[];
  readonly errors: string[];
}> {
  const secret = newSecret();
  const errors: string[] = [];
  const endpoints: WebhookEndpoint[] = [];
  const { hostname, port } = new URL(receiver.url);
  const guard = egressGuard({
    allow: [{ host: hostname }],
    schemes: ['http'],
    ports: [Number(port)],
    timeoutMs: 10_000,
  });
  const webhooks = createWebhooks({
    endpoints: (scope) => endpoints.filter((_, index) => tenants[index] === scope),
    ...{ guard, store: memoryStore(), logger: false, secret: 'a key of sixteen bytes' },
    hooks: { onError: ({ message, cause }) => void errors.push(`${message} ${cause ?? ''}`) },
    ...options,
  });
  for (const tenant of tenants) {
    const verification = await webhooks.verify(tenant, { url: receiver.url, secret });
    endpoints.push({ url: receiver.url, secret, verification, events });
  }
  return { webhooks, secret, endpoints, errors };
}

/** Verifies and reads a request as OpenAI's SDK does. */
export function unwrap({ body, headers }: Received, secret: string) {
  return new OpenAI({ apiKey: 'none' }).webhooks.unwrap(body, headers, secret);
}

/** Waits until it is so. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error('It never came to be.');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
