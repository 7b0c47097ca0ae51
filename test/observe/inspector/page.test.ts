/** The files of the page, as `npm run build` has made them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import express from 'express';
import request from 'supertest';
import { createInspector } from '../../../src/observe/inspector/index.ts';

const app = express().use('/inspect', createInspector().router);
const KIB = 1024;

beforeAll(() => {
  if (!existsSync(join(import.meta.dirname, '../../../dist/inspector-ui')))
    throw new Error('npm run build makes the page');
});

it('[X-10] has no code or style in the document, so that none can be put there', async () => {
  const { text, type } = await request(app).get('/inspect/').expect(200);
  const scripts = [...text.matchAll(/<script[^>]*>([^<]*)<\/script>/g)].map(([, code]) => code);
  expect([type, scripts, /<style|style=|\son\w+=|https?:/.test(text)]).toEqual(['text/html', [''], false]);
});

it('[X-10] is small: below 88 KiB, and below 30 KiB on the wire', async () => {
  const sizes = await Promise.all(
    ['', 'app.js', 'app.css', 'icon.svg'].map(async (name) => {
      const response = await request(app).get(`/inspect/${name}`).buffer(true).responseType('blob').expect(200);
      return [response.body.length, gzipSync(response.body).length];
    }),
  );
  const [raw, packed] = [0, 1].map((which) => sizes.reduce((sum, size) => sum + (size[which] ?? 0), 0));
  expect([Number(raw) > 10 * KIB, Number(raw) < 88 * KIB, Number(packed) < 30 * KIB]).toEqual([true, true, true]);
});

it('[X-10] makes no elements out of text', async () => {
  const { body } = await request(app).get('/inspect/app.js').buffer(true).responseType('blob').expect(200);
  // Preact itself knows one way, by a property that no page uses.
  expect(
    String(body).match(/dangerouslySetInnerHTML:|insertAdjacentHTML|document\.write|\beval\(|new Function/g),
  ).toBeNull();
});
