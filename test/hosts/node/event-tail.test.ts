/** Where an event stream may be interrupted. */
import { eventTail } from '../../../src/hosts/node/event-tail.ts';

describe('eventTail', () => {
  const tails: readonly (readonly [readonly string[], boolean])[] = [
    [[], true],
    [[''], true],
    [['data: x'], false],
    [['data: x\n'], false],
    [['data: x\n\n'], true],
    [['data: x\n', '\n'], true],
    [['data: x\r\n\r\n'], true],
    [['data: x\r\n', '\r', '\n'], true],
    [['data: x\r\n\r'], false],
    [['data: x\r\r'], true],
    [['data: x\n\n', 'd'], false],
    [['data: x\n\n', '', 'data: y'], false],
    [['data: x\n', ''], false],
    [[': comment\n\n', 'event: a\n'], false],
    [['data: 🎉\n\n'], true],
    [['data: 🎉'], false],
  ];

  for (const [pieces, between] of tails)
    it(`[P-15] ${between ? 'may' : 'must not'} interrupt ${JSON.stringify(pieces.join('|'))}, as text or as bytes`, () => {
      const [text, bytes] = [eventTail(), eventTail()];
      for (const piece of pieces) text.take(piece);
      for (const piece of pieces) for (const byte of Buffer.from(piece)) bytes.take(Uint8Array.of(byte));
      expect([text.between, bytes.between]).toEqual([between, between]);
    });
});
