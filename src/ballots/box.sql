-- Sealed ballots stand in blocks (`ballot_blocks`): up to 256 ballots of consecutive leaves, each written once. A list within a
-- block is its items one after the other, each behind its length as an unsigned LEB128 varint (`block-encoding.ts`).

-- A list of one item.
CREATE OR REPLACE FUNCTION list_of(p_item bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  rest integer := length(p_item);
  head bytea := '';
BEGIN
  WHILE rest >= 128 LOOP
    head := head || set_byte('\x00', 0, rest % 128 + 128);
    rest := rest / 128;
  END LOOP;
  RETURN head || set_byte('\x00', 0, rest) || p_item;
END $$;

-- The items of a list, in their order.
CREATE OR REPLACE FUNCTION split_list(p_list bytea) RETURNS SETOF bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  -- A copy in memory: each look would read the stored bytes again.
  list bytea := p_list || ''::bytea;
  ends integer := length(p_list);
  place integer := 0;
  item integer;
  shift integer;
  one integer;
BEGIN
  WHILE place < ends LOOP
    item := 0;
    shift := 0;
    LOOP
      one := get_byte(list, place);
      place := place + 1;
      item := item + ((one & 127) << shift);
      EXIT WHEN one < 128;
      shift := shift + 7;
    END LOOP;
    IF place + item > ends THEN RAISE EXCEPTION 'a list ends within an item' USING ERRCODE = 'data_corrupted'; END IF;
    RETURN NEXT substring(list FROM place + 1 FOR item);
    place := place + item;
  END LOOP;
END $$;

-- The item of a list at a place, counted from 1. What stands behind it is not looked at.
CREATE OR REPLACE FUNCTION item_of(p_list bytea, p_place integer) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  -- A copy in memory: each look would read the stored bytes again.
  list bytea := p_list || ''::bytea;
  place integer := 0;
  item integer;
  shift integer;
  one integer;
BEGIN
  FOR n IN 1..p_place LOOP
    one := get_byte(list, place);
    place := place + 1;
    item := one & 127;
    shift := 7;
    WHILE one >= 128 LOOP
      one := get_byte(list, place);
      place := place + 1;
      item := item + ((one & 127) << shift);
      shift := shift + 7;
    END LOOP;
    place := place + item;
  END LOOP;
  IF place > length(list) THEN RAISE EXCEPTION 'a list ends within an item' USING ERRCODE = 'data_corrupted'; END IF;
  RETURN substring(list FROM place - item + 1 FOR item);
END $$;

-- What a ballot is found by among the blocks: the first eight bytes of its code's tag.
CREATE OR REPLACE FUNCTION tag_head(p_tag bytea) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT ('x' || encode(substring(p_tag FROM 1 FOR 8), 'hex'))::bit(64)::bigint;
$$;

-- The ID of a ballot whose block keeps none, because it follows from salt and tag (`waiting-ballot.ts`).
CREATE OR REPLACE FUNCTION ballot_id(p_salt bytea, p_tag bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'bal_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substring(h.bits FROM n * 5 + 1 FOR 5)::bit(5)::integer + 1, 1), '' ORDER BY n)
  FROM (SELECT ('x' || encode(sha256('ballot id'::bytea || p_salt || p_tag), 'hex'))::bit(256) AS bits) AS h, generate_series(0, 25) AS n;
$$;

-- The sealed ballot of a code's tag; its leaf is null where none has it. Looks by the index of heads, and among rows in the order
-- of their tags, whatever the planner knows of the tables: emptied ones look as if any index would do.
CREATE OR REPLACE FUNCTION find_sealed(p_event text, p_tag bytea, OUT leaf_index bigint, OUT entries bytea, OUT weight_micro bigint,
  OUT salt bytea, OUT sealed_time bytea) LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
  b record;
  place integer;
BEGIN
  FOR b IN SELECT x.* FROM (
    SELECT k.voting_event_id, k.first_leaf, k.weights, k.tags, k.tag_heads, k.entries, k.salts, k.sealed_times
    FROM ballot_blocks k WHERE k.tag_heads @> ARRAY[tag_head(p_tag)] OFFSET 0
  ) AS x WHERE x.voting_event_id = p_event LOOP
    place := array_position(b.tag_heads, tag_head(p_tag));
    CONTINUE WHEN substring(b.tags FROM place * 32 - 31 FOR 32) <> p_tag;
    leaf_index := b.first_leaf + place - 1;
    weight_micro := b.weights[least(place, cardinality(b.weights))];
    entries := item_of(b.entries, place);
    salt := item_of(b.salts, place);
    sealed_time := item_of(b.sealed_times, place);
    RETURN;
  END LOOP;
  SELECT r.leaf_index, r.entries, r.weight_micro, r.salt, r.sealed_time INTO leaf_index, entries, weight_micro, salt, sealed_time
  FROM ballot_rows r WHERE r.voting_event_id = p_event AND r.code_tag BETWEEN p_tag AND p_tag ORDER BY r.code_tag LIMIT 1;
END $$;

-- A block is what it says it is, and takes no other's place: its lists are as long as its ballots are many, no other block has
-- one of its leaves or of its ballots, and its rows of an earlier version are the same ballots.
CREATE OR REPLACE FUNCTION check_ballot_block() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF length(NEW.tags) <> 32 * NEW.ballots
    OR cardinality(NEW.weights) NOT IN (1, NEW.ballots)
    OR NEW.tag_heads IS DISTINCT FROM ARRAY(
      SELECT tag_head(substring(NEW.tags FROM n * 32 + 1 FOR 8)) FROM generate_series(0, NEW.ballots - 1) AS n ORDER BY n)
    OR EXISTS (SELECT 1 FROM unnest(NEW.tag_heads) AS head GROUP BY head HAVING count(*) > 1)
  THEN
    RAISE EXCEPTION 'a block of ballots is not what it says' USING ERRCODE = 'restrict_violation';
  END IF;
  IF EXISTS (SELECT 1 FROM (SELECT k.voting_event_id FROM ballot_blocks k WHERE k.tag_heads && NEW.tag_heads OFFSET 0) AS x
      WHERE x.voting_event_id = NEW.voting_event_id)
    OR EXISTS (SELECT 1 FROM ballot_blocks k WHERE k.voting_event_id = NEW.voting_event_id
      AND k.first_leaf > NEW.first_leaf - 256 AND k.first_leaf < NEW.first_leaf + NEW.ballots
      AND k.first_leaf + k.ballots > NEW.first_leaf)
    OR EXISTS (SELECT 1 FROM ballot_rows r WHERE r.voting_event_id = NEW.voting_event_id
      AND r.leaf_index >= NEW.first_leaf AND r.leaf_index < NEW.first_leaf + NEW.ballots
      AND r.code_tag <> substring(NEW.tags FROM (r.leaf_index - NEW.first_leaf)::integer * 32 + 1 FOR 32))
    OR EXISTS (SELECT 1 FROM generate_series(0, NEW.ballots - 1) AS n
      CROSS JOIN LATERAL (SELECT substring(NEW.tags FROM n * 32 + 1 FOR 32) AS tag OFFSET 0) AS t
      CROSS JOIN LATERAL (SELECT x.leaf_index FROM ballot_rows x WHERE x.voting_event_id = NEW.voting_event_id
        AND x.code_tag BETWEEN t.tag AND t.tag ORDER BY x.code_tag LIMIT 1) AS r
      WHERE r.leaf_index <> NEW.first_leaf + n)
  THEN
    RAISE EXCEPTION 'a ballot stands in the box already' USING ERRCODE = 'unique_violation';
  END IF;
  RETURN NEW;
END $$;

-- Rows of an earlier version go when their event does, or once the same ballots stand in blocks.
CREATE OR REPLACE FUNCTION guard_ballot_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT g.voting_event_id, g.leaf_index, g.id, g.code_tag, g.entries, g.weight_micro, g.salt, g.sealed_time, g.voter_id, g.country_code, g.submitted_at
    FROM gone g JOIN voting_events e ON e.id = g.voting_event_id AND e.deleted_at IS NULL AND e.rehearsal_since IS NULL
    EXCEPT ALL
    SELECT u.voting_event_id, u.leaf_index, u.id, u.code_tag, u.entries, u.weight_micro, u.salt, u.sealed_time, u.voter_id, u.country_code, u.submitted_at
    FROM (SELECT g.voting_event_id, min(g.leaf_index) AS first, max(g.leaf_index) AS last FROM gone g GROUP BY g.voting_event_id) AS range
    JOIN unpacked_blocks u ON u.voting_event_id = range.voting_event_id AND u.first_leaf > range.first - 256 AND u.first_leaf <= range.last
  ) THEN
    RAISE EXCEPTION 'a sealed ballot stays' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NULL;
END $$;

-- What processes of an earlier version put into the box becomes a row; `pack_ballots` takes it into a block later.
CREATE OR REPLACE FUNCTION put_ballot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT f.leaf_index FROM find_sealed(NEW.voting_event_id, NEW.code_tag) AS f) IS NOT NULL THEN
    RAISE EXCEPTION 'a ballot stands in the box already' USING ERRCODE = 'unique_violation';
  END IF;
  INSERT INTO ballot_rows (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at,
    released, leaf_index)
  VALUES (NEW.voting_event_id, NEW.id, NEW.code_tag, NEW.entries, NEW.weight_micro, NEW.salt, NEW.sealed_time, NEW.voter_id,
    NEW.country_code, NEW.submitted_at, coalesce(NEW.released, false), NEW.leaf_index);
  RETURN NEW;
