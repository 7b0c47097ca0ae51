/** The option `compaction`, checked. */
import { checkOptions, type OptionCheck } from '../../ports/host/options-check.ts';
import { type Seal, sealWith } from './seal.ts';

/** How conversations are compacted. */
export interface CompactionOptions {
  /** The instruction that follows the conversation. Default: requests a summary with which the work can continue. */
  readonly prompt?: string | undefined;
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

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function compactionSettings(
  owner: string,
  options: CompactionOptions = {},
  secret: string | Uint8Array,
): CompactionSettings {
  checkOptions(owner, options, { prompt: isText });
  return { prompt: options.prompt ?? PROMPT, seal: sealWith(secret) };
}

const isText: OptionCheck = (value) => (typeof value === 'string' && value.trim() !== '') || 'a text';
