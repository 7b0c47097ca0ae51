/** Reads what a request wants of a container, in OpenAI's words. */
import { isPresent, isRecord, type JsonObject } from '../../protocol/record.ts';
import { invalidField } from '../../protocol/responses/invalid.ts';
import type { MemoryLimit, NetworkPolicy } from './container.ts';
import type { ContainerWishes } from './containers.ts';

/** OpenAI's amounts of memory. */
export const MEMORY_LIMITS: readonly MemoryLimit[] = ['1g', '4g', '16g', '64g'];

/** The wishes in an object such as `{ type: 'auto', memory_limit: '4g' }`; what is none of them is left out. */
export function readWishes({ memory_limit, network_policy }: JsonObject): ContainerWishes {
  const memoryLimit = MEMORY_LIMITS.find((limit) => limit === memory_limit);
  const networkPolicy = readNetworkPolicy(network_policy);
  return { ...(memoryLimit ? { memoryLimit } : {}), ...(networkPolicy ? { networkPolicy } : {}) };
}

/** Throws `invalid_value` for a limit that is none, which would hold for nothing; `at` is the path of the object, with a dot at its end. */
export function checkWishes({ memory_limit: memory }: JsonObject, at: string): void {
  if (isPresent(memory) && !MEMORY_LIMITS.some((limit) => limit === memory))
    throw invalidField(`${at}memory_limit`, `expected one of ${MEMORY_LIMITS.map((limit) => `'${limit}'`).join(', ')}`);
}

function readNetworkPolicy(policy: unknown): NetworkPolicy | undefined {
  if (!isRecord(policy)) return undefined;
  // Whatever is not plainly disabled must be kept to, or refused.
  if (policy.type === 'disabled') return { type: 'disabled' };
  const domains = Array.isArray(policy.allowed_domains) ? policy.allowed_domains : [];
  return { type: 'allowlist', allowedDomains: domains.filter((domain) => typeof domain === 'string') };
}
