/** The option `compaction`, checked; no error here or elsewhere shows the key. */
import { checkOptions, type OptionCheck } from '../../ports/host/options-check.ts';
import { checkSecret, describeType, processSecret } from '../../ports/sealer.ts';
import { isRecord } from '../../protocol/record.ts';
import { type Seal, sealWith } from './seal.ts';

/** How conversations are compacted. */
export interface CompactionOptions {
  /** The instruction that follows the conversation. Default: requests a summary with which the work can continue. */
  readonly prompt?: string | undefined;
  /**
   * Seals compaction items; at least 16 bytes, the same in every process. Default: the option `stateKey`, and without
   * that a random one for this process, whose items are unreadable after a restart.
   */
  readonly key?: string | Uint8Array | undefined;
}

/** The option with its defaults. */
export interface CompactionSettings {
  readonly prompt: string;
  readonly seal: Seal;
}

const PROMPT = `Summarise this conversation so that it can be continued by someone who sees only your summary.
Write down what the user asked for and wants, instructions and preferences that still hold, what was decided and done, \
what tools were called for and what they answered, names, numbers, paths and other facts that may be needed again, \
word for word where the wording matters, and what remains to be done. Leave out what no longer matters.
Answer with the summary alone; do not continue the conversation and do not call tools.`;

/** Fills in the defaults, `usualKey` for the key; throws a `TypeError` that names the option, and quotes its value unless that is the key. */
export function compactionSettings(
  owner: string,
  options: CompactionOptions = {},
  usualKey: string | Uint8Array = processSecret(),
): CompactionSettings {
  // Not quoted: the value given instead of the options may be the key.
  if (!isRecord(options)) throw new TypeError(`${owner} must be an object, got ${describeType(options)}`);
  const { key, prompt = PROMPT, ...unknown }: CompactionOptions = options;
  checkOptions(owner, { ...unknown, prompt }, { prompt: isText, key: () => true });
  return { prompt, seal: sealWith(key === undefined ? usualKey : checkSecret(`${owner}: key`, key)) };
}

const isText: OptionCheck = (value) => (typeof value === 'string' && value.trim() !== '') || 'a text';
