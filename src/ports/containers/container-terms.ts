/** Whether a runtime keeps to what a client demands of a container: what nothing keeps to is refused. */
import { ApiError } from '../../protocol/errors.ts';
import type { CodeRuntime, ContainerTerms } from '../hosted-tools/code-runtime.ts';
import { type ContainerRecord, MEMORY_BYTES, type NewContainer } from './container.ts';

type Demands = Pick<NewContainer, 'memoryLimit' | 'networkPolicy'>;

/** Throws `unsupported_parameter` that names the term, in the field `at`. */
export function checkTerms(runtime: CodeRuntime, { memoryLimit, networkPolicy }: Demands, at = ''): void {
  const { name, keepsTerms = [] } = runtime;
  if (networkPolicy?.type === 'allowlist' && !keepsTerms.includes('allowedDomains')) {
    const message = `The containers of this server ('${name}') have no network: 'network_policy' can only be 'disabled'.`;
    throw new ApiError('unsupported_parameter', message, { param: `${at}network_policy` });
  }
  // A limit is kept to by a runtime that has less memory anyway.
  const isBelow = memoryLimit !== undefined && MEMORY_BYTES[memoryLimit] < (runtime.memoryBytes ?? 0);
  if (isBelow && !keepsTerms.includes('memoryBytes')) {
    const message = `The containers of this server ('${name}') have ${runtime.memoryBytes} bytes of memory, and take no lower limit.`;
    throw new ApiError('unsupported_parameter', message, { param: `${at}memory_limit` });
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
