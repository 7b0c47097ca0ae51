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
interface PageReader {
  /** Rejects with an `Error` for the model. */
  read(url: string, terms: ReadingTerms): Promise<Page>;
  close(): Promise<void>;
}

const PACKAGES = ['@mozilla/readability', 'linkedom'] as const;
const POLICY: EgressPolicy = { schemes: ['https', 'http'], maxBytes: 5 * 1024 * 1024, timeoutMs: 20_000 };
const MAX_REDIRECTS = 5;
const MAX_URL_LENGTH = 2048;
const PLAIN_TYPES: ReadonlySet<string> = new Set(['text/plain', 'application/json']);
const TYPES: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml', ...PLAIN_TYPES]);
const HEADERS = {
  accept: 'text/html,application/xhtml+xml,text/plain,application/json;q=0.9',
  'user-agent': 'Mozilla/5.0 (compatible; express-open-responses)',
};

/** Whether the packages that read pages are installed. */
export function arePagesReadable(): boolean {
  return PACKAGES.every((name) => !isPackageMissing(name));
}

function isPackageMissing(name: string): boolean {
  try {
    requirePackage.resolve(name);
    return false;
  } catch {
    return true;
  }
}

/** Creates a reader with this policy over the default one. Throws a `TypeError` for a bad policy or a missing package. */
export function pageReader(policy: EgressPolicy = {}): PageReader {
  const missing = PACKAGES.filter(isPackageMissing);
  if (missing.length > 0)
    throw new TypeError(
      `webSearch: pages needs packages that are not installed. Install them: npm install ${missing.join(' ')}`,
    );
  const settings = Object.entries(policy).filter(([, value]) => value !== undefined);
  const guard = egressGuard({ ...POLICY, ...Object.fromEntries(settings) });
  const processes = new PageProcesses();
  return {
    async read(url, { allows, tenant, signal }) {
      const { address, response } = await fetchPage(guard, url, allows, { tenant, signal });
      const contentType = (response.headers.get('content-type') ?? '').slice(0, MAX_URL_LENGTH);
      const type = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
      if (!TYPES.has(type)) {
        response.body?.cancel().catch(() => {});
        throw new Error(`The page is not text: its type is ${type === '' ? 'unknown' : type.slice(0, 100)}.`);
      }
      const bytes = await withPlainErrors(() => response.arrayBuffer(), signal);
      // A page may declare its own encoding, in its first bytes.
      const head = Buffer.from(bytes, 0, Math.min(bytes.byteLength, 1024)).toString('latin1');
      const charset =
        /charset\s*=\s*"?([\w-]{1,40})/i.exec(contentType)?.[1] ?? /charset=["']?([\w-]{1,40})/i.exec(head)?.[1];
      let text: string;
      try {
        text = new TextDecoder(charset).decode(bytes);
      } catch {
        text = new TextDecoder().decode(bytes);
      }
      if (PLAIN_TYPES.has(type)) return { url: address, title: '', text: text.trim() };
      return { url: address, ...(await processes.read(text, { tenant, signal })) };
    },
    async close() {
      await Promise.all([guard.close(), processes.close()]);
    },
  };
}

async function fetchPage(
  guard: EgressGuard,
  startURL: string,
  allows: (url: string) => boolean,
  { tenant, signal }: { readonly tenant: string; readonly signal: AbortSignal },
) {
  let address = URL.canParse(startURL) ? new URL(startURL).href : '';
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    if (address.length > MAX_URL_LENGTH || !URL.canParse(address)) throw new Error('The address is not a URL.');
    if (!allows(address)) throw new Error('The request does not allow pages of this domain.');
    const response = await withPlainErrors(
      () => guard.fetch(address, { headers: HEADERS, redirect: 'manual', signal, tenant }),
      signal,
    );
    const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null;
    if (location === null && response.ok) return { address, response };
    await response.body?.cancel();
    if (location === null) throw new Error(`The page answered with the status ${response.status}.`);
    address = URL.canParse(location, address) ? new URL(location, address).href : '';
  }
  throw new Error(`The page redirects more than ${MAX_REDIRECTS} times.`);
}

/** Refusals that would reveal which names and addresses this machine's network has. */
const NOT_OPEN: ReadonlySet<EgressErrorCode> = new Set([
  'url_refused',
  'host_refused',
  'address_refused',
  'unresolved',
  'redirect_refused',
]);

/** Does the work; the guard's errors become errors for the model, without addresses. */
async function withPlainErrors<Value>(act: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    signal.throwIfAborted();
    const { code } = error instanceof EgressError ? error : { code: undefined };
    if (code === 'answer_too_large') throw new Error('The page is too large.');
    if (code === 'answer_too_slow') throw new Error('The page did not answer in time.');
    throw new Error(
      code && NOT_OPEN.has(code) ? 'This page may not be opened from here.' : 'The page could not be reached.',
    );
  }
}
