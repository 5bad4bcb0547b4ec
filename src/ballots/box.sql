-- Sealed ballots are stored in write-once blocks (`ballot_blocks`) of up to 256 ballots with consecutive leaves of the log. A list in a
-- block concatenates its items, each preceded by its length as an unsigned LEB128 varint (`block-encoding.ts`).

-- The items of a list, in order.
CREATE OR REPLACE FUNCTION split_list(p_list bytea) RETURNS SETOF bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  -- The concatenation makes a detoasted copy: get_byte on the parameter would detoast it for each byte.
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

-- The item of a list at a place, counted from 1. The bytes after the item are not checked.
CREATE OR REPLACE FUNCTION item_of(p_list bytea, p_place integer) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  -- The concatenation makes a detoasted copy: get_byte on the parameter would detoast it for each byte.
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

-- The index key of a ballot in the blocks: the first eight bytes of the tag of its confirmation code.
CREATE OR REPLACE FUNCTION tag_head(p_tag bytea) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT ('x' || encode(substring(p_tag FROM 1 FOR 8), 'hex'))::bit(64)::bigint;
$$;

-- Derives the ID of a ballot from its salt and tag, as `ballotIdOf` does (`waiting-ballot.ts`). Blocks do not store derived IDs.
CREATE OR REPLACE FUNCTION ballot_id(p_salt bytea, p_tag bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'bal_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substring(h.bits FROM n * 5 + 1 FOR 5)::bit(5)::integer + 1, 1), '' ORDER BY n)
  FROM (SELECT ('x' || encode(sha256('ballot id'::bytea || p_salt || p_tag), 'hex'))::bit(256) AS bits) AS h, generate_series(0, 25) AS n;
$$;

-- Finds the sealed ballot with a code's tag; the leaf is null if there is none. `enable_seqscan = off` forces the index on tag_heads,
-- because a plan cached while the table was empty may scan all of it.
CREATE OR REPLACE FUNCTION find_sealed(p_event text, p_tag bytea, OUT leaf_index bigint, OUT entries bytea, OUT weight_micro bigint,
  OUT salt bytea, OUT sealed_time bytea) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
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
END $$;

-- Returns the given tags whose ballots are in a block with a first leaf of at most p_last. Forces the index as `find_sealed` does.
CREATE OR REPLACE FUNCTION tags_in_box(p_event text, p_tags bytea[], p_last bigint) RETURNS SETOF bytea LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
  heads bigint[] := ARRAY(SELECT tag_head(t.tag) FROM unnest(p_tags) AS t(tag));
BEGIN
  RETURN QUERY SELECT t.tag FROM (
    SELECT k.voting_event_id, k.first_leaf, k.tags FROM ballot_blocks k WHERE k.tag_heads && heads OFFSET 0
  ) AS b JOIN unnest(p_tags) AS t(tag) ON position(t.tag IN b.tags) % 32 = 1
  WHERE b.voting_event_id = p_event AND b.first_leaf <= p_last;
END $$;

-- The sealed ballots with the given tags. Splits each block once, however many of its ballots are sought. Forces the index as
-- `find_sealed` does. Finds the blocks tag by tag: `&&` would compare each block with all tags.
CREATE OR REPLACE FUNCTION sealed_with(p_event text, p_tags bytea[])
RETURNS TABLE (code_tag bytea, entries bytea, weight_micro bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
  blocks bigint[] := ARRAY(SELECT DISTINCT x.first_leaf FROM unnest(p_tags) AS t(tag) CROSS JOIN LATERAL (
    SELECT k.voting_event_id, k.first_leaf FROM ballot_blocks k WHERE k.tag_heads @> ARRAY[tag_head(t.tag)] OFFSET 0) AS x
    WHERE x.voting_event_id = p_event);
BEGIN
  RETURN QUERY SELECT t.tag, b.entries, b.weight_micro FROM (
    SELECT substring(k.tags FROM i.place::integer * 32 - 31 FOR 32) AS tag, i.entries, k.weights[least(i.place, cardinality(k.weights))] AS weight_micro
    FROM ballot_blocks k CROSS JOIN LATERAL split_list(k.entries) WITH ORDINALITY AS i(entries, place)
    WHERE k.voting_event_id = p_event AND k.first_leaf = ANY (blocks) OFFSET 0
  ) AS b JOIN unnest(p_tags) AS t(tag) ON t.tag = b.tag;
END $$;

-- The ballots of all blocks of an event whose first leaf is between `p_from` and `p_to`: one row per ballot.
CREATE OR REPLACE FUNCTION sealed_ballots(p_event text, p_from bigint DEFAULT 0, p_to bigint DEFAULT 4611686018427387904)
RETURNS TABLE (leaf_index bigint, id text, code_tag bytea, entries bytea, weight_micro bigint, salt bytea, sealed_time bytea,
  voter_id text, country_code text, submitted_at bigint) LANGUAGE sql STABLE AS $$
  SELECT k.first_leaf + b.place - 1, coalesce(k.ids[b.place], ballot_id(b.salt, t.tag)), t.tag, b.entries,
    k.weights[least(b.place, cardinality(k.weights))], b.salt, b.sealed_time,
    k.voter_ids[b.place], k.country_codes[b.place], k.submitted_at[b.place]
  FROM ballot_blocks k
  CROSS JOIN LATERAL ROWS FROM (split_list(k.entries), split_list(k.salts), split_list(k.sealed_times))
    WITH ORDINALITY AS b(entries, salt, sealed_time, place)
  CROSS JOIN LATERAL (SELECT substring(k.tags FROM b.place::integer * 32 - 31 FOR 32) AS tag) AS t
  WHERE k.voting_event_id = p_event AND k.first_leaf BETWEEN p_from AND p_to
$$;

-- Rejects a block whose tags, tag heads or weights do not match its number of ballots, and a block that shares a leaf or a tag head
-- with another block of its event.
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
  THEN
    RAISE EXCEPTION 'a ballot stands in the box already' USING ERRCODE = 'unique_violation';
  END IF;
  RETURN NEW;
END $$;
