/** The content of a response in the form of the naive reading, so that the two can be compared. */
import type { Counts, Reading, Segment } from './naive-chat.ts';
import type { WireItem, WireResponse } from './wire-schemas.ts';

/** The parts that the naive reading and the response have in common; a call id that we generated counts as none. */
export function readingOf(response: WireResponse): Omit<Reading, 'status'> & { readonly status: string } {
  const seed = response.id.slice('resp_'.length);
  return {
    segments: response.output.flatMap((item) => segmentsOf(item, seed)),
    status: response.status,
    usage: countsOf(response),
    tokens: response.output.flatMap(tokensOf),
    error: response.error?.reason === 'upstream_truncated' ? undefined : response.error?.message,
  };
}

function segmentsOf(item: WireItem, seed: string): readonly Segment[] {
  if (item.type === 'function_call') {
    const { call_id, name, arguments: text } = item;
    return [{ call: { id: call_id.includes(seed) ? '' : call_id, name, arguments: text } }];
  }
  if (item.type === 'reasoning')
    return [...item.summary, ...(item.content ?? [])].map(({ text }) => ({ reasoning: text }));
  if (item.type === 'web_search_call') return [{ search: searchedFor(item) }];
  if (item.type === 'image_generation_call') return [{ image: item.result ?? '' }];
  if (item.type !== 'message') throw new Error(`No recording leads to an item of type '${item.type}'`);
  return item.content.map((part) => (part.type === 'refusal' ? { refusal: part.refusal } : { text: part.text }));
}

function searchedFor({ action }: Extract<WireItem, { type: 'web_search_call' }>): string {
  return action.type === 'search' ? action.query : action.url;
}

function countsOf({ usage }: WireResponse): Counts {
  return {
    input: usage?.input_tokens ?? Number.NaN,
    cached: usage?.input_tokens_details.cached_tokens ?? Number.NaN,
    output: usage?.output_tokens ?? Number.NaN,
    reasoning: usage?.output_tokens_details.reasoning_tokens ?? Number.NaN,
    total: usage?.total_tokens ?? Number.NaN,
  };
}

function tokensOf(item: WireItem): readonly string[] {
  if (item.type !== 'message') return [];
  return item.content.flatMap((part) => ('logprobs' in part ? part.logprobs.map(({ token }) => token) : []));
}
