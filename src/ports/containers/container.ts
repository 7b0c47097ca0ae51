/** A container as its tenant sees it, its files, and what each of them is made of. */
import { hash } from 'node:crypto';
import type { ResponseKey } from '../background/response-key.ts';

/** The owner of a container, and which of the owner's. The same id in two scopes is two containers. */
export type ContainerKey = ResponseKey;

/** What the code in a container may reach. */
export interface NetworkPolicy {
  /** `disabled`: nothing. `allowlist`: the domains that are named. */
  readonly type: 'disabled' | 'allowlist';
  /** The domains of an `allowlist`, without those below them. */
  readonly allowedDomains?: readonly string[] | undefined;
}

/** OpenAI's amounts of memory. */
export type MemoryLimit = '1g' | '4g' | '16g' | '64g';

/** What a client or a tool chooses of a new container; `undefined` means omitted. */
export interface NewContainer {
  /** The client's name for it. */
  readonly name: string;
  /** How long it is kept after its last use, in milliseconds. Default: `idleMs` of the containers. */
  readonly expiresAfterMs?: number | undefined;
  /** The most memory. Default: the runtime's limit. */
  readonly memoryLimit?: MemoryLimit | undefined;
  /** Default: `disabled`. */
  readonly networkPolicy?: NetworkPolicy | undefined;
}

/** What is kept of a container, without its files. */
export interface ContainerRecord extends ContainerKey {
  /** The client's name for it. */
  readonly name: string;
  /** Who asked for it: a client by the API, or a tool in a turn, whose containers make way for others. */
  readonly origin: 'client' | 'tool';
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The end of its last use, in milliseconds since the epoch. */
  readonly lastActiveAt: number;
  /** How long it is kept after that, in milliseconds. */
  readonly expiresAfterMs: number;
  /** The most memory; undefined for the runtime's limit. */
  readonly memoryLimit?: MemoryLimit | undefined;
  /** What its code may reach. */
  readonly networkPolicy: NetworkPolicy;
}

/** A container as it is now. */
export interface Container extends ContainerRecord {
  /** An expired one has no files any more, and cannot be used. */
  readonly status: 'running' | 'expired';
}

/** Who wrote a file of a container: the user, or the code of the assistant. */
export type ContainerFileSource = 'user' | 'assistant';

/** A file of a container, without its content. */
export interface ContainerFile {
  /** Such as `cfile_…`: the same as long as a file of this name is there. */
  readonly id: string;
  /** Its path below the working directory. */
  readonly name: string;
  /** Its length. */
  readonly bytes: number;
  /** When this content was written, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** Who put it there. */
  readonly source: ContainerFileSource;
  /** Another one for each content that the file has had. */
  readonly version: string;
}

/** A file on its way into a container. */
export interface NewContainerFile extends Pick<ContainerFile, 'name' | 'source'> {
  /** The content, read once. Throws if the upload breaks off: then nothing stays. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** The working directory of every container: models have learnt to write here. */
export const CONTAINER_FOLDER = '/mnt/data';
/** The folder of skills below it, in which each has one of its own. */
export const SKILLS_FOLDER = 'skills';

const ID_DIGITS = 32;

/** The id of the file of this name: a citation leads to the file as it is now, in whichever process it is looked for. */
export function containerFileId(container: string, name: string): string {
  return `cfile_${hash('sha256', `${container}\0${name}`).slice(0, ID_DIGITS)}`;
}

/** Whether it has not been used for too long. */
export function isContainerExpired(record: ContainerRecord, now: number): boolean {
  return record.lastActiveAt + record.expiresAfterMs <= now;
}

const GIB = 1024 ** 3;

/** How many bytes each limit names. */
export const MEMORY_BYTES: Readonly<Record<MemoryLimit, number>> = {
  '1g': GIB,
  '4g': 4 * GIB,
  '16g': 16 * GIB,
  '64g': 64 * GIB,
};
