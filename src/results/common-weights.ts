import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import type { Executor } from '#src/database/client.ts';
import { secrecyOf } from '#src/voting-events/lifecycle.ts';
import { listCommonClasses } from './repository.ts';

/** In a secret event a weight is shown where at least so many voters have it, who could all have cast the ballot. */
export const COMMON_WEIGHT_HOLDERS = 5;

/** Which ballots may be shown with their weight: one that few voters have would name them. */
export class CommonWeights {
  readonly #paper: BallotPaper;
  /** Group and weight, as `listCommonClasses` gives them; undefined where every weight may be shown. */
  readonly #classes: ReadonlySet<string> | undefined;

  private constructor(paper: BallotPaper, classes: ReadonlySet<string> | undefined) {
    this.#paper = paper;
    this.#classes = classes;
  }

  static async read(executor: Executor, paper: BallotPaper): Promise<CommonWeights> {
    const secret = secrecyOf(paper.event) === 'secret';
    const classes = secret ? await listCommonClasses(executor, paper.event.id, COMMON_WEIGHT_HOLDERS) : undefined;
    return new CommonWeights(paper, classes);
  }

  /** @param positions numbers of the positions that the ballot could answer: those of a group show whose it may be */
  shows(positions: readonly number[], weightMicro: bigint): boolean {
    if (this.#classes === undefined) return true;
    const groups = positions.map((number) => this.#paper.positionByNumber.get(number)?.groupId ?? null);
    return this.#classes.has(`${groups.find((group) => group !== null) ?? ''}/${weightMicro}`);
  }
}
