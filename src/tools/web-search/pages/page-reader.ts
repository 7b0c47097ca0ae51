/** Opens pages of the web that a model names: through the egress guard, limited in size, time and type. */

import { requirePackage } from '../../../ports/host/package-files.cjs';
import { EgressError, type EgressErrorCode } from '../../egress/egress-error.ts';
import { type EgressGuard, egressGuard } from '../../egress/egress-guard.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import { PageProcesses } from './page-processes.ts';

/** A page as the model receives it. */
interface Page {
  /** Where it was found, after redirects. */
  readonly url: string;
  readonly title: string;
  readonly text: string;
}

/** Who reads a page, and what is allowed. */
interface ReadingTerms {
  /** Asked for each address on the way. */
  readonly allows: (url: string) => boolean;
  /** Whose turn it is, where many pages are read. */
  readonly tenant: string;
  readonly signal: AbortSignal;
}

/** Reads pages. */
export interface PageReader {
  /** Rejects with an `Error` for the model. */
  read(url: string, terms: ReadingTerms): Promise<Page>;
  close(): Promise<void>;
}

const PACKAGES = ['@mozilla/readability', 'linkedom'] as const;
const POLICY: EgressPolicy = { schemes: ['https', 'http'], maxBytes: 5 * 1024 * 1024, timeoutMs: 20_000 };
const MAX_REDIRECTS = 5;
const MAX_URL_LENGTH = 2048;
const HEADERS = {
  accept: 'text/html,application/xhtml+xml,text/plain,application/json;q=0.9',
  'user-agent': 'Mozilla/5.0 (compatible; express-open-responses)',
};

/** Whether the packages that read pages are installed. */
export function arePagesReadable(): boolean {
  return PACKAGES.every((name) => !isMissing(name));
}

function isMissing(name: string): boolean {
  try {
    requirePackage.resolve(name);
    return false;
  } catch {
    return true;
  }
}

/** Creates a reader with this policy over the default one. Throws a `TypeError` for a bad policy or a missing package. */
export function pageReader(policy: EgressPolicy = {}): PageReader {
  const missing = PACKAGES.filter(isMissing);
  if (missing.length > 0)
    throw new TypeError(
      `webSearch: pages needs packages that are not installed. Install them: npm install ${missing.join(' ')}`,
    );
  const guard = egressGuard({ ...POLICY, ...withoutUndefined(policy) });
  const processes = new PageProcesses();
  return {
    async read(url, { allows, tenant, signal }) {
      const { address, response } = await opened(guard, url, allows, signal);
      const { type, charset } = typeOf(response);
      const bytes = await inWords(() => response.arrayBuffer(), signal);
      const text = decoded(bytes, charset);
      return { url: address, ...(await contentOf(text, type, processes, { tenant, signal })) };
    },
    async close() {
      await Promise.all([guard.close(), processes.close()]);
    },
  };
}

function withoutUndefined(policy: EgressPolicy): EgressPolicy {
  return Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined));
}

async function opened(guard: EgressGuard, given: string, allows: (url: string) => boolean, signal: AbortSignal) {
  let address = URL.canParse(given) ? new URL(given).href : '';
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    if (address.length > MAX_URL_LENGTH || !URL.canParse(address)) throw new Error('The address is not a URL.');
    if (!allows(address)) throw new Error('The request does not allow pages of this domain.');
    const response = await inWords(
      () => guard.fetch(address, { headers: HEADERS, redirect: 'manual', signal }),
      signal,
    );
    const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null;
    if (location === null) return { address, response: await answered(response) };
    await response.body?.cancel();
    address = URL.canParse(location, address) ? new URL(location, address).href : '';
  }
  throw new Error(`The page redirects more than ${MAX_REDIRECTS} times.`);
}

async function answered(response: Response): Promise<Response> {
  if (response.ok) return response;
  await response.body?.cancel();
  throw new Error(`The page answered with the status ${response.status}.`);
}

/** Refusals that would reveal which names and addresses this machine's network has. */
const SAME: ReadonlySet<EgressErrorCode> = new Set([
  'url_refused',
  'host_refused',
  'address_refused',
  'unresolved',
  'redirect_refused',
]);

/** The guard's errors in words for the model, without addresses. */
async function inWords<Value>(act: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    signal.throwIfAborted();
    const { code } = error instanceof EgressError ? error : { code: undefined };
    if (code === 'answer_too_large') throw new Error('The page is too large.');
    if (code === 'answer_too_slow') throw new Error('The page did not answer in time.');
    throw new Error(
      code && SAME.has(code) ? 'This page may not be opened from here.' : 'The page could not be reached.',
    );
  }
}

const TYPES: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml', 'text/plain', 'application/json']);

function typeOf({ headers, body }: Response) {
  const given = (headers.get('content-type') ?? '').slice(0, MAX_URL_LENGTH);
  const type = (given.split(';', 1)[0] ?? '').trim().toLowerCase();
  const charset = /charset\s*=\s*"?([\w-]{1,40})/i.exec(given)?.[1];
  if (TYPES.has(type)) return { type, charset };
  body?.cancel().catch(() => {});
  throw new Error(`The page is not text: its type is ${type === '' ? 'unknown' : type.slice(0, 100)}.`);
}

function decoded(bytes: ArrayBuffer, charset = charsetIn(bytes)): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Where a page declares its own encoding, in its first bytes. */
function charsetIn(bytes: ArrayBuffer): string {
  const head = Buffer.from(bytes, 0, Math.min(bytes.byteLength, 1024)).toString('latin1');
  return /charset=["']?([\w-]{1,40})/i.exec(head)?.[1] ?? 'utf-8';
}

async function contentOf(
  text: string,
  type: string,
  processes: PageProcesses,
  terms: Pick<ReadingTerms, 'tenant' | 'signal'>,
) {
  if (type === 'text/plain' || type === 'application/json') return { title: '', text: text.trim() };
  return processes.read(text, terms);
}
