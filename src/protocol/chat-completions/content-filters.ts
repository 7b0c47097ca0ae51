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
    const findings = isRecord(prompt) ? readFindings(prompt.content_filter_results) : undefined;
    this.prompt = findings ?? this.prompt;
    this.completion = readFindings(choice?.content_filter_results) ?? this.completion;
  }

  /** Undefined if no filter found anything. */
  all(): readonly JsonObject[] | undefined {
    const all = [...filterEntries('prompt', this.prompt), ...filterEntries('completion', this.completion)];
    return all.length === 0 ? undefined : all;
  }
}

function filterEntries(source: string, results: JsonObject | undefined): readonly JsonObject[] {
  if (!results) return [];
  const blocked = Object.values(results).some((each) => isRecord(each) && each.filtered === true);
  return [{ blocked, source_type: source, content_filter_results: results }];
}

/** The results, if one of them is more than that there is nothing. */
function readFindings(results: unknown): JsonObject | undefined {
  if (!isRecord(results) || leastBytes(results, MAX_BYTES) > MAX_BYTES) return undefined;
  const isFinding = (each: unknown) => isRecord(each) && (each.filtered === true || each.detected === true);
  return Object.values(results).some(isFinding) ? results : undefined;
}
