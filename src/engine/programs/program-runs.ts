/** The programs of one turn: begins them, gives them what their calls have come to, and repeats what they did in earlier requests. */

import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ProgramCall, ProgramRuntime, ProgramStep, RunningProgram } from '../../ports/programs/program-runtime.ts';
import type { Item, OutputItem, ToolCallResult } from '../../protocol/items.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import { plainText, thrownText } from '../../protocol/record.ts';
import { answeredId } from '../../protocol/tool-calls/kinds.ts';
import { callingProgram } from '../../protocol/tool-calls/program-call.ts';
import { assertOutputSize } from '../../protocol/tool-calls/results/output-size.ts';
import type { RoundCall } from '../turn/machine/tool-rounds.ts';
import {
  approvalRequestId,
  type CallRecord,
  callRecord,
  callResult,
  type ReadToolName,
  shownArguments,
} from './call-records.ts';
import { startTime } from './fingerprint.ts';
import type { OpenProgram } from './open-programs.ts';

/** What the programs of a turn may use. */
interface ProgramRunsCase {
  /** The model's name for the tool that runs programs. */
  readonly name: string;
  readonly runtime: ProgramRuntime;
  /** The model's names for the tools that programs may call. */
  readonly callable: readonly string[];
  /** Whether the model must find a tool first, and had not when the turn began. */
  readonly isHidden: (name: string) => boolean;
  /** Those among them whose calls this server runs at once. */
  readonly isRunHere: (name: string) => boolean;
  readonly nameOf: ReadToolName;
  /** The programs of earlier turns that go on. */
  readonly open: readonly OpenProgram[];
  /** Whether calls are made one after the other, as the request wants. */
  readonly isSingle: boolean;
  readonly scope: string;
  readonly limits: { readonly toolCalls: number; readonly argumentBytes: number; readonly toolOutputBytes: number };
  readonly signal: AbortSignal;
}

/** What the turn has come to so far. */
interface WrittenTurn {
  readonly output: { readonly size: number; at(index: number): OutputItem | undefined };
  /** The names of the tools that the model has found. */
  readonly found: { has(name: string): boolean };
}

/** One program: what its items say of it, and the process that runs it. */
interface ProgramLog {
  fingerprint: string;
  readonly records: CallRecord[];
  /** Those that the program has received the results of. */
  received: number;
  running: RunningProgram | undefined;
  /** What it waits for, while it runs. */
  step: ProgramStep | undefined;
}

/** A call of this turn whose result has not been read. */
interface OpenCall {
  readonly record: CallRecord;
  /** The place of the item that shows its result. */
  index: number;
}

/** A class, for the reason of `Rounds`. */
export class ProgramRuns {
  private readonly case: ProgramRunsCase;
  private readonly logs = new Map<string, ProgramLog>();
  private readonly calls: Set<OpenCall> = new Set();
  private readonly answers = new Map<unknown, Item>();
  /** What waits for an approval, by the id of its request. */
  private readonly requests = new Map<unknown, CallRecord>();
  private read = 0;
  private callable: readonly string[];

  constructor(about: ProgramRunsCase) {
    this.case = about;
    this.callable = about.callable.filter((name) => !about.isHidden(name));
    for (const { callId, fingerprint, records } of about.open) {
      this.logs.set(callId, { fingerprint, records: [...records], received: 0, running: undefined, step: undefined });
      for (const record of records) this.addRequest(record);
    }
  }

  /** Whether calls of this tool are programs. */
  runs(name: string): boolean {
    return name === this.case.name;
  }

  /** Reads what the turn has come to since the last time: the programs' calls and their results, and the tools that were found. */
  readTurn({ output, found }: WrittenTurn): void {
    const { callable, isHidden } = this.case;
    this.callable = callable.filter((name) => !isHidden(name) || found.has(name));
    for (; this.read < output.size; this.read += 1) {
      const item: Item | undefined = output.at(this.read);
      if (!item) continue;
      if (item.type === 'program') this.log(plainText(item.call_id)).fingerprint = plainText(item.fingerprint);
      const program = callingProgram(item);
      if (program !== undefined) this.readInner(item, this.log(program));
    }
    for (const open of this.calls) {
      const item: Item | undefined = output.at(open.index);
      open.record.result = item && callResult(item, this.answers.get(item.call_id));
      if (!item || !open.record.result) continue;
      // Until then the item of a call of the server shows none.
      open.record.arguments = shownArguments(item);
      this.calls.delete(open);
    }
  }

  private readInner(item: Item, log: ProgramLog): void {
    const record = callRecord(item, this.case.nameOf);
    const requestId = approvalRequestId(item);
    if (record) {
      log.records.push(record);
      this.addRequest(record);
      if (item.type !== 'mcp_approval_request') this.calls.add({ record, index: this.read });
    } else if (requestId !== undefined) {
      const approved = this.requests.get(requestId);
      if (approved) this.calls.add({ record: approved, index: this.read });
    } else this.answers.set(answeredId(item), item);
  }

