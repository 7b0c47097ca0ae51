/** Reads what a request wants of a container, in OpenAI's words. */
import { isRecord, type JsonObject } from '../../protocol/record.ts';
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

function readNetworkPolicy(policy: unknown): NetworkPolicy | undefined {
  if (!isRecord(policy)) return undefined;
  // Whatever is not plainly disabled must be kept to, or refused.
  if (policy.type === 'disabled') return { type: 'disabled' };
  const domains = Array.isArray(policy.allowed_domains) ? policy.allowed_domains : [];
  return { type: 'allowlist', allowedDomains: domains.filter((domain) => typeof domain === 'string') };
}
