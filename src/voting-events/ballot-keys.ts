import type { Database, Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import type { SecretKeeping } from '#src/http/idempotent-request.ts';
import { refuse } from '#src/http/refusals.ts';
import { MINUTE_MS, monotonicMs } from '#src/platform/clock.ts';
import { FolderUnusable, KeyFolders } from '#src/platform/key-folders.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { takeRandomBytes } from '#src/platform/random-bytes.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import { createSecrets, SECRET_KEY_BYTES, type SealedPlace, type Secrets } from '#src/platform/secrets.ts';
import {
  deleteKeyRow,
  findKeyRow,
  insertKeyRow,
  listKeyNames,
  listRetiredKeys,
  noteSeen,
  retireKeys,
} from './ballot-key-repository.ts';
import {
  holdsKey,
  idOf,
  isKeyOf,
  type KeyName,
  type KeySettings,
  keyFileOf,
  keyFoldersOf,
  listUnmarked,
  readClusterId,
  readKeyFileName,
  type Unmarked,
} from './key-places.ts';
import { isFinalAt } from './lifecycle.ts';
import { findEventById } from './repository.ts';
import type { VotingEvent } from './voting-event.ts';

// Each election has a random key, made before it opens. The key encrypts ballots until they are in the log, and all other data that
// link voters to ballots. The key is destroyed once no ballot can follow. If it was stored outside of the database (`BALLOT_KEYS_DIR`),
// then no copy, backup or write-ahead log of the database reveals a link, even together with all other secrets (docs/security.md).

/** Number of cached keys. Older entries are evicted, and read again when needed. */
const MOST_CACHED = 1_000;
/** After a key was not found, requests of its event are refused for this long without another look-up. */
const LOOK_AGAIN_MS = 1_000;
/** How long after a key was dropped its memory is wiped: requests that use it have ended by then. */
const CLEARED_AFTER_MS = 10_000;
/** After this time, the transaction that made a key has committed or rolled back. */
const IN_DOUBT_MS = 10 * MINUTE_MS;

export const wrappedKeyPlace = (eventId: string, id: string): SealedPlace => ({
  table: 'ballot_keys',
  column: 'wrapped',
  row: `${eventId}/${id}`,
});

type KeyedEvent = Pick<VotingEvent, 'id' | 'type' | 'ballotKey'>;

interface KeyDeps {
  readonly db: Database;
  /** The databases of the other cells, to which events move together with their keys. */
  readonly others?: () => readonly Database[];
  readonly log: Log;
  /** The service's secret key, which encrypts ballots of polls until they are in the log. */
  readonly secrets: Secrets;
  readonly settings: KeySettings;
  readonly onUnreadable?: (place: SealedPlace) => void;
  /** Whether the signed log of an event is closed. `ballot-log` implements it; callers that destroy no keys leave it out. */
  readonly isOver?: (eventId: string) => Promise<boolean>;
}

export class BallotKeys {
  readonly #deps: KeyDeps;
  readonly #folders: KeyFolders | undefined;
  #clusterId: string | undefined;
  /** Keys by ID. The ID is a hash of the key, so entries never become stale. `destroyed` is final. */
  readonly #known = new RecentMap<Secrets | 'destroyed'>(MOST_CACHED);
  readonly #finding = new Map<string, Promise<Secrets | undefined>>();
  readonly #missing = new Map<string, number>();
  /** Key files that this process wrote in a transaction that may have been rolled back. */
  readonly #inDoubt = new Map<string, KeyName & { readonly madeAt: number }>();

  constructor(deps: KeyDeps) {
    this.#deps = deps;
    this.#folders = keyFoldersOf(deps.settings);
  }

  /**
   * The key that encrypts an event's ballots until they are in the log: an election's own key, or the service's secret key for a poll.
   * Undefined for an election before its key is made and after it is destroyed.
   * @throws ApiError 500 `ballot_key_unavailable` with `Retry-After` if the key exists but this process cannot read it
   */
  async find({ id: eventId, type, ballotKey: id }: KeyedEvent): Promise<Secrets | undefined> {
    if (type === 'poll') return this.#deps.secrets;
    if (id === null) return undefined;
    const known = this.#known.get(id);
    if (known !== undefined) return known === 'destroyed' ? undefined : known;
    const missingSince = this.#missing.get(id);
    if (missingSince !== undefined && monotonicMs() < missingSince + LOOK_AGAIN_MS)
      throw refuse('ballot_key_unavailable');
    const look = () => this.#look({ eventId, id }).finally(() => this.#finding.delete(id));
    return this.#finding.getOrInsertComputed(id, look);
  }

  /** Whether the key can be read now; the cache is bypassed. True for a poll, and for an event that has no key yet. */
  async isReadable({ id: eventId, type, ballotKey: id }: KeyedEvent): Promise<boolean> {
    if (type === 'poll' || id === null) return true;
    const { key } = await this.#read({ eventId, id });
    key?.fill(0);
    return key !== undefined;
  }

  /** The key from its file or its row. Without a key file, also returns the row, which is undefined once the key is destroyed. */
  async #read(name: KeyName) {
    const content = await this.#folders?.read(keyFileOf(name), (read) => isKeyOf(name, read));
    if (content !== undefined) return { key: content };
    const row = await findKeyRow(this.#deps.db, name);
    return { row, key: row?.wrapped == null ? undefined : this.#unwrap(name, row.wrapped) };
  }

  async #look(name: KeyName): Promise<Secrets | undefined> {
    const { row, key } = await this.#read(name);
    if (key !== undefined) return this.#remember(name, key);
    if (row === undefined) {
      this.#forget(name.id);
      return undefined;
    }
    // The destruction of the key has begun.
    if (row.retiredAt !== null) return undefined;
    this.#miss(name);
    throw refuse('ballot_key_unavailable');
  }

  /** The key in a row. Undefined if the secret key that encrypted the row is no longer listed; then `open` raises an alarm. */
  #unwrap({ eventId, id }: KeyName, wrapped: string): Buffer | undefined {
    try {
      return this.#deps.secrets.open(wrapped, wrappedKeyPlace(eventId, id));
    } catch {
      return undefined;
    }
  }

  #remember({ id }: KeyName, key: Buffer): Secrets {
    const secrets = createSecrets([key], this.#deps.onUnreadable);
    key.fill(0);
    this.#known.set(id, secrets);
    this.#missing.delete(id);
    return secrets;
  }

  /** Drops a key from the cache, and wipes its memory later. Requests that still use the key end before that, or fail. */
  #letGo(id: string): void {
    const known = this.#known.get(id);
    if (known !== undefined && known !== 'destroyed') setTimeout(() => known.clear(), CLEARED_AFTER_MS).unref();
    this.#known.delete(id);
  }

  /** Wipes all cached keys from memory at once. Call only when nothing uses a key. */
  clear(): void {
    for (const [, known] of this.#known) if (known !== 'destroyed') known.clear();
    this.#known.clear();
  }

  #forget(id: string): void {
    this.#letGo(id);
    this.#known.set(id, 'destroyed');
  }

  /** Remembers a missing key. Raises one alarm for it, even if many requests need the key. */
  #miss({ eventId, id }: KeyName): void {
    const isNew = !this.#missing.has(id);
    if (this.#missing.size >= MOST_CACHED) this.#missing.clear();
    this.#missing.set(id, monotonicMs());
    if (!isNew) return;
    this.#deps.log.error(
      { alarm: 'ballot_key_missing', event: eventId, key: id },
      'this process cannot read the key of an event: its ballots are refused',
    );
  }

  /**
   * Makes the key of an election that a change opens or gives a start; or of a round of a rehearsal, which leaves the event's own key
   * alone (completions 10.5). Before this returns, the key is on the disk of every folder. Refuses such a change of any event while
   * a folder lacks its marker.
   * @param before the event now; undefined for a new event @param after the event after the change
   * @returns the columns to store with the change; none if no key was made
   * @throws ApiError 500 `ballot_key_unavailable`
   */
  async prepare(
    tx: Transaction,
    before: VotingEvent | undefined,
    after: Pick<VotingEvent, 'id' | 'type' | 'startsAt'> &
      Partial<Pick<VotingEvent, 'openedAt' | 'rehearsalSince' | 'closedAt'>>,
  ): Promise<{ ballotKey?: string; realKey?: string | null }> {
    const { openedAt = null, rehearsalSince = null, closedAt = null } = after;
    if (closedAt !== null || (after.startsAt === null && openedAt === null && rehearsalSince === null)) return {};
    const opens = (['startsAt', 'openedAt', 'rehearsalSince', 'closedAt'] as const).some(
      (moment) => (before?.[moment] ?? null) !== (after[moment] ?? null),
    );
    if (opens) await this.requirePlaces();
    const own = before?.ballotKey ?? null;
    const isRound = rehearsalSince !== null && rehearsalSince !== before?.rehearsalSince;
    if (after.type !== 'election' || (own !== null && !isRound)) return {};
    const ballotKey = await this.#make(tx, after.id, await readNow(tx));
    return isRound ? { ballotKey, realKey: own } : { ballotKey };
  }

  /** The same keys, for a change that is tried and rolled back. */
  onTrial(): BallotKeys {
    return new TrialKeys(this.#deps);
  }

  /** Call before using the folders. @throws ApiError 500 `ballot_key_unavailable` while one lacks the cluster's marker (`key-places.ts`) */
  async requirePlaces(): Promise<void> {
    const unmarked = await this.#listUnmarked();
    if (unmarked.length === 0) return;
    this.#deps.log.error(
      { folders: unmarked.map(({ says }) => says) },
      'folders are not those of this service: no event opens, no voter is added',
    );
    throw refuse('ballot_key_unavailable');
  }

  async #listUnmarked(): Promise<Unmarked[]> {
    if (this.#folders === undefined) return [];
    this.#clusterId ??= await readClusterId(this.#deps.db.$client);
    return listUnmarked(this.#deps.settings, this.#clusterId);
  }

  async #make(tx: Transaction, eventId: string, nowMs: number): Promise<string> {
    const key = takeRandomBytes(SECRET_KEY_BYTES);
    const name = { eventId, id: idOf(key) };
    try {
      if (this.#folders === undefined) {
        const wrapped = this.#deps.secrets.seal(key, wrappedKeyPlace(eventId, name.id));
        await insertKeyRow(tx, { ...name, wrapped, nowMs });
        return name.id;
      }
      await insertKeyRow(tx, { ...name, wrapped: null, nowMs });
      this.#inDoubt.set(name.id, { ...name, madeAt: monotonicMs() });
      await this.#folders.write(keyFileOf(name), key, () => this.requirePlaces());
    } catch (fault) {
      if (!(fault instanceof FolderUnusable)) throw fault;
      this.#deps.log.error(
        { folder: fault.folder, fault: summariseFault(fault.cause) },
        'the key of an event could not be written: it does not open',
      );
      throw refuse('ballot_key_unavailable');
    } finally {
      key.fill(0);
    }
    return name.id;
  }

  /**
   * Marks the keys of an event for destruction, in the transaction that ends its ballots. Then call `destroyRetired`.
   * @param only the key of a round of a rehearsal; by default all keys of the event
   */
  async retire(tx: Transaction, eventId: string, only?: string): Promise<void> {
    await retireKeys(tx, this.#deps.secrets, eventId, this.#folders !== undefined, only);
  }

  /** Destroys the retired keys of an event, or of all events. A failure raises an alarm, and the next call tries again. */
  async destroyRetired(eventId?: string): Promise<void> {
    const { db, log, secrets } = this.#deps;
    for (const { inFiles, seenIn, ...name } of await listRetiredKeys(db, secrets, eventId)) {
      this.#forget(name.id);
      try {
        if (inFiles) await this.#destroy(name, seenIn);
        // The key is in the row: no folders were set then, or other SQL forged the row. A file may also exist: remove it.
        else await this.#folders?.destroy(keyFileOf(name));
        await deleteKeyRow(db, name);
      } catch (fault) {
        log.error(
          {
            alarm: 'ballot_key_kept',
            event: name.eventId,
            key: name.id,
            ...(fault instanceof FolderUnusable ? { folder: fault.folder } : {}),
            fault: summariseFault(fault),
          },
          'the key of an event that is over could not be destroyed; it is tried again',
        );
      }
    }
  }

  /**
   * Destroys key files that `destroyRetired` misses, because other SQL deleted their rows or marked them as needed. Destroys a key
   * only if the signed log of its event is closed, whatever the database says.
   */
  async destroyLeft(): Promise<void> {
    const folders = this.#folders;
    if (folders === undefined) return;
    const unmarked = new Set((await this.#listUnmarked()).map(({ folder }) => folder));
    const marked = folders.all.filter((folder) => !unmarked.has(folder));
    const retired = new Set((await listRetiredKeys(this.#deps.db, this.#deps.secrets, undefined)).map(keyFileOf));
    for (const folder of marked) {
      for (const file of await folders.list(folder)) {
        const name = readKeyFileName(file);
        if (name === undefined || retired.has(file)) continue;
        // A forged row of one event must not stop the destruction of other events' keys.
        await this.#destroyIfOver(name, folder).catch((fault: unknown) =>
          this.#deps.log.error(
            { event: name.eventId, folder, fault: summariseFault(fault) },
            'whether a key that was left is needed could not be found out',
          ),
        );
      }
    }
  }

  async #destroyIfOver(name: KeyName, folder: string): Promise<void> {
    if (!(await this.#deps.isOver?.(name.eventId))) return;
    this.#deps.log.error(
      { event: name.eventId, folder },
      'the key of an event that is over was left, and is destroyed',
    );
    this.#forget(name.id);
    await new KeyFolders(folder).destroy(keyFileOf(name));
    await deleteKeyRow(this.#deps.db, name);
  }

  /**
   * Destroys a key in each folder that has the marker. Before that, stores in `seen_in` that the folder had the file: without this record,
   * a missing file could be on an unmounted disk, and come back.
   * @throws FolderUnusable if a folder lacks the marker, or lacks the file without such a record
   */
  async #destroy(name: KeyName, seenIn: readonly string[]): Promise<void> {
    const folders = this.#folders;
    if (folders === undefined) throw new Error('BALLOT_KEYS_DIR is not set, and the key stands in a file');
    const unmarked = await this.#listUnmarked();
    const ends = await Promise.allSettled(
      folders.all.map(async (folder) => {
        if (unmarked.some(({ folder: one }) => one === folder)) return;
        const own = new KeyFolders(folder);
        if (!seenIn.includes(folder)) {
          if (!(await holdsKey(own, name))) throw new FolderUnusable(folder, 'it lacks the key');
          await noteSeen(this.#deps.db.$client, name, folder);
        }
        await own.destroy(keyFileOf(name));
      }),
    );
    for (const { folder, says } of unmarked) throw new FolderUnusable(folder, says);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** Drops keys that another process destroyed, and removes the files of keys whose transaction was rolled back. Called every minute. */
  async tidy(): Promise<void> {
    const doubtful = [...this.#inDoubt.values()].filter(({ madeAt }) => monotonicMs() > madeAt + IN_DOUBT_MS);
    const cached = [...this.#known].flatMap(([id, known]) => (known === 'destroyed' ? [] : [id]));
    const ids = [...new Set([...cached, ...doubtful.map(({ id }) => id)])];
    if (ids.length === 0) return;
    const databases = [this.#deps.db, ...(this.#deps.others?.() ?? [])];
    const named = await Promise.all(databases.map((db) => listKeyNames(db, ids)));
    const standing = named.reduce((one, other) => one.union(other));
    // Only drop the key from the cache: if other SQL deleted the row, the next request must still find the key file.
    for (const id of cached) if (!standing.has(id)) this.#letGo(id);
    for (const name of doubtful) {
      const event = standing.has(name.id) ? undefined : await findEventById(this.#deps.db, name.eventId);
      if (!standing.has(name.id) && event?.ballotKey !== name.id && event?.realKey !== name.id)
        await this.#folders?.destroy(keyFileOf(name));
      this.#inDoubt.delete(name.id);
    }
  }
}

/** Makes no key, because its file would stay when the transaction is rolled back. */
class TrialKeys extends BallotKeys {
  override async prepare() {
    return {};
  }
}

/** How claims of idempotent requests are stored. For an election, under its key; `never` if it is final or has no key. */
export const keepingOf =
  ({ ballotKeys, clock }: Pick<Deps, 'ballotKeys' | 'clock'>) =>
  async ({ event }: { readonly event: VotingEvent }): Promise<SecretKeeping | undefined | 'never'> => {
    if (event.type === 'poll') return undefined;
    const secrets = isFinalAt(event, clock.now()) ? undefined : await ballotKeys.find(event);
    return secrets === undefined ? 'never' : { eventId: event.id, secrets };
  };