  private addRequest(record: CallRecord): void {
    if (record.item.type === 'mcp_approval_request') this.requests.set(record.item.id, record);
  }

  private log(callId: string): ProgramLog {
    const known = this.logs.get(callId);
    if (known) return known;
    const log = { fingerprint: '', records: [], received: 0, running: undefined, step: undefined };
    this.logs.set(callId, log);
    return log;
  }

  /** Runs the program until it has ended, or makes calls that it has not made before. Rejects only with the signal's reason. */
  async run({ callId = '', arguments: text }: RoundCall): Promise<ToolCallResult> {
    const { signal, isRunHere } = this.case;
    const log = this.log(callId);
    try {
      const step = await this.nextStep(log, plainText(objectIn(text)?.code));
      if ('calls' in step) {
        // The client's answer may come in an hour, and to another process.
        if (!step.calls.every(({ name }) => isRunHere(name))) await this.end(log);
        return { output: '', failed: false, calls: step.calls };
      }
      await this.end(log);
      const output = step.error === undefined ? step.text : withError(step.text, step.error);
      assertOutputSize(output, this.case.limits.toolOutputBytes);
      return { output: output === '' ? NOTHING_WRITTEN : output, failed: step.error !== undefined };
    } catch (error) {
      await this.end(log);
      signal.throwIfAborted();
      return { output: withError('', thrownText(error)), failed: true };
    }
  }

  /** The first step that is not on record. What is on record is not called again: the program receives the same results. */
  private async nextStep(log: ProgramLog, code: string): Promise<ProgramStep> {
    const { signal, isSingle } = this.case;
    let step = log.step;
    if (!log.running) {
      log.running = await this.begin(log, code);
      log.received = 0;
      step = await log.running.goOn([], signal);
    }
    while (step && 'calls' in step) {
      const { calls } = step;
      const known = log.records.slice(log.received, log.received + calls.length);
      const results = known.flatMap(({ result }) => result ?? []);
      const isWhole = known.length === calls.length || known.length === 0 || isSingle;
      if (!isWhole || !known.every((record, at) => isSameCall(record, calls[at]))) throw new Error(DIVERGED);
      if (results.length < known.length) throw new Error(RESULT_MISSING);
      if (known.length < calls.length || calls.length === 0) {
        log.step = step;
        const next = isSingle ? calls.slice(known.length, known.length + 1) : calls;
        this.check(next, log.records.length);
        return { calls: next };
      }
      log.received += calls.length;
      step = await log.running.goOn(results, signal);
    }
    return step ?? { text: '', error: DIVERGED };
  }

  private begin({ fingerprint, records }: ProgramLog, code: string): Promise<RunningProgram> {
    // What it has called it must find again, also where this request allows no more of it.
    const tools = [...new Set([...this.callable, ...records.map(({ name }) => name)])];
    const { runtime, limits, signal, scope } = this.case;
    // The same time and random numbers whenever it runs again.
    const [startedAt = Date.now(), seed] = [startTime(fingerprint), hash('sha256', fingerprint)];
    return runtime.begin({ code, tools, startedAt, seed, maxCalls: limits.toolCalls }, signal, scope);
  }

  /** What comes from a program is checked here, whatever its sandbox has checked. */
  private check(calls: readonly ProgramCall[], made: number): void {
    const { limits } = this.case;
    const unknown = calls.find(({ name }) => !this.callable.includes(name));
    if (unknown) throw new Error(`The program may not call '${unknown.name.slice(0, MAX_NAME)}'.`);
    if (made + calls.length > limits.toolCalls)
      throw new Error(`The program made more than ${limits.toolCalls} calls.`);
    if (calls.length === 0) throw new Error('The program waits for nothing.');
    const isLong = (text: string) => Buffer.byteLength(text) > limits.argumentBytes;
    if (calls.some((call) => isLong(call.arguments)))
      throw new Error(`The arguments of a call had more than ${limits.argumentBytes} bytes.`);
  }

  private async end(log: ProgramLog): Promise<void> {
    const { running } = log;
    log.running = undefined;
    log.step = undefined;
    await running?.close();
  }

  /** Ends all that still run. */
  async close(): Promise<void> {
    for (const log of this.logs.values()) await this.end(log);
  }
}

const MAX_NAME = 100;
const NOTHING_WRITTEN = '(The program wrote nothing: it must call text(…).)';
const DIVERGED = 'The program could not go on: it did not make the same calls again.';
const RESULT_MISSING = 'The program could not go on: the result of one of its earlier calls was not sent back.';

function withError(text: string, error: string): string {
  return text === '' ? `Error: ${error}` : `${text}\nError: ${error}`;
}

/** Clients may reformat the arguments that they send back. */
function isSameCall(record: CallRecord, call: ProgramCall | undefined): boolean {
  if (!call || record.name !== call.name) return false;
  if (record.arguments === undefined || record.arguments === call.arguments) return true;
  const [shown, made] = [objectIn(record.arguments), objectIn(call.arguments)];
  return shown !== undefined && isDeepStrictEqual(shown, made);
}
