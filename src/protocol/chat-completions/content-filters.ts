/** What Azure's content filters found in a prompt and in an answer, as Azure's Responses API shows it. */
import { leastBytes } from '../json/json-size.ts';
import { isRecord, type JsonObject } from '../record.ts';

/** The largest findings that are shown, in bytes: they are a few words for each category. */
const MAX_BYTES = 16_384;

/** The findings of one answer; a stream repeats those of each part of it. */
export class ContentFilters {
  private prompt: JsonObject | undefined = undefined;
  private completion: JsonObject | undefined = undefined;

  take({ prompt_filter_results: prompts }: JsonObject, choice: JsonObject | undefined): void {
    const [prompt] = Array.isArray(prompts) ? prompts : [];
    const found = isRecord(prompt) ? findingsIn(prompt.content_filter_results) : undefined;
    this.prompt = found ?? this.prompt;
    this.completion = findingsIn(choice?.content_filter_results) ?? this.completion;
  }

  /** Undefined if no filter found anything. */
  found(): readonly JsonObject[] | undefined {
    const all = [...entries('prompt', this.prompt), ...entries('completion', this.completion)];
    return all.length === 0 ? undefined : all;
  }
}

function entries(source: string, results: JsonObject | undefined): readonly JsonObject[] {
  if (!results) return [];
  const blocked = Object.values(results).some((each) => isRecord(each) && each.filtered === true);
  return [{ blocked, source_type: source, content_filter_results: results }];
}

/** The results, if one of them is more than that there is nothing. */
function findingsIn(results: unknown): JsonObject | undefined {
  if (!isRecord(results) || leastBytes(results, MAX_BYTES) > MAX_BYTES) return undefined;
  const isFinding = (each: unknown) => isRecord(each) && (each.filtered === true || each.detected === true);
  return Object.values(results).some(isFinding) ? results : undefined;
}
