/** Notices silence: a beat for every interval in which nothing came. */
import { handOver, type Pieces, pieces, piecesOf, type Sink } from '../pieces.ts';

/** Stands where nothing came; `beat` counts the intervals of one silence from 1. */
export interface Beat {
  readonly beat: number;
}

/** The stream with beats in its silences; `intervalMs` in milliseconds, undefined for none. */
export function withBeats<Piece>(stream: AsyncIterable<Piece>, intervalMs: number | undefined): Pieces<Piece | Beat> {
  const source = piecesOf(stream);
  // The cast: nothing is as good as no beats.
  return intervalMs === undefined ? (source as Pieces<Piece | Beat>) : beating(source, intervalMs);
}

function beating<Piece>(source: Pieces<Piece>, intervalMs: number): Pieces<Piece | Beat> {
  let waiting: Sink<Piece | Beat> | undefined;
  let late: (() => void) | undefined;
  let isAsked = false;
  let beat = 1;

  const take = () => {
    const sink = waiting;
    waiting = undefined;
    return sink;
  };
  const tell = () => {
    const sink = take();
    if (sink) handOver(sink, { beat: beat++ });
  };
  const timer = setInterval(tell, intervalMs).unref();

  const own: Sink<Piece> = {
    came(piece) {
      isAsked = false;
      const sink = take();
      // What comes after a beat is left for the next one to ask, who may ask much later.
      if (!sink) {
        late = () => own.came(piece);
        return;
      }
      beat = 1;
      timer.refresh();
      sink.came(piece);
    },
    ended() {
      clearInterval(timer);
      const sink = take();
      if (sink) sink.ended();
      else late = own.ended;
    },
    failed(error) {
      clearInterval(timer);
      const sink = take();
      if (sink) sink.failed(error);
      else late = () => own.failed(error);
    },
  };
  const ask = (sink: Sink<Piece | Beat>) => {
    waiting = sink;
    const told = late;
    late = undefined;
    if (told) return told();
    if (isAsked) return;
    isAsked = true;
    source.ask(own);
  };
  return pieces(ask, () => {
    clearInterval(timer);
    return source.return();
  });
}
