import type { EventResults } from './event-results.ts';

/**
 * The results as one JSON text, in pieces: `{ data }` as `GET …/results` gives it. Written position by position and round by
 * round, because the rounds of a thousand candidates fill a hundred megabytes.
 */
export function* writeJson(results: EventResults): Generator<string> {
  const { positions, ...rest } = results;
  const members = JSON.stringify(rest).slice(1, -1);
  yield `{"data":{${members},"positions":[`;
  for (const [index, { rounds, ...position }] of positions.entries()) {
    const own = JSON.stringify(position).slice(1, -1);
    yield `${index === 0 ? '' : ','}{${own},"rounds":`;
    if (rounds === null) yield 'null';
    else {
      for (const [at, round] of rounds.entries()) yield `${at === 0 ? '[' : ','}${JSON.stringify(round)}`;
      yield rounds.length === 0 ? '[]' : ']';
    }
    yield '}';
  }
  yield ']}}\n';
}
