/** The bounds of what a tenant has in containers. */
import { definedFields } from '../../protocol/record.ts';
import { amountChecks, checkOptions } from '../host/options-check.ts';
import type { CodeRuntime } from '../hosted-tools/code-runtime.ts';

/** What a tenant may have; sizes are bytes. `undefined` means the default. */
export interface ContainerQuota {
  /** Containers that have not expired. Those of tools make way for new ones; a client's are refused beyond it. Default: 100. */
  readonly containers?: number | undefined;
  /** The files of all its containers together. Default: 268,435,456. */
  readonly bytes?: number | undefined;
  /** The files of one container. Default: 1,000. */
  readonly files?: number | undefined;
  /** One file; never more than the runtime takes. Default: that, else 10,485,760. */
  readonly fileBytes?: number | undefined;
  /** The files of one container together: a process must have room for them. Default: a quarter of the runtime's memory, else 134,217,728. */
  readonly containerBytes?: number | undefined;
  /** The longest `expires_after`, in minutes. Default: 1,440. */
  readonly expiryMinutes?: number | undefined;
  /** Without a `storage`: the files of all tenants together, which are in memory. Default: 268,435,456. */
  readonly memoryBytes?: number | undefined;
  /** Without a `storage`: the containers of all tenants together. Default: 10,000. */
  readonly memoryContainers?: number | undefined;
}

/** The same with every default filled in. */
export type ContainerBounds = { readonly [Name in keyof ContainerQuota]-?: number };

const MIB = 1024 * 1024;

const DEFAULTS: ContainerBounds = {
  containers: 100,
  bytes: 256 * MIB,
  files: 1000,
  fileBytes: 10 * MIB,
  containerBytes: 128 * MIB,
  expiryMinutes: 24 * 60,
  memoryBytes: 256 * MIB,
  memoryContainers: 10_000,
};

/** The limits with their defaults. Throws a `TypeError` that names the invalid one. */
export function containerBounds(owner: string, quota: ContainerQuota = {}, runtime: CodeRuntime): ContainerBounds {
  checkOptions(`${owner}: quota`, quota, amountChecks(DEFAULTS));
  const set = definedFields(quota);
  const { fileBytes = set.fileBytes ?? DEFAULTS.fileBytes, memoryBytes = 4 * DEFAULTS.containerBytes } = runtime;
  const bounds: ContainerBounds = { ...DEFAULTS, fileBytes, containerBytes: Math.floor(memoryBytes / 4), ...set };
  return { ...bounds, fileBytes: Math.min(bounds.fileBytes, fileBytes) };
}
