import type { Executor } from '#src/database/client.ts';
import { listPositions } from './repository.ts';
import type { QuadraticTopUp } from './types.ts';

/** The credit offers of an event's positions. */
export async function listTopUps(executor: Executor, eventId: string): Promise<QuadraticTopUp[]> {
  const positions = await listPositions(executor, eventId);
  return positions.flatMap(({ quadraticTopUp }) => quadraticTopUp ?? []);
}
