/** Measures the usage of one model call: as its server reports it, or by an estimate if the call was cut off. */
import type { BudgetedTurn } from '../../ports/budget.ts';
import type { TokenCounter } from '../../ports/token-counter.ts';
import { type ModelEvent, NO_USAGE, type Usage } from '../../protocol/events.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { AnswerUsage } from './answer-usage.ts';

/** The tokens of an image or another medium, as in the token counter. */
const PER_MEDIUM = 765;
/** The assumed number of characters per token, if there is no token counter. */
const PER_TOKEN = 4;

/** The call's model and input. */
interface MeteredCall {
  readonly model: string;
  /** As JSON; kept until the call ends. */
  readonly input: JsonObject;
}

/** One call of a model. */
export class CallMeter {
  private readonly turn: Pick<BudgetedTurn, 'count'>;
  private readonly countTokens: TokenCounter;
  private readonly call: MeteredCall;
  private readonly answer = new AnswerUsage();
  private server: string | undefined;
  private hasBegun = false;
  private isOver = false;

  constructor(turn: Pick<BudgetedTurn, 'count'>, countTokens: TokenCounter, call: MeteredCall) {
    this.turn = turn;
    this.countTokens = countTokens;
    this.call = call;
  }

  /** Whether anything of an answer has been read. */
  get hasRead(): boolean {
    return this.answer.usage !== undefined || this.answer.text !== '';
  }

  /** Whether what has been read is a model's answer, and not any JSON with texts. */
  get isModels(): boolean {
    return this.answer.isModels;
  }

  /** Takes what arrived; an empty batch means that the model accepted the request. */
  takeEvents(events: readonly ModelEvent[]): void {
    this.hasBegun = true;
    for (const event of events) {
      if (event.type === 'usage') Object.assign(this.answer, { usage: event.usage, cost: event.cost });
      else if (event.type === 'finish') this.answer.isFinished = true;
      else if (event.type === 'model-info') this.server = event.server ?? this.server;
      else if ('text' in event) this.answer.write(event.text);
      else if (event.type === 'tool-call-delta') this.answer.write(event.arguments);
    }
  }

  /** The same in the bytes of either API: the data of events, or a whole answer. */
  takeData(data: readonly string[], isWhole: boolean, server?: string): void {
    this.hasBegun = true;
    this.server = server ?? this.server;
    for (const each of data) this.answer.take(each, isWhole);
  }

  /** The beginning and the end of a whole answer that is too long to be kept. */
  takeEnds(start: string, end: string): void {
    this.hasBegun = true;
    this.answer.takeEnds(start, end);
  }

  /**
   * Counts the call, once. One that was refused counts nothing; one that is not finished counts at least what had been
   * written, and one that was aborted counts its input even if nothing had. Resolves when an estimate has been counted;
   * undefined if there is nothing to wait for.
   */
  end(wasAborted: boolean): Promise<void> | undefined {
    if (this.isOver || !(this.hasBegun || wasAborted)) return undefined;
    this.isOver = true;
    const { usage, isFinished } = this.answer;
    if (!usage || !isFinished) return this.estimated(usage).then((estimate) => this.count(estimate));
    this.count(usage);
    return undefined;
  }

  private count(usage: Usage): void {
    const { server } = this;
    const named = server === undefined ? {} : { server };
    this.turn.count({ model: this.call.model, usage, cost: this.answer.cost, ...named });
  }

  /** Never rejects. */
  private async estimated(reported: Usage | undefined): Promise<Usage> {
    const { text, unkeptCharacters } = this.answer;
    const counted = await this.tokensOf(text);
    // What was not kept has as many tokens for each character.
    const output = unkeptCharacters === 0 ? counted : Math.ceil(counted * (1 + unkeptCharacters / text.length));
    const most = Math.max(output, reported?.output_tokens ?? 0);
    const input = reported?.input_tokens ?? (await this.inputTokens());
    return { ...NO_USAGE, ...reported, input_tokens: input, output_tokens: most, total_tokens: input + most };
  }

  private async inputTokens(): Promise<number> {
    let media = 0;
    const text = JSON.stringify(this.call.input, (_, value: unknown) => {
      if (typeof value !== 'string' || !value.startsWith('data:')) return value;
      media += 1;
      return '';
    });
    return media * PER_MEDIUM + (await this.tokensOf(text));
  }

  private async tokensOf(text: string): Promise<number> {
    if (text === '') return 0;
    const content = [{ type: 'input_text', text }];
    const items = [{ type: 'message', role: 'user', content }];
    const { signal } = new AbortController();
    const estimate = () => Math.ceil(text.length / PER_TOKEN);
    return this.countTokens({ model: this.call.model, items, tools: [] }, signal).catch(estimate);
  }
}
