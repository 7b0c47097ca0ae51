/** Reads what a request wants of a container, in OpenAI's words. */
import { ApiError } from '../../protocol/errors.ts';
import { isPresent, isRecord, type JsonObject } from '../../protocol/record.ts';
import { invalidField } from '../../protocol/responses/invalid.ts';
import type { MemoryLimit, NetworkPolicy } from './container.ts';
import type { ContainerWishes } from './containers.ts';

/** OpenAI's amounts of memory. */
export const MEMORY_LIMITS: readonly MemoryLimit[] = ['1g', '4g', '16g', '64g'];

/**
 * The wishes in an object such as `{ type: 'auto', memory_limit: '4g' }`, which is the field `at` of a request; what is none of them is left
 * out. Throws `unsupported_parameter` for secrets, which nothing here would keep from the code, and `invalid_value` for an amount of memory that
 * is none, which would hold for nothing.
 */
export function readWishes({ memory_limit, network_policy }: JsonObject, at = ''): ContainerWishes {
  const { domain_secrets: secrets } = isRecord(network_policy) ? network_policy : {};
  if (isPresent(secrets) && !(Array.isArray(secrets) && secrets.length === 0)) {
    const message = 'The containers of this server insert no secrets into requests.';
    throw new ApiError('unsupported_parameter', message, { param: `${at}network_policy.domain_secrets` });
  }
  const memoryLimit = MEMORY_LIMITS.find((limit) => limit === memory_limit);
  if (isPresent(memory_limit) && !memoryLimit)
    throw invalidField(`${at}memory_limit`, `expected one of ${MEMORY_LIMITS.map((limit) => `'${limit}'`).join(', ')}`);
  const networkPolicy = readNetworkPolicy(network_policy);
  return { ...(memoryLimit ? { memoryLimit } : {}), ...(networkPolicy ? { networkPolicy } : {}) };
}

/** The same of a request for a container of its own: where it says nothing of a network, the one that it continues must not have one either. */
export function readOwnWishes(fields: JsonObject): ContainerWishes {
  return { networkPolicy: { type: 'disabled' }, ...readWishes(fields) };
}

function readNetworkPolicy(policy: unknown): NetworkPolicy | undefined {
  if (!isRecord(policy)) return undefined;
  // Whatever is not plainly disabled must be kept to, or refused.
  if (policy.type === 'disabled') return { type: 'disabled' };
  const domains = Array.isArray(policy.allowed_domains) ? policy.allowed_domains : [];
  return { type: 'allowlist', allowedDomains: domains.map((domain) => String(domain).toLowerCase()) };
}
