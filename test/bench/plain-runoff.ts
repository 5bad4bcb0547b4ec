/**
 * The least that an instant runoff of full rankings does: one array of candidates, a cursor a ballot, and for each round a
 * pass that moves ballots on from who is out and adds them up. It shares no code with the service, and knows no weights,
 * ties, gaps or figures beside the winner.
 * @param rankings the ballots' candidates, first choice first, one ballot after the other
 */
export function runPlainRunoff(rankings: Uint8Array, candidates: number): number {
  const ballots = rankings.length / candidates;
  const cursors = Uint32Array.from({ length: ballots }, (_, ballot) => ballot * candidates);
  const isOut = new Uint8Array(candidates);
  for (let left = candidates; left > 1; left -= 1) {
    const tallies = new Uint32Array(candidates);
    for (let ballot = 0; ballot < ballots; ballot += 1) {
      let at = cursors[ballot] as number;
      while (isOut[rankings[at] as number] === 1) at += 1;
      cursors[ballot] = at;
      const choice = rankings[at] as number;
      tallies[choice] = (tallies[choice] as number) + 1;
    }
    let lowest = -1;
    for (let candidate = 0; candidate < candidates; candidate += 1) {
      if (isOut[candidate] === 1) continue;
      if (lowest === -1 || (tallies[candidate] as number) < (tallies[lowest] as number)) lowest = candidate;
    }
    isOut[lowest] = 1;
  }
  return isOut.indexOf(0);
}
