/** Whether a runtime keeps to what a client demands of a container: what nothing keeps to is refused. */
import { ApiError } from '../../protocol/errors.ts';
import { quoteId } from '../../protocol/ids.ts';
import { invalidField } from '../../protocol/responses/invalid.ts';
import type { CodeRuntime, ContainerTerms } from '../hosted-tools/code-runtime.ts';
import { type ContainerRecord, MEMORY_BYTES, type NewContainer } from './container.ts';

type Demands = Pick<NewContainer, 'memoryLimit' | 'networkPolicy'>;

/** Domains of one allow list. */
export const MAX_DOMAINS = 100;
/** Whose last part cannot be read as a number: no URL parser takes it for an address. */
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9_-]{1,63}\.)+[a-z][a-z0-9-]{0,62}$/;

/** Throws `unsupported_parameter` that names the term, in the field `at`, and `invalid_value` for domains that are none. */
export function checkTerms(runtime: CodeRuntime, { memoryLimit, networkPolicy }: Demands, at = ''): void {
  const { name, keepsTerms = [] } = runtime;
  if (networkPolicy?.type === 'allowlist') {
    if (!keepsTerms.includes('allowedDomains')) {
      const message = `The containers of this server ('${name}') have no network: 'network_policy' can only be 'disabled'.`;
      throw new ApiError('unsupported_parameter', message, { param: `${at}network_policy` });
    }
    checkDomains(networkPolicy.allowedDomains ?? [], runtime, `${at}network_policy.allowed_domains`);
  }
  // A limit is kept to by a runtime that has less memory anyway.
  const isBelow = memoryLimit !== undefined && MEMORY_BYTES[memoryLimit] < (runtime.memoryBytes ?? 0);
  if (isBelow && !keepsTerms.includes('memoryBytes')) {
    const message = `The containers of this server ('${name}') have ${runtime.memoryBytes} bytes of memory, and take no lower limit.`;
    throw new ApiError('unsupported_parameter', message, { param: `${at}memory_limit` });
  }
}

function checkDomains(domains: readonly string[], { mayReach }: CodeRuntime, at: string): void {
  if (domains.length === 0 || domains.length > MAX_DOMAINS)
    throw invalidField(at, `it must have 1 to ${MAX_DOMAINS} domains`);
  for (const [index, domain] of domains.entries()) {
    const param = `${at}[${index}]`;
    if (!DOMAIN.test(domain)) throw invalidField(param, "a domain is expected, such as 'example.com'");
    if (mayReach && !mayReach(domain)) throw invalidField(param, `this server does not open ${quoteId(domain)}`);
  }
}

/** The terms for the runtime; undefined if there are none. */
export function runtimeTerms(
  { keepsTerms = [] }: CodeRuntime,
  { memoryLimit, networkPolicy }: ContainerRecord,
): ContainerTerms | undefined {
  const limit = memoryLimit !== undefined && keepsTerms.includes('memoryBytes') ? MEMORY_BYTES[memoryLimit] : undefined;
  const allowedDomains = networkPolicy.type === 'allowlist' ? networkPolicy.allowedDomains : undefined;
  return limit === undefined && !allowedDomains ? undefined : { memoryBytes: limit, allowedDomains };
}