END $$;

-- Takes rows of an event, as earlier versions wrote them, into one block: the first ones whose leaves follow one another, up to
-- 256. Returns how many, 0 when there is no row, or when the log is being written. Runs with the rights of the owner, because the
-- role of the service may not delete sealed ballots otherwise; the trigger lets a row go only where its ballot stands in a block.
-- Reads the first rows by their index, in its order: a plan that was made while the table was small would sort all rows each time.
CREATE OR REPLACE FUNCTION pack_ballots(p_event text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_sort = off AS $$
DECLARE
  packed record;
BEGIN
  -- The sequencer's own lock: nothing is sealed into the log of the event meanwhile.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('seal ' || p_event, 0)) THEN RETURN 0; END IF;
  WITH next AS (
    SELECT * FROM ballot_rows r WHERE r.voting_event_id = p_event ORDER BY r.leaf_index LIMIT 256
  ), run AS (
    SELECT n.* FROM (SELECT x.*, x.leaf_index - row_number() OVER (ORDER BY x.leaf_index) AS start FROM next x) AS n
    WHERE n.start = (SELECT min(f.leaf_index) - 1 FROM next f)
  )
  INSERT INTO ballot_blocks (voting_event_id, first_leaf, ballots, entries, weights, tags, tag_heads, salts, sealed_times, ids, voter_ids,
    country_codes, submitted_at)
  SELECT p_event, min(r.leaf_index), count(*), string_agg(list_of(r.entries), '' ORDER BY r.leaf_index),
    CASE WHEN min(r.weight_micro) = max(r.weight_micro) THEN ARRAY[min(r.weight_micro)] ELSE array_agg(r.weight_micro ORDER BY r.leaf_index) END,
    string_agg(r.code_tag, '' ORDER BY r.leaf_index), array_agg(tag_head(r.code_tag) ORDER BY r.leaf_index),
    string_agg(list_of(r.salt), '' ORDER BY r.leaf_index), string_agg(list_of(r.sealed_time), '' ORDER BY r.leaf_index),
    CASE WHEN bool_and(r.id = ballot_id(r.salt, r.code_tag)) THEN NULL ELSE array_agg(r.id ORDER BY r.leaf_index) END,
    CASE WHEN count(r.voter_id) > 0 THEN array_agg(r.voter_id ORDER BY r.leaf_index) END,
    CASE WHEN count(r.country_code) > 0 THEN array_agg(r.country_code ORDER BY r.leaf_index) END,
    CASE WHEN count(r.submitted_at) > 0 THEN array_agg(r.submitted_at ORDER BY r.leaf_index) END
  FROM run r HAVING count(*) > 0
  RETURNING first_leaf, ballots INTO packed;
  IF packed.ballots IS NULL THEN RETURN 0; END IF;
  INSERT INTO undisclosed_ballots (voting_event_id, leaf_index)
  SELECT r.voting_event_id, r.leaf_index FROM ballot_rows r WHERE r.voting_event_id = p_event AND NOT r.released AND keeps_back(p_event)
    AND r.leaf_index >= packed.first_leaf AND r.leaf_index < packed.first_leaf + packed.ballots;
  DELETE FROM ballot_rows r WHERE r.voting_event_id = p_event
    AND r.leaf_index >= packed.first_leaf AND r.leaf_index < packed.first_leaf + packed.ballots;
  RETURN packed.ballots;
END $$;
REVOKE ALL ON FUNCTION pack_ballots(text) FROM PUBLIC;
