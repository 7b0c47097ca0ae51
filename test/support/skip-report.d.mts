/** The part of jest's results that is read. */
export interface TestFile {
  readonly testFilePath: string;
  readonly testResults: readonly { readonly status: string; readonly fullName: string }[];
}

/** Tests that may be skipped where CI=true. */
export interface AllowedSkip {
  /** A pattern of the full name. */
  readonly test: string;
  readonly reason: string;
}

export function skippedBy(
  testResults: readonly TestFile[],
): ReadonlyMap<string, { readonly tests: number; readonly files: ReadonlySet<string> }>;

export function forbiddenSkips(testResults: readonly TestFile[], allowed: readonly AllowedSkip[]): readonly string[];

export function allowedSkips(): readonly AllowedSkip[];

export default class SkipReport {
  constructor(config: { readonly testNamePattern?: string });
  onRunComplete(contexts: unknown, results: { readonly testResults: readonly TestFile[] }): void;
  getLastError(): Error | undefined;
}
