/** Debian's Chromium, driven by Playwright, and what its pages did that they should not. */
import { type Browser, chromium, type Page } from 'playwright-core';
import { findProgram } from '../support/services.ts';

/** Where Chromium is; undefined if it is not installed. */
export const CHROMIUM = findProgram('chromium', ['/usr/bin']);

/** Starts the browser. Root needs it without its sandbox; the pages are this package's own. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: String(CHROMIUM), args: ['--no-sandbox'] });
}

/** A page that keeps a record of faults. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors of scripts, refusals of the content security policy, and requests to other hosts. */
  readonly faults: readonly string[];
}

/** Opens one for this origin. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<WatchedPage> {
  const page = await browser.newPage(options);
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('console', (line) => line.type() === 'error' && faults.push(line.text()));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) faults.push(`asked ${request.url()}`);
  });
  return { page, faults };
}
