/** Notices silence: a beat for every interval in which nothing came. */
import { handOver, Layer, type Pieces, piecesOf, type Sink } from './pull-stream.ts';

/** Stands where nothing came; `beat` counts the intervals of one silence from 1. */
export interface Beat {
  readonly beat: number;
}

/** The stream with beats in its silences; `intervalMs` in milliseconds, undefined for none. */
export function withBeats<Piece>(stream: AsyncIterable<Piece>, intervalMs: number | undefined): Pieces<Piece | Beat> {
  const source = piecesOf(stream);
  // The cast: nothing is as good as no beats.
  return intervalMs === undefined ? (source as Pieces<Piece | Beat>) : new Beating(source, intervalMs);
}

class Beating<Piece> extends Layer<Piece | Beat> implements Sink<Piece> {
  private readonly source: Pieces<Piece>;
  private readonly timer: NodeJS.Timeout;
  private waiting: Sink<Piece | Beat> | undefined = undefined;
  /** What came after a beat: it is left for the next one to ask, who may ask much later. */
  private late: (() => void) | undefined = undefined;
  private isAsked = false;
  private beat = 1;

  constructor(source: Pieces<Piece>, intervalMs: number) {
    super();
    this.source = source;
    this.timer = setInterval(tellBeat, intervalMs, this).unref();
  }

  ask(sink: Sink<Piece | Beat>): void {
    this.waiting = sink;
    const told = this.late;
    this.late = undefined;
    if (told) return told();
    if (this.isAsked) return;
    this.isAsked = true;
    this.source.ask(this);
  }

  came(piece: Piece): void {
    this.isAsked = false;
    const sink = this.take();
    if (!sink) {
      this.late = () => this.came(piece);
      return;
    }
    this.beat = 1;
    this.timer.refresh();
    // A throw would come back as a failure of the source, for which nobody waits any more.
    handOver(sink, piece);
  }

  ended(): void {
    clearInterval(this.timer);
    const sink = this.take();
    if (sink) sink.ended();
    else this.late = () => this.ended();
  }

  failed(error: unknown): void {
    clearInterval(this.timer);
    const sink = this.take();
    if (sink) sink.failed(error);
    else this.late = () => this.failed(error);
  }

  tell(): void {
    const sink = this.take();
    if (sink) handOver(sink, { beat: this.beat++ });
  }

  close() {
    clearInterval(this.timer);
    return this.source.return();
  }

  private take(): Sink<Piece | Beat> | undefined {
    const sink = this.waiting;
    this.waiting = undefined;
    return sink;
  }
}

function tellBeat(beating: Beating<unknown>): void {
  beating.tell();
}
